"""The diagnosis of a log: everything that can be said of its drift, as one value."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.display.frames import frame_of
from driftwise.display.svg import Plot
from driftwise.display.text import agree, counted
from driftwise.errors import LogError
from driftwise.evaluate.columns import ArmGuess
from driftwise.evaluate.diagnosis.change_points import ChangePoint, change_points
from driftwise.evaluate.diagnosis.delays import Delays, delays_of
from driftwise.evaluate.diagnosis.gradual import GradualChange, split_gradual
from driftwise.evaluate.diagnosis.logging_policy import Overlap, overlap
from driftwise.evaluate.diagnosis.permutation import (
    LEVEL,
    DriftTest,
    drift_test,
    exchangeable,
    local_noise,
    means_of,
    n_bins_for,
    noise_of,
    summed,
)
from driftwise.evaluate.diagnosis.recommendation import LogRecommendation, recommend_for
from driftwise.evaluate.diagnosis.seasons import Seasons, find_seasons
from driftwise.evaluate.diagnosis.variation import MeanVariation, variations
from driftwise.evaluate.diagnosis.window_curve import WindowCurve, window_curve
from driftwise.numerics.local_level import SmoothMeans, smooth

if TYPE_CHECKING:
    from driftwise.evaluate.log import Log

LEAST_ROWS = 20
GAP = 20.0  # a pause of so many usual pauses between a hundredth of the rows, and of days at least, is a gap
MONTH = 30 * 86400.0
BAND_SHARE = 1 / 20  # of the rewards of the arm that has most: with fewer, a band is wider than the picture
MOST_NAMED = 3  # arms in a note


class ArmDiagnosis(NamedTuple):
    """One arm: how often it was chosen and rewarded, its mean with a 95 % interval, its noise and its variation."""

    name: str
    chosen: int
    rewarded: int
    mean: float
    half: float
    noise: float
    variation: MeanVariation


class Diagnosis(NamedTuple):
    """What a log says. Print it, take its `to_dict`, or `write` a report."""

    rows: int
    arms: list[ArmDiagnosis]
    missing: int
    constant: bool
    unit_range: bool
    span: tuple[str, str] | None
    test: DriftTest | None
    changes: list[ChangePoint]
    dates: list[tuple[str, ...]]
    gradual: list[GradualChange]
    gradual_dates: list[tuple[str, ...]]
    variation: MeanVariation
    seasons: Seasons
    delays: Delays | None
    window: WindowCurve
    overlap: Overlap
    smooth: SmoothMeans
    edges: Ints
    edge_times: Floats | None
    dated: bool
    timezone: str
    recommendation: LogRecommendation
    notes: list[str]
    arm_guess: ArmGuess | None = None

    @property
    def p_value(self) -> float:
        """Of the test for drift; 1 where there is nothing to test."""
        return 1.0 if self.test is None else self.test.p_value

    @property
    def drifts(self) -> bool:
        """Whether the log drifts, by a test that is wrong for one log of forty without drift."""
        return self.p_value <= LEVEL

    def has_band(self, k: int) -> bool:
        """Whether the band of an arm can be drawn: one of far fewer rewards than others would cover them all."""
        return self.arms[k].rewarded >= BAND_SHARE * max(arm.rewarded for arm in self.arms)

    def __str__(self) -> str:
        from driftwise.evaluate.diagnosis.summary import summary

        return summary(self)

    def __repr__(self) -> str:
        from driftwise.evaluate.diagnosis.summary import verdict

        return f"Diagnosis({counted(self.rows, 'row')}, {counted(len(self.arms), 'arm')}: {verdict(self)})"

    def _repr_html_(self) -> str:
        from driftwise.evaluate.display.cards import diagnosis_html

        return diagnosis_html(self)

    def plot(self) -> Plot:
        """The mean of every arm over time, with the changes found."""
        from driftwise.evaluate.display.cards import means_plot

        return means_plot(self)

    def frame(self, library: str = "pandas") -> Any:
        """A row per arm, as a frame of `pandas`, `polars` or `arrow`."""
        names = ("name", "chosen", "rewarded", "mean", "half", "noise")
        rows = [{name: getattr(arm, name) for name in names} for arm in self.arms]
        return frame_of(
            [row | {"variation": arm.variation.value} for row, arm in zip(rows, self.arms, strict=True)], library
        )

    def write(self, path: str | Path, *, title: str = "Diagnosis of a log") -> Path:
        """Write a report with plots, one page of HTML; needs the extra `report`."""
        from driftwise.evaluate.diagnosis.page import write_page

        return write_page(self, path, title=title)

    def to_dict(self) -> Mapping[str, object]:
        """What `driftwise diagnose --json` prints."""
        from driftwise.evaluate.diagnosis.summary import to_dict

        return to_dict(self)


def diagnose(log: "Log", *, name: str | None = None, seed: int = 0) -> Diagnosis:
    """Everything that can be said of the drift of a log; `name` stands in the commands that are recommended."""
    rows = np.flatnonzero(~np.isnan(log.rewards))
    if len(rows) < LEAST_ROWS:
        lost = "".join(f"; {note}" for note in log.notes if "left out" in note)
        few = f"{counted(len(rows), 'reward')} {agree(len(rows), 'is', 'are')} too few to look for drift"
        raise LogError(f"{few}: {LEAST_ROWS} are needed{lost}")
    arms, values, n_arms = log.actions[rows], log.rewards[rows], len(log.arms)
    times = None if log.times is None or not log.dated else log.times[rows]
    constant = bool(values.min() == values.max())
    seasons = find_seasons(times, log.timezone, arms, values, n_arms, seed=seed)
    level = _without_seasons(arms, values, seasons, n_arms)
    noise = noise_of(arms, level, n_arms)
    test = None if constant else drift_test(exchangeable(arms, values, seasons.slots, n_arms), seed=seed)
    edges = np.linspace(0, len(log), n_bins_for(len(rows), n_arms) + 1).astype(np.int64)[1:]
    drifting = test is not None and test.p_value <= LEVEL
    penalty = test.split_threshold if test else 0.0
    local = local_noise(np.searchsorted(edges, rows, side="right"), arms, level, noise, len(edges))
    cuts = change_points(arms, rows, level, local, edges, penalty) if drifting else []
    changes, gradual = split_gradual(cuts, arms, rows, level, local, edges)
    counts, sums = binned(rows, arms, level, edges, n_arms)
    each, total = variations(
        counts, sums, local, penalty, found=drifting, edges=edges, changes=changes, gradual=gradual, seed=seed
    )
    raw_counts, raw_sums = binned(rows, arms, values, edges, n_arms)
    found = Diagnosis(
        rows=len(log),
        arms=[_arm(log, k, arms, values, float(noise[k]), each[k]) for k in range(n_arms)],
        missing=len(log) - len(rows),
        constant=constant,
        unit_range=bool(values.min() >= 0.0 and values.max() <= 1.0),
        span=None if log.times is None else (_date(log, 0), _date(log, len(log) - 1)),
        test=test,
        changes=changes,
        dates=[(_date(log, each.row), _date(log, each.low), _date(log, each.high)) for each in changes],
        gradual=gradual,
        gradual_dates=[tuple(_date(log, row) for row in each[1:7]) for each in gradual],
        variation=total,
        seasons=seasons,
        delays=delays_of(log.times, log.rewarded_at),
        window=window_curve(rows, arms, values, len(log), n_arms, drifting=drifting),
        overlap=overlap(log.actions, log.propensities, log.arms),
        smooth=smooth(raw_counts, raw_sums, noise),
        edges=edges,
        edge_times=None if log.times is None else log.times[np.minimum(np.append(0, edges), len(log) - 1)],
        dated=log.dated,
        timezone=log.timezone,
        recommendation=LogRecommendation("", "", ""),
        notes=[*log.notes, *seasons.notes, *_gaps(log), *_constant_arms(log, constant)],
        arm_guess=log.arm_guess,
    )
    recommendation, notes = recommend_for(found, log, name or log.name)
    return found._replace(recommendation=recommendation, notes=[*found.notes, *notes])


def _without_seasons(arms: Ints, values: Floats, seasons: Seasons, n_arms: int) -> Floats:
    """Rewards less what their arm pays more in their slot than on average."""
    n_slots = int(seasons.slots.max(initial=0)) + 1
    if n_slots == 1:
        return values
    strata = arms * n_slots + seasons.slots
    means, own = means_of(strata, values, n_arms * n_slots), means_of(arms, values, n_arms)
    level: Floats = values - means[strata] + own[arms]
    return level


def binned(rows: Ints, arms: Ints, values: Floats, edges: Ints, n_arms: int) -> tuple[Floats, Floats]:
    """Counts and sums of rewards per bin and arm."""
    cells = np.searchsorted(edges, rows, side="right") * n_arms + arms
    size = len(edges) * n_arms
    counts: Floats = np.bincount(cells, minlength=size).astype(float)
    return counts.reshape(-1, n_arms), summed(cells, values, size).reshape(-1, n_arms)


def _arm(log: "Log", k: int, arms: Ints, values: Floats, noise: float, moved: MeanVariation) -> ArmDiagnosis:
    own = values[arms == k]
    mean = float(own.mean()) if len(own) else np.nan
    half = 1.96 * float(own.std(ddof=1)) / np.sqrt(len(own)) if len(own) > 1 else np.nan
    return ArmDiagnosis(log.arms[k], int((log.actions == k).sum()), len(own), mean, half, noise, moved)


def _date(log: "Log", row: int) -> str:
    """When a row was decided, in ISO 8601; a count where the log has no dates, the row's number where no times."""
    if log.times is None:
        return str(row)
    time = float(log.times[row])
    if not log.dated:
        return f"{time:g}"
    return datetime.fromtimestamp(time, UTC).astimezone(ZoneInfo(log.timezone)).isoformat(timespec="seconds")


