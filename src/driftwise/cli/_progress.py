"""Studies played from the command line: with a bar, where results can be kept, and where they go."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from driftwise.errors import ExtraError, ParameterError

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from driftwise.study.results import Results
    from driftwise.study.run import Progress
    from driftwise.study.study import Study


def play_missing(studies: "Iterable[Study]", out: Path | None, threads: int | None) -> "Results":
    """Play what is missing, with a bar on standard error."""
    from driftwise.cli.terminal import progress_bar
    from driftwise.study.results import Results
    from driftwise.study.run import run

    results = Results(folder(out) / "results.sqlite" if out else None)
    with progress_bar() as bar:
        progress = progress_on(bar)
        try:
            for study in studies:
                run(study, results, threads=threads, progress=progress)
        except KeyboardInterrupt:
            again = "run the same command again to go on" if out else "with --out DIR a stopped run can be continued"
            raise click.ClickException(f"stopped; {again}") from None
    return results


def progress_on(bar: "Bar") -> "Progress":
    """Show the progress of `run` on one bar for all studies."""
    from driftwise.study.run import Progress

    class BarProgress(Progress):
        """Runs and rounds that are to be played, summed over studies, and what is compiled before them."""

        def __init__(self) -> None:
            self.runs = self.rounds = 0
            self.playing = bar.add_task("nothing to play", total=0)
            self.compiling: TaskID | None = None

        def started(self, runs: int, rounds: int) -> None:
            self.runs, self.rounds = self.runs + runs, self.rounds + rounds
            if runs and not sys.stderr.isatty():
                click.echo(f"compiling what is new here, then playing {runs:,} runs", err=True)
            if self.runs:
                bar.update(self.playing, total=self.rounds, description=f"playing {self.runs:,} runs")

        def compiled(self, pairs: int, of: int) -> None:
            if self.compiling is None:
                self.compiling = bar.add_task("compiling (first time only)", total=of)
            bar.update(self.compiling, completed=pairs)
            if pairs == of:
                bar.remove_task(self.compiling)
                self.compiling = None

        def played(self, rounds: int) -> None:
            bar.advance(self.playing, rounds)

    return BarProgress()


def folder(out: Path) -> Path:
    """The folder results go to; made where it is not there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--out {out} cannot be made: {error.strerror}") from None
    return out


def announce(what: str, write: Callable[[], Path]) -> None:
    """Write a page and say where it is; on the base install, say which extra adds it. Results are there either way."""
    try:
        page = write()
    except ExtraError as error:
        click.echo(f"\nNo report was written: {error}, then run this command again", err=True)
    else:
        click.echo(f"\n{what}: {page}", err=True)
