"""`driftwise diagnose`: does a log drift, when, how far, and what should run?"""

import json
from pathlib import Path

import click

from driftwise.cli.command import Count, main
from driftwise.cli.log_options import log_options, read_log


@main.command(short_help="Tell whether a log drifts, when, and what to run.")
@log_options
@click.option("--seed", type=Count(0), default=0, show_default=True, metavar="N", help="Seed of the permutation test.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write a report with plots to this folder.")
def diagnose(log: str | None, seed: int, as_json: bool, out: Path | None, **where: str | None) -> None:
    """Tell whether LOG drifts, when and how far, and what to run.

    LOG is a file of logged decisions: CSV, JSON lines or Parquet. Columns that no option names are guessed from their
    names and content, and the output says which were. An empty name means that there is no such column.

    Of forty logs without drift the test for drift finds drift in one, on average.
    """
    from driftwise.cli.terminal import working

    with working("looking for drift"):
        found = read_log(log, where).diagnose(seed=seed)
    click.echo(json.dumps(found.to_dict()) if as_json else str(found))
    if out is not None:
        from driftwise.cli._progress import announce

        announce("Report", lambda: found.write(out / "report.html", title=f"Diagnosis of {log or where['deployment']}"))
