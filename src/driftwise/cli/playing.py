"""Studies played from the command line: with a bar, where results can be kept, and where they go."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from driftwise.errors import ExtraError, ParameterError


def play_missing(studies: list[Any], out: Path | None, threads: int | None) -> Any:
    """Play what is missing, with a bar on standard error."""
    from driftwise.study.results import Results
    from driftwise.study.run import missing, run, warm
    from driftwise.terminal import progress_bar

    results = Results(folder(out) / "results.sqlite" if out else None)
    cells = {study.name: sum(map(len, missing(study, results))) for study in studies}
    waiting = [study for study in studies if cells[study.name]]
    with progress_bar() as bar:
        if waiting and not sys.stderr.isatty():
            click.echo(f"compiling what is new here, then playing {sum(cells.values()):,} runs", err=True)
        if waiting:
            warming = bar.add_task("compiling (first time only)", total=len(waiting))
            for study in waiting:
                warm(study)
                bar.advance(warming)
            bar.remove_task(warming)
        rounds = sum(cells[study.name] * study.horizon for study in waiting)
        playing = bar.add_task(f"playing {sum(cells.values()):,} runs", total=rounds)
        try:
            for study in waiting:
                run(study, results, threads=threads, progress=lambda played: bar.advance(playing, played))
        except KeyboardInterrupt:
            again = "run the same command again to go on" if out else "with --out DIR a stopped run can be continued"
            raise click.ClickException(f"stopped; {again}") from None
    return results


def folder(out: Path) -> Path:
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
