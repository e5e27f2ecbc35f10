"""What a person sees in a terminal: tables and lists. Nothing here computes; programs read `--json`."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from driftwise.cli.fitting_table import TableColumn, print_table
from driftwise.display.text import counted

if TYPE_CHECKING:
    from driftwise.cli.docstrings import ParameterRow
    from driftwise.study.summary import StudySummary
    from driftwise.study.verdicts import Verdict


FAMILY_ORDER = ("any", "multi-armed", "contextual", "knapsack", "contextual-knapsack")  # the rest as they come


def working(what: str) -> Status:
    """A sentence on standard error, with a sign that it goes on, while a block runs; nothing where nobody sees it."""
    return Console(stderr=True).status(what)


def show_summary(summary: "StudySummary") -> None:
    """A table per world: the policies of a study, least regret first."""
    for world, words in summary.words.items():
        sizes = {norm: f"{size:.4g}" for norm, size in summary.drift[world].items() if size is not None}
        norms = [
            f"{size} ({norm} norm)" if norm in ("l2", "sup") else f"{norm} = {size}" for norm, size in sizes.items()
        ]
        moved = f"\nhow far run 0 drifts, all steps added: {', '.join(norms)}" if norms else ""
        caption = f"regret against {words.comparator}, ± 95%{moved}"
        rows = summary.of(world)
        spreads = ["" if math.isnan(row.regret.ci95) else f" ± {row.regret.ci95:,.0f}" for row in rows]
        more = [
            TableColumn(
                each.title, [f"{row.more[each.name]:{'.0%' if each.percent else ',.3g'}}" for row in rows], drop=2
            )
            for each in words.columns
        ]
        print_table(
            [row.policy for row in rows],
            [
                TableColumn(
                    "regret", [f"{row.regret.mean:,.0f}{ends}" for row, ends in zip(rows, spreads, strict=True)]
                ),
                TableColumn(f"{words.best}\nchosen", [f"{row.optimal_rate:.0%}" for row in rows], drop=3),
                *more,
                TableColumn("ns a\nround", [f"{row.ns_per_round:,.0f}" for row in rows], drop=1),
            ],
            title=f"{world}: {counted(summary.horizon, 'round')}, {counted(summary.runs, 'run')}",
            caption=caption,
            frame=box.HEAVY_HEAD,
        )


def show_verdicts(verdicts: "Sequence[Verdict]") -> None:
    """The paper's statements in a sentence, every group of claims in a row, and each claim that differs."""
    from driftwise.study.tallies import groups, headline, sentence_of
    from driftwise.study.verdicts import DIFFERS, VERDICTS

    counts = groups(verdicts)
    kinds = [place for place in range(1, len(VERDICTS) + 1) if any(group[place] for group in counts)]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("claims", overflow="fold")
    for place in kinds:
        head = VERDICTS[place - 1].replace("-", "\n")  # six of them and the claims fit into 80 columns
        table.add_column(head, justify="right", min_width=max(map(len, head.split("\n"))))
    for group in counts:
        table.add_row(group.name, *(str(group[place] or "") for place in kinds))
    console = Console()
    console.print(f"{counted(len(verdicts), 'claim')}; each reading of a statement is a claim\n", highlight=False)
    console.print(table)
    console.print(f"\n{sentence_of(headline(verdicts))}")
    for each in verdicts:
        if each.verdict == DIFFERS:
            console.print(f"{each.id} differs: {each.claim.says}; {each.why}", markup=False)


def show_families(entries: list[dict[str, Any]]) -> None:
    """One line each, grouped by family."""
    families: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        families.setdefault(entry["family"], []).append(entry)
    width = max((len(entry["name"]) for entry in entries), default=0)
    order = [family for family in FAMILY_ORDER if family in families]
    order += [family for family in families if family not in order]
    for place, (family, members) in enumerate((family, families[family]) for family in order):
        click.secho(f"{'' if place == 0 else chr(10)}{family}", bold=True)
        for entry in members:
            click.echo(f"  {entry['name']:<{width}}  {entry['summary']}")


def show_list(entries: list[dict[str, Any]]) -> None:
    """One short paragraph each: tables of six columns do not fit a terminal."""
    for entry in entries:
        click.secho(entry["name"], bold=True, nl=False)
        click.echo(f"  {entry['summary']}")
        facts = ("family", "needs", "bound", "paper")
        lines = {"takes": signature(entry)} | {key: entry[key] for key in facts if key in entry}
        for key, text in lines.items():
            click.echo(f"    {key:<6} {text}")


def show_parameters(rows: "Sequence[ParameterRow]") -> None:
    """A line for each parameter: its default, and what it is."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("parameter", "default", ""):
        table.add_column(title, no_wrap=title == "parameter", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    if rows:
        Console().print("", table)


def signature(entry: dict[str, Any]) -> str:
    """The parameters of a policy or world with their defaults."""
    return ", ".join(f"{key}={value}" for key, value in entry["parameters"].items()) or "none"
