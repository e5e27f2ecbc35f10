"""`driftwise papers` and `driftwise reproduce`: reproduce published numbers."""

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from driftwise.cli.command import CLUSTER_HELP, THREADS_HELP, Count, main
from driftwise.core.cores import available_cores
from driftwise.display.text import counted
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from driftwise.papers import Paper
    from driftwise.study.claims import Evidence
    from driftwise.study.verdicts import Verdict


@main.command(short_help="List the papers that can be reproduced.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def papers(as_json: bool) -> None:
    """List the papers that can be reproduced, with title and source."""
    from driftwise.papers import names, paper

    entries = [{"name": each.name, "title": each.title, "source": each.source} for each in map(paper, names())]
    if as_json:
        click.echo(json.dumps(entries))
        return
    for entry in entries:
        click.secho(entry["name"], bold=True)
        click.echo(f"    {entry['title']}\n    {entry['source']}")
    click.echo("\nReproduce one: driftwise reproduce NAME", err=True)


@main.command(short_help="Reproduce the numbers of a paper, with verdicts.")
@click.argument("paper", metavar="PAPER")
@click.option("--claim", metavar="ID", help="Judge only this claim, or those below it, such as table2 or table2/K=10.")
@click.option(
    "--scale",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="quick: short horizons, in minutes. full: all horizons, in hours.",
)
@click.option(
    "--runs", type=Count(1), metavar="N", help="Runs per world and policy; as many as the scale has if not given."
)
@click.option("--until-settled", is_flag=True, help="Play more runs until every verdict is certain.")
@click.option(
    "--hours",
    type=float,
    default=2.0,
    show_default=True,
    metavar="H",
    help="With --until-settled: refuse what would take longer.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the data of the paper, where only its owner distributes it.",
)
@click.option("--threads", type=Count(1), metavar="N", help=THREADS_HELP)
@click.option("--cluster", metavar="ADDRESS", help=CLUSTER_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for results and the report; out/PAPER if not given.",
)
def reproduce(
    paper: str,
    claim: str | None,
    scale: str,
    runs: int | None,
    until_settled: bool,
    hours: float,
    data: Path | None,
    threads: int | None,
    cluster: str | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Reproduce the numbers of a paper, and judge every claim.

    `quick` takes minutes and covers the short horizons; `full` covers all of them. Results are stored: run the
    same command again to continue an interrupted run. A verdict is `inconclusive` where more runs are needed, and
    says how many; --until-settled plays them. The exit code is 1 if a claim comes out neither as in the
    paper nor as in earlier runs.

    Some papers use data that only its owner distributes. With --data your file is used; without it what needs the
    data is not judged.
    """
    from driftwise.cli._progress import announce, create_folder, play_missing
    from driftwise.cli.terminal import show_verdicts
    from driftwise.papers import paper as find
    from driftwise.study.claims import Evidence, choose, needed
    from driftwise.study.progress import terminal_bar
    from driftwise.study.settling import settle
    from driftwise.study.verdicts import DIFFERS, judge
    from driftwise.study.verdicts import as_json as plain

    if not hours > 0.0:
        raise ParameterError(f"hours={hours} is not a positive number")
    chosen = find(paper)
    if data is not None:
        if chosen.with_data is None:
            raise ParameterError(f"{paper} takes no --data: all of its data is part of driftwise")
        chosen = chosen.with_data(data)
    claims, expected = choose(chosen.claims(scale), claim), chosen.expected()
    studies = needed(claims, chosen.studies(scale, runs))
    out = create_folder(out or Path("out") / paper)
    results = play_missing(list(studies.values()), out, threads, cluster)

    def judged(evidence: Evidence) -> "list[Verdict]":
        with terminal_bar() as bar:  # some claims are judged by programs that take their time
            return judge(bar.track(claims, description=f"judging {counted(len(claims), 'claim')}"), evidence, expected)

    if until_settled:
        more = partial(play_missing, out=out, threads=threads, cluster=cluster)
        evidence, verdicts = settle(judged, studies, results, more, hours=hours, threads=threads or available_cores())
    else:
        evidence = Evidence(studies, results)
        verdicts = judged(evidence)
    if as_json:
        about = {"paper": paper, "scale": scale} | ({"data": chosen.data} if chosen.data else {})
        click.echo(json.dumps(about | {"claims": plain(verdicts)}))
    else:
        show_verdicts(verdicts)
    options = {"scale": scale, "claim": claim, "runs": runs, "data": data}
    announce(
        "Every claim, line by line, and the figures", lambda: _write_page(chosen, options, verdicts, evidence, out)
    )
    if any(each.verdict == DIFFERS for each in verdicts):
        raise SystemExit(1)


def _write_page(
    paper: "Paper", options: Mapping[str, object], verdicts: "Sequence[Verdict]", evidence: "Evidence", out: Path
) -> Path:
    from driftwise.study.paper_report import write_verdicts

    flags = [f"--{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None]
    counts = [study.runs for study in evidence.studies.values()]
    seeds = [study.seed for study in evidence.studies.values()] or [0]
    return write_verdicts(
        out / "report.html",
        verdicts,
        paper.figures(evidence),
        tables=paper.tables(str(options["scale"])),
        answer=paper.answer,
        whole=options["claim"] is None,
        name=paper.name,
        title=paper.title,
        source=paper.source,
        notes=paper.notes,
        scale=options["scale"],
        runs=_span(counts) if counts else "no",
        seed=_span(seeds),
        command=f"driftwise reproduce {paper.name} {' '.join(flags)}",
    )


def _span(counts: list[int]) -> str:
    """`7`, or `3 to 50`."""
    return " to ".join(map(str, dict.fromkeys([min(counts), max(counts)])))
