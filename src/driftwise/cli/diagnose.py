"""`driftwise diagnose`: does a log drift, when, how far, and what should run?"""

import json
from pathlib import Path

import click

from driftwise.cli.command import Count, main
from driftwise.cli.log_options import log_options, read_log


@main.command(short_help="Tell whether a log drifts, when, and what to run.")
@log_options
@click.option("--seed", type=Count(0), default=0, show_default=True, metavar="N", help="Seed of the permutations.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write a report with plots here.")
def diagnose(log: str | None, seed: int, as_json: bool, out: Path | None, **where: str | None) -> None:
    """Tell whether LOG drifts, when and how far, and what to run.

    LOG is a file of logged decisions: CSV, JSON lines or Parquet. Columns are guessed from their names where no option
    names them, and what was guessed is said. The test for drift holds its level: of forty logs without drift it calls
    one drifting.
    """
    from driftwise.cli.terminal import working

    with working("looking for drift"):
        found = read_log(log, where).diagnose(seed=seed)
    click.echo(json.dumps(found.to_dict()) if as_json else str(found))
    if out is not None:
        from driftwise.cli._progress import announce

        announce("Report", lambda: found.write(out / "report.html", title=f"Diagnosis of {log or where['deployment']}"))
