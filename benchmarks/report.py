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
        self.rows: list[Row] = []
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
        console.print(table_of(self.rows), *map(_curve_table, self.curves))
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
            "rows": [each._asdict() | {"target": str(each.target) if each.target else None} for each in self.rows],
        } | {curve.name: curve.costs for curve in self.curves}


def table_of(rows: list[Row]) -> Table:
    """Rows as a table for people."""
    table = Table(title="driftwise, measured")
    for heading, justify in {"": "left", "unit": "left", "ours": "right", "theirs": "right", "ratio": "right"}.items():
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("target", no_wrap=True)
    table.add_column("met", no_wrap=True)
    table.add_column("note", overflow="fold")
    for each in rows:
        met = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}[each.met]
        target = str(each.target) if each.target else ""
        numbers = [_number(value) for value in (each.ours, each.theirs, each.ratio)]
        table.add_row(each.name, each.unit, *numbers, target, met, each.note)
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