def _constant_arms(log: "Log", constant: bool) -> list[str]:
    """Arms of which every reward is the same, in a log of which some are not."""
    if constant:
        return []
    equal = [(k, own[0]) for k, own in _rewards_by_arm(log) if len(own) > 1 and own.min() == own.max()]
    if not equal:
        return []
    named = ", ".join(f"{log.arms[k]} (always {value:g})" for k, value in equal[:MOST_NAMED])
    more = f" and {len(equal) - MOST_NAMED:,} more" if len(equal) > MOST_NAMED else ""
    return [f"rewards of {named}{more} do not vary; the spread of all rewards is taken for their noise"]


def _rewards_by_arm(log: "Log") -> Iterator[tuple[int, Floats]]:
    """The rewards of every arm that has some."""
    rows = np.flatnonzero(~np.isnan(log.rewards))
    rows = rows[np.argsort(log.actions[rows], kind="stable")]
    arms, starts = np.unique(log.actions[rows], return_index=True)
    for k, own in zip(arms, np.split(rows, starts[1:]), strict=True):
        yield int(k), log.rewards[own]


def _gaps(log: "Log") -> list[str]:
    """Stretches of a month or more without a row, in a log that is otherwise dense."""
    if log.times is None or not log.dated or len(log) < LEAST_ROWS:
        return []
    pauses = np.diff(log.times)
    long = np.flatnonzero(pauses >= MONTH)
    if not len(long) or np.median(pauses) * GAP >= MONTH:
        return []
    worst = int(long[np.argmax(pauses[long])])
    days = pauses[worst] / 86400.0
    more = f", and {len(long) - 1} more of a month or longer" if len(long) > 1 else ""
    return [
        f"no rows between {_date(log, worst)} and {_date(log, worst + 1)}, {days:.0f} days{more}: windows count rows, "
        "so a gap ages nothing"
    ]
