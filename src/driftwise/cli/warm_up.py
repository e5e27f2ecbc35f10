"""`driftwise serve --deployment NAME --log FILE`: a deployment with the arms of a log, which learns from it first."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from driftwise.core.extras import needed_for
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from driftwise.evaluate.log import Log
    from driftwise.service.deployments.log_import import LoggedOutcome

F = TypeVar("F", bound=Callable[..., Any])
COLUMNS = ("time", "action", "reward", "propensity")


def warm_up_options(command: F) -> F:
    """Add which log a new deployment learns from, and the columns of the log."""
    options = [
        click.option("--deployment", metavar="NAME", help="Create this deployment from --log, unless it exists."),
        click.option("--policy", default="auto", show_default=True, metavar="P", help="Its policy."),
        click.option("--log", metavar="FILE", help="A log of decisions, for --deployment to learn from first."),
        *(click.option(f"--{name}", metavar="COLUMN", help=f"Column of the {name} in the log.") for name in COLUMNS),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def warm_up(
    store: str, durability: str, name: str | None, policy: str, path: str | None, columns: dict[str, str | None]
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

    log = Log.read(path, **{name: column for name, column in columns.items() if column is not None})
    rows = _rows(log)
    if asyncio.run(import_log(open_journal(store, durability), _spec(name, policy, log), rows)):
        click.echo(f"deployment {name}: {policy} has learned from {len(rows):,} rows of {path}", err=True)
    else:
        click.echo(f"deployment {name} exists and has learned from a log: {path} is not read again", err=True)


def _spec(name: str, policy: str, log: "Log") -> Any:
    """A deployment with the arms of the log; rewards have a range where all lie between 0 and 1."""
    import msgspec
    import numpy as np

    from driftwise.families.multi_armed.problem import MultiArmed
    from driftwise.service.http.schemas.requests import DeploymentSpec

    unit = np.nanmin(log.rewards) >= 0.0 and np.nanmax(log.rewards) <= 1.0
    problem = MultiArmed(list(log.arms), reward_range=(0.0, 1.0) if unit else None)
    try:
        return msgspec.convert({"name": name, "policy": policy, "problem": problem}, DeploymentSpec)
    except msgspec.ValidationError as error:
        raise ParameterError(f"deployment {name}: {error}") from None


def _rows(log: "Log") -> "list[LoggedOutcome]":
    """Rows with a reward; those without times are of now."""
    import numpy as np

    from driftwise.service.deployments.clock import now_us
    from driftwise.service.deployments.log_import import LoggedOutcome

    times = (1e6 * log.times).astype(np.int64) if log.dated and log.times is not None else None
    chances = log.propensities
    return [
        LoggedOutcome(
            now_us() if times is None else int(times[row]),
            log.arms[log.actions[row]],
            None if chances is None or np.isnan(chances[row]) else float(chances[row]),
            float(log.rewards[row]),
        )
        for row in np.flatnonzero(~np.isnan(log.rewards)).tolist()
    ]
