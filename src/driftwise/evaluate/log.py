"""A log of decisions: what was chosen, what came of it, and where known when, how likely, and on what.

    log = dw.Log.read("clicks.csv")                      CSV, JSON lines or Parquet
    log = dw.Log.from_frame(frame, action="variant")     pandas, Polars or Arrow
    log = dw.Log.from_arrays(actions=..., rewards=...)   NumPy, or lists
    log = dw.Log.from_service("http://...", "shop")      a deployment of the service

`log.notes` says what was guessed, assumed and left out.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftwise.core.types import Floats, Ints
from driftwise.display.text import counted
from driftwise.errors import LogError
from driftwise.evaluate.arm_names import notes_on_arms
from driftwise.evaluate.diagnosis.log_command import UNNAMED, command_options

if TYPE_CHECKING:
    from driftwise.agent import Agent
    from driftwise.evaluate.columns import ArmGuess
    from driftwise.evaluate.diagnosis.diagnosis import Diagnosis
    from driftwise.evaluate.evaluation import EvaluateOptions, Evaluation
    from driftwise.evaluate.rows import LogRows
    from driftwise.families.multi_armed.worlds.local_level import LocalLevel


class Log:
    """Logged decisions in order of their times, as arrays with a row per decision.

    Parameters
    ----------
    arms : tuple of str
        Names of the arms.
    actions : int64 (n,)
        The arm chosen, an index into `arms`.
    rewards : float64 (n,)
        What came of it; nan where no reward ever came.
    times : float64 (n,), optional
        When it was decided, in seconds since 1970 (or in units of a count, where `dated` is False), ascending.
    propensities : float64 (n,), optional
        The probability with which the arm was chosen; nan where unknown.
    context : float64 (n, d), optional
        What was known at the decision, with `context_names`.
    features : float64 (n, n_arms, m), optional
        What was known of every arm at the decision, with `feature_names`.
    units : int64 (n,), optional
        Who it was decided for, as numbers.
    rewarded_at : float64 (n,), optional
        When the reward came, in seconds since 1970; nan where unknown.
    costs : float64 (n, m), optional
        What it cost, with `cost_names`.
    timezone : str
        The zone of days and hours in reports.
    notes : tuple of str
        What was guessed, assumed and left out, a sentence each.
    arm_guess : ArmGuess, optional
        The column that was taken for the arm, where that is a guess that could be wrong.
    name : str
        The log as the command line names it, a file or a deployment.
    options : tuple of str
        The options that name its columns there, such as `--action=price`.

    >>> log = Log.from_arrays(actions=["red", "blue", "red"], rewards=[1, 0, 0], times=[30, 10, 20])
    >>> log.arms, log.actions, log.rewards
    (('blue', 'red'), array([0, 1, 1]), array([0., 0., 1.]))
    >>> log.notes
    ('rows were not in order of time and were sorted',)
    """

    def __init__(
        self,
        *,
        arms: tuple[str, ...],
        actions: Ints,
        rewards: Floats,
        times: Floats | None = None,
        propensities: Floats | None = None,
        context: Floats | None = None,
        context_names: tuple[str, ...] = (),
        features: Floats | None = None,
        feature_names: tuple[str, ...] = (),
        units: Ints | None = None,
        rewarded_at: Floats | None = None,
        costs: Floats | None = None,
        cost_names: tuple[str, ...] = (),
        dated: bool = True,
        timezone: str = "UTC",
        notes: Sequence[str] = (),
        arm_guess: "ArmGuess | None" = None,
        name: str = UNNAMED,
        options: tuple[str, ...] = (),
    ) -> None:
        self.arms, self.actions, self.rewards, self.times = arms, actions, rewards, times
        self.propensities, self.context, self.context_names = propensities, context, context_names
        self.features, self.feature_names = features, feature_names
        self.units, self.rewarded_at, self.costs, self.cost_names = units, rewarded_at, costs, cost_names
        self.dated, self.timezone = dated and times is not None, timezone
        self.notes = (*notes_on_arms(arms, actions), *notes)
        self.arm_guess, self.name, self.options = arm_guess, name, options
        if not len(actions):
            raise LogError("the log has no rows")
        if context is not None and context.shape[1] > len(context):
            raise LogError(
                f"{context.shape[1]} context columns are more than {len(context)} rows: name fewer, with context="
            )
        self._sort()
        self._note_what_is_odd()

    # ---- in ----

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        time: str | None = None,
        action: str | None = None,
        reward: str | None = None,
        propensity: str | None = None,
        unit: str | None = None,
        rewarded_at: str | None = None,
        context: Sequence[str] | None = None,
        costs: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        timezone: str | None = None,
        time_format: str | None = None,
    ) -> "Log":
        """The log in a file: CSV, JSON lines, JSON or Parquet; only the columns in use are read.

        Columns are guessed where no name is given; an empty name says that there is no such column. A time without an
        offset is in `timezone`, a name such as Europe/Berlin, else in UTC. `features` are the features of every arm, in
        columns `ARM.FEATURE`, or one column that has them all (docs/logs.md).
        """
        from driftwise.evaluate.columns import ColumnOptions
        from driftwise.evaluate.export_rows import of_export
        from driftwise.evaluate.reading import scan_file
        from driftwise.evaluate.rows import read_rows

        options = ColumnOptions(time, action, reward, propensity, unit, rewarded_at, context, costs, features)
        words = command_options(options._asdict() | {"timezone": timezone, "time_format": time_format})
        scan, options = of_export(scan_file(path), options)
        rows = read_rows(scan, options, timezone=timezone, time_format=time_format)
        return cls._of(rows, name=shlex.quote(str(path)), options=words)

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        time: str | None = None,
        action: str | None = None,
        reward: str | None = None,
        propensity: str | None = None,
        unit: str | None = None,
        rewarded_at: str | None = None,
        context: Sequence[str] | None = None,
        costs: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        timezone: str | None = None,
        time_format: str | None = None,
    ) -> "Log":
        """The log in a data frame of pandas, Polars or Arrow, or any other that narwhals reads; see `read`."""
        from driftwise.evaluate.columns import ColumnOptions
        from driftwise.evaluate.export_rows import of_export
        from driftwise.evaluate.frames import scan_frame
        from driftwise.evaluate.rows import read_rows

        options = ColumnOptions(time, action, reward, propensity, unit, rewarded_at, context, costs, features)
        words = command_options(options._asdict() | {"timezone": timezone, "time_format": time_format})
        scan, options = of_export(scan_frame(frame), options)
        return cls._of(read_rows(scan, options, timezone=timezone, time_format=time_format), options=words)

    @classmethod
    def from_deployment(cls, rows: Iterable[Mapping[str, object]]) -> "Log":
        """The log of a deployment of the service: rows of its export, as from `service.deployments.export.rows`."""
        from driftwise.evaluate.export_rows import frame_of

        return cls.from_frame(frame_of(rows))

    @classmethod
    def from_service(cls, url: str, deployment: str, *, key: str | None = None) -> "Log":
        """The log of a deployment, asked of its service; `key` is an API key, else the one in DRIFTWISE_KEY."""
        from driftwise.evaluate.export_rows import log_of_service

        return log_of_service(url, deployment, key)

    @classmethod
    def from_arrays(
        cls,
        actions: Sequence[object] | NDArray[np.generic],
        rewards: ArrayLike,
        *,
        arms: Sequence[str] | None = None,
        times: ArrayLike | None = None,
        propensities: ArrayLike | None = None,
        context: ArrayLike | None = None,
        context_names: Sequence[str] = (),
        features: ArrayLike | None = None,
        feature_names: Sequence[str] = (),
        units: Sequence[object] | NDArray[np.generic] | None = None,
        rewarded_at: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        cost_names: Sequence[str] = (),
        timezone: str = "UTC",
    ) -> "Log":
        """The log in arrays; it needs no data frames.

        With `arms`, whole numbers in `actions` are indices into them; otherwise actions are the names of arms.
        """
        names, index = _arm_indices(actions, arms)
        n = len(index)
        matrix, prices = _floats("context", context, n, 2), _floats("costs", costs, n, 2)
        table = _floats("features", features, n, 3)
        if table is not None and (table.shape[1] != len(names) or not np.isfinite(table).all()):
            raise LogError(
                f"features have shape {table.shape}: a finite number is needed for each of {n} rows, {len(names)} arms "
                "and every feature"
            )
        log_times, chances = _floats("times", times, n), _floats("propensities", propensities, n)
        values = _floats("rewards", rewards, n)
        if values is None or np.isinf(values).any():
            raise LogError("rewards hold an infinite number: a reward is finite, or nan where none ever came")
        if log_times is not None and not np.isfinite(log_times).all():
            raise LogError(f"times hold {log_times[~np.isfinite(log_times)][0]}: every row needs a time")
        if chances is not None:
            wrong = chances[~((chances > 0.0) & (chances <= 1.0)) & ~np.isnan(chances)]
            if len(wrong):
                raise LogError(f"propensities hold {wrong[0]:g}, which is outside (0, 1]; nan says that one is unknown")
        return cls(
            arms=names,
            actions=index,
            rewards=values,
            times=log_times,
            propensities=chances,
            context=matrix,
            context_names=_names("context", context_names, matrix),
            features=table,
            feature_names=_names("feature", feature_names, table),
            units=None if units is None else np.unique(np.asarray(units), return_inverse=True)[1].astype(np.int64),
            rewarded_at=_floats("rewarded_at", rewarded_at, n),
            costs=prices,
            cost_names=_names("cost", cost_names, prices),
            dated=log_times is not None and float(np.median(np.abs(log_times))) >= 1e8,
            timezone=timezone,
        )

    @classmethod
    def from_obp(cls, feedback: Mapping[str, object]) -> "Log":
        """The log in a dictionary of logged bandit feedback, as the Open Bandit Pipeline has it; one position only."""
        missing = [name for name in ("action", "reward", "n_actions") if name not in feedback]
        if missing:
            raise LogError(f"the feedback has no {missing[0]!r}: it is not a dictionary of the Open Bandit Pipeline")
        facts: dict[str, Any] = dict(feedback)
        if facts.get("position") is not None and len(np.unique(facts["position"])) > 1:
            raise LogError("the feedback has several positions: pass the rows of one of them")
        arms, chances = [str(k) for k in range(facts["n_actions"])], facts.get("pscore")
        return cls.from_arrays(
            facts["action"], facts["reward"], arms=arms, propensities=chances, context=facts.get("context")
        )

    @classmethod
    def _of(cls, rows: "LogRows", *, name: str = UNNAMED, options: tuple[str, ...] = ()) -> "Log":
        return cls(**rows._asdict(), name=name, options=options)

    # ---- what can be asked ----

    def diagnose(self, *, name: str | None = None, seed: int = 0) -> "Diagnosis":
        """Does it drift, when, how far, and what should run?

        `name` stands for the log in the commands that are recommended, with the options for its columns; the log's own
        if not given.
        """
        from driftwise.evaluate.diagnosis.diagnosis import diagnose

        return diagnose(self, name=name, seed=seed)

    # ---- out ----

    def world(self, *, n_bins: int | None = None) -> "LocalLevel":
        """A world for studies: every run draws means that could have been behind this log, over `n_bins` bins."""
        from driftwise.evaluate.uses import world_of

        return world_of(self, n_bins=n_bins)

    def feed(self, agent: "Agent", *, round_seconds: float | None = None) -> int:
        """Let an agent learn from this log; returns how many rewards it learned.

        A row is a round; with `round_seconds` a round lasts so long, so that pauses age what was learned.
        """
        from driftwise.evaluate.uses import feed

        return feed(self, agent, round_seconds=round_seconds)

    def frame(self, library: str = "polars") -> Any:
        """The log as a frame of `polars`, `pandas` or `arrow`; times are dates where the log has dates."""
        from driftwise.evaluate.frames import convert, frame_of_log

        return convert(frame_of_log(self), library)

    def evaluate(self, policies: object, **options: "Unpack[EvaluateOptions]") -> "Evaluation":
        """What policies would have earned, with intervals; `driftwise.evaluate.off_policy.evaluate` has the options."""
        from driftwise.evaluate.off_policy import evaluate

        return evaluate(self, policies, **options)

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return (
            f"Log({counted(len(self), 'row')}, arms {', '.join(self.arms[:5])}{', ...' if len(self.arms) > 5 else ''})"
        )

    def _repr_html_(self) -> str:
        from driftwise.evaluate.display.cards import log_html

        return log_html(self)

    # ---- what must hold ----

    def _sort(self) -> None:
        if self.times is None or (np.diff(self.times) >= 0.0).all():
            return
        order = np.argsort(self.times, kind="stable")
        for name in (
            "actions",
            "rewards",
            "times",
            "propensities",
            "context",
            "features",
            "units",
            "rewarded_at",
            "costs",
        ):
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, value[order])
        self.notes += ("rows were not in order of time and were sorted",)

    def _note_what_is_odd(self) -> None:
        rewards = self.rewards[~np.isnan(self.rewards)]
        if not len(rewards):
            raise LogError("no row of the log has a reward")
        if len(self.arms) == 1:
            self.notes += (f"the log has a single arm, {self.arms[0]!r}: there is nothing to choose between",)
        if rewards.min() == rewards.max():
            self.notes += (f"every reward is {rewards[0]:g}: there is nothing to learn",)


def _arm_indices(
    actions: Sequence[object] | NDArray[np.generic], arms: Sequence[str] | None
) -> tuple[tuple[str, ...], Ints]:
    """Names of arms, and an index per row."""
    values = np.asarray(actions)
    if values.ndim != 1 or not len(values):
        raise LogError(f"actions have shape {values.shape}: a row per decision is needed, at least one")
    if arms is None:
        found, index = np.unique(values, return_inverse=True)
        return tuple(map(str, found)), index.astype(np.int64)
    names = tuple(map(str, arms))
    if values.dtype.kind not in "iu":
        known = {name: place for place, name in enumerate(names)}
        unknown = [str(value) for value in np.unique(values) if str(value) not in known]
        if unknown:
            raise LogError(f"action {unknown[0]!r} is not one of the arms {', '.join(names)}")
        return names, np.array([known[str(value)] for value in values], np.int64)
    if values.min() < 0 or values.max() >= len(names):
        wrong = values[(values < 0) | (values >= len(names))][0]
        raise LogError(f"action {wrong} is not an index into {len(names)} arms")
    return names, values.astype(np.int64)


def _floats(name: str, value: ArrayLike | None, n: int, axes: int = 1) -> Floats | None:
    if value is None:
        return None
    try:
        numbers = np.array(value, np.float64)
    except (TypeError, ValueError):
        raise LogError(f"{name} are not made of numbers") from None
    if axes == 2 and numbers.ndim == 1:
        numbers = numbers[:, None]
    if numbers.ndim != axes or len(numbers) != n:
        raise LogError(f"{name} have shape {numbers.shape}: a row for each of {n} actions is needed")
    return numbers


def _names(what: str, names: Sequence[str], matrix: Floats | None) -> tuple[str, ...]:
    width = 0 if matrix is None else matrix.shape[-1]
    if names and len(names) != width:
        raise LogError(f"{len(names)} names of {what} columns were given for {width} columns")
    return tuple(names) or tuple(f"{what}{i}" for i in range(width))
