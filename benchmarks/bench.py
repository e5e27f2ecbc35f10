"""Every promise about speed, measured: `python benchmarks/bench.py` prints one table and writes JSON beside it.

    --quick         small sizes, few policies, no peers: a minute or two to see that everything runs, not to quote
    --no-peers      leave other libraries out (they are installed into .bench/ at first use)
    --only SECTION  measure this section, and others so named; the report has no more than these
    --out FILE      where the JSON goes; default out/bench.json

Processor time, neighbouring runs, medians of ratios; start-up and threads by the wall. The JSON is written after every
section; one that fails is reported, and the others still run. The exit code is 0 whatever the numbers say, and 1 when
a section failed, as when the compiled loop and its C twin choose differently.
"""

import argparse
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import (
    accuracy,
    against_c,
    against_linear_peers,
    against_obp,
    against_peers,
    knapsack,
    linear_scaling,
    live,
    live_linear,
    memory,
    parallel,
    plan,
    regret_against_peers,
    scaling,
    service,
    startup,
    whittle,
)
from benchmarks.report import Curve, Report
from benchmarks.sizes import FULL, QUICK, Sizes
from benchmarks.table import Row, not_measured

Section = Callable[[], list[Row] | Curve]
LEFT_OUT = "peers left out"


def main(words: list[str] | None = None) -> int:
    """Measure, write after every section, print."""
    options = _options(words)
    report = Report(options.out, quick=options.quick)
    for title, section in options.sections.items():
        _measure(report, title, section)
        report.write()
    report.write(finished=True)
    report.show(Console(width=None if sys.stdout.isatty() else 150))
    _say(f"written to {options.out}")
    return 1 if report.failures else 0


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure every promise about speed.")
    parser.add_argument("--quick", action="store_true", help="small sizes, few policies, no peers")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, help="time other libraries too")
    parser.add_argument("--only", nargs="+", metavar="SECTION", help="measure these sections only")
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"), help="the JSON file (out/bench.json)")
    options = parser.parse_args(words)
    peers = not options.quick if options.peers is None else options.peers
    sections = _sections(QUICK if options.quick else FULL, peers)
    if unknown := sorted(set(options.only or ()) - set(sections)):
        parser.error(f"unknown sections: {', '.join(unknown)}; known: {', '.join(sections)}")
    options.sections = {title: sections[title] for title in sections if title in (options.only or sections)}
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
        "agent of many restless arms": lambda: [live.restless_row()],
        "agent with features": lambda: live_linear.rows(sizes, peers=peers),
        "regret": lambda: regret_against_peers.rows(sizes) if peers else regret_against_peers.skipped(LEFT_OUT),
        "evaluation": lambda: against_obp.rows() if peers else against_obp.skipped(LEFT_OUT),
        "service": lambda: service.rows(sizes),
        "start-up": lambda: startup.rows(sizes),
        "cost per round by number of arms": lambda: Curve(
            "cost_per_round_ns", "cost per round, ns, by number of arms", "K", scaling.cost_by_arms(sizes)
        ),
        "cost per round by window": lambda: Curve(
            "cost_per_round_by_window_ns", "cost per round by window, ns", "w", scaling.cost_by_window(sizes)
        ),
        "cost per round by number of features": lambda: Curve(
            "cost_per_round_by_features_ns",
            "cost per round by number of features, 40 actions, ns",
            "d",
            linear_scaling.cost_by_features(sizes),
        ),
    }


def _measure(report: Report, title: str, section: Section) -> None:
    """Measure one section; if it fails, the report says so."""
    _say(title)
    try:
        found = section()
    except Exception as error:
        traceback.print_exc()
        report.failures[title] = f"{type(error).__name__}: {error}"
        report.sections[title] = [not_measured(title, report.failures[title])]
        return
    if isinstance(found, Curve):
        report.curves.append(found)
    else:
        report.sections[title] = found


def _say(text: str) -> None:
    """Progress. Plain lines: a bar that redraws itself would be on the clock of this process."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
