"""Play studies with a progress bar, and announce their reports. Imported inside commands only: it is slow to import."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.progress import Progress as Bar

from driftwise.display.text import counted
from driftwise.errors import ExtraError, ParameterError
from driftwise.study.progress import BarProgress, terminal_bar
from driftwise.study.results import Results
from driftwise.study.run import run
from driftwise.study.study import Study

if TYPE_CHECKING:
    from driftwise.study.cluster import Cluster


def play_missing(
    studies: Iterable[Study], out: Path | None, threads: int | None, cluster: str | None = None
) -> Results:
    """Play what is missing, here or on a cluster, with a bar on standard error."""
    results = Results(create_folder(out) / "results.sqlite" if out else None)
    with _connection(cluster) as connected, terminal_bar() as bar:
        progress = CommandProgress(bar)
        try:
            for study in studies:
                run(study, results, threads=threads, cluster=connected, progress=progress)
        except KeyboardInterrupt:
            again = "run the same command again to go on" if out else "with --out DIR a stopped run can be continued"
            raise click.ClickException(f"stopped; {again}") from None
    return results


@contextmanager
def _connection(address: str | None) -> "Iterator[Cluster | None]":
    if address is None:
        yield None
        return
    from driftwise.study.cluster import connect

    with connect(address) as cluster:
        yield cluster


class CommandProgress(BarProgress):
    """A bar, and sentences where nobody sees one."""

    def __init__(self, bar: Bar) -> None:
        super().__init__(bar)
        self.cautions: set[str] = set()

    def started(self, runs: int, rounds: int) -> None:
        if runs and not sys.stderr.isatty():
            click.echo(f"compiling what is new here, then playing {counted(runs, 'run')}", err=True)
        super().started(runs, rounds)

    def cautioned(self, sentence: str) -> None:
        if sentence not in self.cautions:
            self.cautions.add(sentence)
            self.bar.console.print(f"warning: {sentence}", highlight=False, markup=False, soft_wrap=True)


def create_folder(out: Path) -> Path:
    """Create the folder that results go to, unless it exists."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--out {out} cannot be made: {error.strerror}") from None
    return out


def announce(what: str, write: Callable[[], Path]) -> None:
    """Write a page and print where it is; without the extra `report`, print which extra is needed."""
    try:
        page = write()
    except ExtraError as error:
        click.echo(f"\nNo report was written: {error}, then run this command again", err=True)
    else:
        click.echo(f"\n{what}: {page}", err=True)
