"""What was measured: a table for people, and JSON that is written anew after every section, so that nothing is lost."""

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.scaling import Costs
from benchmarks.table import Row


class Curve(NamedTuple):
    """Costs of policies by something that varies: `name` in the JSON, `title` and `symbol` in the table."""

    name: str
    title: str
    symbol: str
    costs: Costs


class Report:
    """The sections measured so far."""

    def __init__(self, file: Path, *, quick: bool) -> None:
        self.file, self.quick = file, quick
        self.sections: dict[str, list[Row]] = {}
        self.curves: list[Curve] = []
        self.failures: dict[str, str] = {}  # why, by the title of a section

    def write(self, *, finished: bool = False) -> None:
        """Replace the file; a reader never sees half of it."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        beside = self.file.with_name(f"{self.file.name}.part")
        beside.write_text(json.dumps(self._document(finished), indent=2) + "\n", encoding="utf-8")
        beside.replace(self.file)

    def show(self, console: Console) -> None:
        """Print all of it."""
        for title, rows in self.sections.items():
            console.print(table_of(title, rows))
        console.print(*map(_curve_table, self.curves))
        judged = [row for rows in self.sections.values() for row in rows if row.met is not None]
        missed = [row for row in judged if not row.met]
        console.print(f"{len(judged) - len(missed)} of {len(judged)} targets are met")
        for row in missed:
            measured = _number(row.ours if row.ratio is None else row.ratio)
            console.print(f"[red]missed[/]: {row.name}: {measured}, target {row.target}", highlight=False)
        for title, why in self.failures.items():
            console.print(f"[red]not measured[/]: {title}: {why}", highlight=False)

    def _document(self, finished: bool) -> dict[str, Any]:
        return {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "finished": finished,
            "failures": self.failures,
            "quick": self.quick,
            "machine": {
                "processor": _processor(),
                "cores": os.cpu_count(),
                "system": platform.platform(),
                "load_average": os.getloadavg(),
            },
            "versions": {"python": platform.python_version()}
            | {name: version(name) for name in ("driftwise", "numba", "llvmlite", "numpy")},
            "rows": [
                {"section": title, **each._asdict(), "target": str(each.target) if each.target else None}
                for title, rows in self.sections.items()
                for each in rows
            ],
        } | {curve.name: curve.costs for curve in self.curves}


def table_of(title: str, rows: list[Row]) -> Table:
    """Rows as a table for people; columns that are empty in all of them are left out."""
    table = Table(title=title, title_justify="left")
    table.add_column("", ratio=3, overflow="fold")
    for heading in ("unit", "ours", "theirs", "ratio", "target", "met"):
        table.add_column(heading, justify="left" if heading in ("unit", "target", "met") else "right", no_wrap=True)
    table.add_column("note", ratio=2, overflow="fold")
    for each in rows:
        met = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}[each.met]
        target = str(each.target) if each.target else ""
        numbers = [_number(value) for value in (each.ours, each.theirs, each.ratio)]
        table.add_row(each.name, each.unit, *numbers, target, met, each.note)
    table.columns = [column for column in table.columns if any(column.cells)]
    return table


def _curve_table(curve: Curve) -> Table:
    table = Table(title=curve.title)
    table.add_column("")
    for value in next(iter(curve.costs.values()), {}):
        table.add_column(f"{curve.symbol}={value}", justify="right")
    for name, by_value in curve.costs.items():
        table.add_row(name, *(f"{cost:,.0f}" for cost in by_value.values()))
    return table


def _number(value: float | None) -> str:
    """Three figures, or all of a large number."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _processor() -> str:
    """The processor's name where Linux tells it."""
    source = Path("/proc/cpuinfo")
    lines = source.read_text().splitlines() if source.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
