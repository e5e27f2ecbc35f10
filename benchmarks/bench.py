"""Every promise about speed, measured: `python benchmarks/bench.py` prints one table and writes JSON beside it.

    --quick         smaller sizes, no peers: to see that everything runs, not to quote
    --no-peers      leave other libraries out (they are installed into .bench/ at first use)
    --out FILE      where the JSON goes; default out/bench.json

Processor time, neighbouring runs, medians of ratios; start-up and threads by the wall. The exit code is 0 whatever the
numbers say, and 1 when the compiled loop and its C twin choose differently.
"""

import argparse
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import (
    accuracy,
    against_c,
    against_linear_peers,
    against_peers,
    knapsack,
    linear_scaling,
    live,
    memory,
    parallel,
    plan,
    scaling,
    service,
    startup,
    whittle,
)
from benchmarks.sizes import FULL, QUICK, Sizes
from benchmarks.table import Row, not_measured

Section = Callable[[], list[Row]]
LEFT_OUT = "peers left out"


def main() -> int:
    """Measure, print, write."""
    options = _options()
    sizes = QUICK if options.quick else FULL
    try:
        rows = [each for title, section in _sections(sizes, options.peers).items() for each in _measure(title, section)]
    except against_c.TwinsDisagree as disagreement:
        print(f"bench: {disagreement}", file=sys.stderr)
        return 1
    _say("cost per round by number of arms")
    by_arms = scaling.cost_by_arms(sizes)
    _say("cost per round by window")
    by_window = scaling.cost_by_window(sizes)
    _say("cost per round by number of features")
    by_features = linear_scaling.cost_by_features(sizes)
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(
        _table(rows),
        _cost_table("cost per round, ns, by number of arms", "K", by_arms),
        _cost_table("cost per round by window, ns", "w", by_window),
        _cost_table("cost per round by number of features, 40 actions, ns", "d", by_features),
    )
    costs = {
        "cost_per_round_ns": by_arms,
        "cost_per_round_by_window_ns": by_window,
        "cost_per_round_by_features_ns": by_features,
    }
    document = _document(rows, options) | costs
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    _say(f"written to {options.out}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure every promise about speed.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, no peers")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, help="time other libraries too")
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"), help="the JSON file (out/bench.json)")
    options = parser.parse_args()
    if options.peers is None:
        options.peers = not options.quick
    return options


def _sections(sizes: Sizes, peers: bool) -> dict[str, Section]:
    return {
        "against C": lambda: against_c.rows(sizes),
        "against peers": lambda: against_peers.rows(sizes) if peers else against_peers.skipped(LEFT_OUT),
        "against linear peers": lambda: (
            against_linear_peers.rows(sizes) if peers else against_linear_peers.skipped(LEFT_OUT)
        ),
        "window": lambda: scaling.window_rows(sizes),
        "arms": lambda: scaling.arms_rows(sizes),
        "features": lambda: linear_scaling.rows(sizes),
        "accuracy": lambda: accuracy.rows(sizes),
        "budgets": lambda: knapsack.rows(sizes),
        "best plan": lambda: plan.rows(sizes),
        "Whittle indices": lambda: whittle.rows(sizes) if peers else whittle.skipped(sizes, LEFT_OUT),
        "threads": lambda: parallel.rows(sizes),
        "memory": lambda: memory.rows(sizes),
        "agent": lambda: live.rows(sizes, peers=peers),
        "service": lambda: service.rows(sizes),
        "start-up": lambda: startup.rows(sizes),
    }


def _measure(title: str, section: Section) -> list[Row]:
    """The rows of a section; one that breaks is reported and the others still run."""
    _say(title)
    try:
        return section()
    except against_c.TwinsDisagree:
        raise
    except Exception as error:
        traceback.print_exc()
        return [not_measured(title, f"{type(error).__name__}: {error}")]


def _say(text: str) -> None:
    """Progress. Plain lines: a bar that redraws itself would be on the clock of this process."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _table(rows: list[Row]) -> Table:
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


def _cost_table(title: str, symbol: str, costs: scaling.Costs) -> Table:
    table = Table(title=title)
    table.add_column("")
    for value in next(iter(costs.values()), {}):
        table.add_column(f"{symbol}={value}", justify="right")
    for name, by_value in costs.items():
        table.add_row(name, *(f"{cost:,.0f}" for cost in by_value.values()))
    return table


def _number(value: float | None) -> str:
    """Three figures, or all of a large number."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _document(rows: list[Row], options: argparse.Namespace) -> dict[str, Any]:
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": options.quick,
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "load_average": os.getloadavg(),
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("driftwise", "numba", "llvmlite", "numpy")},
        "rows": [each._asdict() | {"target": str(each.target) if each.target else None} for each in rows],
    }


def _processor() -> str:
    """The processor's name where Linux tells it."""
    source = Path("/proc/cpuinfo")
    lines = source.read_text().splitlines() if source.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    sys.exit(main())
