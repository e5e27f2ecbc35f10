"""Which log a command reads: a file and its columns, or a deployment of the service, from its store or over HTTP."""

import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from driftwise.cli.store import check_deployment, opened
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from driftwise.evaluate.log import Log

F = TypeVar("F", bound=Callable[..., Any])
COLUMNS = {
    "time": "Column of the log with the time of the decision: dates, or seconds since 1970.",
    "action": "Column with the arm that was chosen.",
    "reward": "Column with the reward; empty where none ever came.",
    "propensity": "Column with the probability with which the arm was chosen.",
    "unit": "Column with the unit, such as a user, that was decided for: rows of one unit count together.",
    "rewarded_at": "Column with the time when the reward came.",
}
SEVERAL = {
    "context": "Columns with what was known at the decision: numbers or text.",
    "costs": "Columns with what the choice cost.",
    "features": "Names F of columns ARM.F, with what was known of every arm; or one column with all of that.",
}


def column_options() -> list[Callable[[F], F]]:
    """Which columns a log has, and how its times are to be read."""
    return [
        *(
            click.option(f"--{name.replace('_', '-')}", name, metavar="COLUMN", help=words)
            for name, words in COLUMNS.items()
        ),
        *(click.option(f"--{name}", metavar="A,B,...", help=words) for name, words in SEVERAL.items()),
        click.option("--timezone", metavar="ZONE", help="Time zone of times without an offset; UTC if not given."),
        click.option(
            "--time-format", metavar="FORMAT", help="Format of times that are not ISO 8601, such as %d.%m.%Y %H:%M."
        ),
    ]


def log_options(command: F) -> F:
    """Add the argument LOG and what says how to read it; the command takes `log` and `**where`."""
    options = [
        click.argument("log", required=False, metavar="LOG"),
        *column_options(),
        click.option(
            "--deployment",
            metavar="NAME",
            help="Read the decisions of this deployment instead of LOG; with --store or --url.",
        ),
        click.option(
            "--store",
            metavar="URL",
            help="Store that has --deployment, while no service uses it: sqlite:///FILE or postgresql://... .",
        ),
        click.option(
            "--url",
            metavar="URL",
            help="Running service that has --deployment; its API key is read from the variable DRIFTWISE_KEY.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def read_log(log: str | None, where: dict[str, str | None]) -> "Log":
    """The log that the options of a command name."""
    from driftwise.evaluate.log import Log

    deployment, store, url = (where.pop(name) for name in ("deployment", "store", "url"))
    if (log is None) == (deployment is None):
        raise ParameterError("give a file LOG, or --deployment NAME with --store or --url")
    columns = column_names(where)
    if log is not None:
        if store is not None or url is not None:
            raise ParameterError("--store and --url need --deployment NAME, in place of LOG")
        return Log.read(log, **columns)
    if (store is None) == (url is None):
        raise ParameterError("--deployment needs either --store or --url")
    if columns:
        raise ParameterError(f"--{next(iter(columns))} is for files: the columns of a deployment are known")
    assert deployment is not None
    return _of_store(store, deployment) if store is not None else Log.from_service(str(url), deployment)


def column_names(where: Mapping[str, str | None]) -> dict[str, Any]:
    """What `Log.read` takes, from what the command line has: several names are split at commas."""
    columns: dict[str, Any] = {name: value for name, value in where.items() if value is not None}
    return columns | {name: [part for part in columns[name].split(",") if part] for name in SEVERAL if name in columns}


def range_of(text: str) -> tuple[float, float]:
    """The range of rewards that an option --reward-range names."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"reward-range={text} is not two numbers, LOW,HIGH") from None
    return low, high


def _of_store(store: str, deployment: str) -> "Log":
    with opened(store, instead="give --url") as journal:
        from driftwise.evaluate.log import Log
        from driftwise.service.deployments.catalogue import read_catalogue
        from driftwise.service.deployments.export import rows

        entries = read_catalogue(journal).entries
        check_deployment(deployment, entries)
        log = Log.from_deployment(rows(journal, entries[deployment].stream, -1, 2**62))
        log.name = shlex.join([f"--deployment={deployment}", f"--store={store}"])
        return log
