"""`driftwise serve --deployment NAME --log FILE`: a deployment with the arms of a log, which learns from it first."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from driftwise.cli.log_options import column_names, column_options, range_of
from driftwise.core.extras import needed_for
from driftwise.display.text import agree, counted
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from driftwise.evaluate.log import Log
    from driftwise.families.contextual.rows import Rows
    from driftwise.service.deployments.log_import import LoggedOutcome
    from driftwise.service.http.schemas.requests import DeploymentSpec

F = TypeVar("F", bound=Callable[..., Any])


def warm_up_options(command: F) -> F:
    """Add which log a new deployment learns from, and the columns of the log."""
    options = [
        click.option(
            "--deployment", metavar="NAME", help="Create this deployment, with the arms of --log, unless it exists."
        ),
        click.option(
            "--policy",
            default="auto",
            show_default=True,
            metavar="P",
            help="Policy of --deployment: NAME or NAME:param=value,... .",
        ),
        click.option(
            "--log",
            metavar="FILE",
            help="Log of decisions that --deployment learns from first: CSV, JSON lines or Parquet.",
        ),
        click.option(
            "--reward-range",
            metavar="LOW,HIGH",
            help="Range of all rewards of --deployment; if not given 0,1, or none, or where the policy needs one, that "
            "of the log.",
        ),
        click.option(
            "--noise",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SD",
            help="Standard deviation of a reward of --deployment around its mean.",
        ),
        *column_options(),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def warm_up(
    store: str,
    durability: str,
    name: str | None,
    policy: str,
    path: str | None,
    columns: dict[str, str | None],
    reward_range: str | None = None,
    noise: float | None = None,
) -> None:
    """Create the deployment and let it learn; nothing where no log is given, or where it was done before."""
    if (name is None) != (path is None):
        raise ParameterError("--deployment NAME and --log FILE belong together")
    if name is None or path is None:
        return
    with needed_for("a log"):
        from driftwise.evaluate.log import Log
    from driftwise.service.deployments.log_import import import_log
    from driftwise.service.store.journal import open_journal

    log = Log.read(path, **column_names(columns))
    spec, reads, notes = _spec(name, policy, log, None if reward_range is None else range_of(reward_range), noise)
    rows = _rows(log, reads)
    if asyncio.run(import_log(open_journal(store, durability), spec, rows)):
        n_lost = len(log) - len(rows)
        without = f"; {n_lost:,} without a reward {agree(n_lost, 'is', 'are')} left out" if n_lost else ""
        click.echo(
            f"deployment {name}: {policy} has learned from {counted(len(rows), 'row')} of {path}{without}", err=True
        )
        for line in [*notes, *_expectations(log, reads)]:
            click.echo(line, err=True)
    else:
        click.echo(f"deployment {name} exists and has learned from a log: {path} is not read again", err=True)


def _spec(
    name: str, policy: str, log: "Log", reward_range: tuple[float, float] | None, noise: float | None
) -> "tuple[DeploymentSpec, Rows | None, list[str]]":
    """A deployment with the arms of the log, where its features come from (None for bare arms), and notes on both."""
    import msgspec

    from driftwise.core.family import FAMILIES
    from driftwise.core.spec import parse
    from driftwise.evaluate.logged_problem import check_reward_range, player_of, problem_of, reward_range_of
    from driftwise.evaluate.logged_rows import rows_as_logged
    from driftwise.families import POLICIES
    from driftwise.service.http.decode_errors import NAME_PATTERN, NAME_RULE
    from driftwise.service.http.schemas.requests import DeploymentSpec

    rows = rows_as_logged(log)
    notes: list[str] = []
    span = reward_range_of(log.rewards) if reward_range is None else check_reward_range(reward_range, log.rewards)
    player = player_of(parse(policy, POLICIES, "policy"), rows)
    problem: Any = msgspec.structs.replace(problem_of(player, rows, span, 0), noise=noise)
    reads = getattr(FAMILIES[problem.kind].adapter.of(player, problem), "rows", None)
    try:
        spec = msgspec.convert({"name": name, "policy": policy, "problem": problem}, DeploymentSpec)
    except msgspec.ValidationError as error:
        why = NAME_RULE if NAME_PATTERN in str(error) else error
        raise ParameterError(f"deployment {name!r}: {why}") from None
    if reward_range is None and span != (0.0, 1.0):
        unbounded: Any = msgspec.structs.replace(problem, reward_range=None)  # rewards to come may be larger
        free = msgspec.structs.replace(spec, problem=unbounded)
        if _is_possible(free):
            return free, reads, notes
        notes.append(
            f"{policy} needs a range of rewards: it is that of the log, [{span[0]:g}, {span[1]:g}], and rewards "
            "outside it are refused; give another with --reward-range LOW,HIGH"
        )
    return spec, reads, notes


def _is_possible(spec: "DeploymentSpec") -> bool:
    """Whether the policy can be used in the problem: some refuse rewards without a range."""
    from driftwise.service.deployments.spec import agent_of

    try:
        agent_of(spec)
    except ParameterError:
        return False
    return True


def _rows(log: "Log", reads: "Rows | None") -> "list[LoggedOutcome]":
    """Rows with a reward; those without times are of now."""
    import numpy as np

    from driftwise.evaluate.uses import request_of
    from driftwise.service.deployments.clock import now_us
    from driftwise.service.deployments.log_import import LoggedOutcome

    dated = log.dated and log.times is not None
    times, arrivals = (
        None if each is None or not dated else np.rint(1e6 * each) for each in (log.times, log.rewarded_at)
    )
    chances = log.propensities
    return [
        LoggedOutcome(
            now_us() if times is None else int(times[row]),
            log.arms[log.actions[row]],
            None if chances is None or np.isnan(chances[row]) else float(chances[row]),
            float(log.rewards[row]),
            request_of(log, row, log.arms, reads),
            None if arrivals is None or np.isnan(arrivals[row]) else int(arrivals[row]),
        )
        for row in np.flatnonzero(~np.isnan(log.rewards)).tolist()
    ]


def _expectations(log: "Log", reads: "Rows | None") -> Iterator[str]:
    """What requests must bring, where the log has features."""
    from driftwise.evaluate.logged_problem import lacks_constant

    if reads is None:
        return
    if reads.context:
        yield f'requests bring "context", the numbers {", ".join(log.context_names)}'
    if reads.n_features:
        yield f'requests bring "actions", for every arm the numbers {", ".join(log.feature_names)}'
    if lacks_constant(log.context, log.features):
        yield "no column of features is constant, so that linear policies have no intercept: add a column of ones"
