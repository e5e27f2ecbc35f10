"""`auto` for arms against the bar of every world: the regret of each, and their ratio.

    python -m benchmarks.auto [--horizon 1000 100000] [--late] [--alertness 1] [WORLD ...]

The bars are read from `bars.csv`; `auto` plays the same seeds. `--late` makes rewards 50 rounds late in the mean and
loses a fifth of them, for `auto` and for the bar alike.
"""

import argparse
import math

import numpy as np

from benchmarks.auto.bars import Bar, bar_of, regrets
from benchmarks.auto.worlds import COURSES, DEVELOPMENT, HELD_OUT
from driftwise.core.family import resolve
from driftwise.families import Auto

HIDDEN = "swap2"  # a change that nobody can see: reported, and left out of the mean


def measure(name: str, late: bool, horizon: int, alertness: float, bar: Bar) -> float:
    """Print the line of one world; the ratio comes back."""
    policy = resolve(Auto(alertness=alertness), "multi-armed")
    runs = np.array([regrets(name, late, horizon, seed, [policy])[0] for seed in range(bar.seeds)])
    ratio, error = runs.mean() / bar.regret, runs.std(ddof=1) / math.sqrt(len(runs)) / bar.regret
    print(f"{name:10s} {bar.regret:9.1f} {runs.mean():9.1f} {ratio:7.2f} +- {error:4.2f}  {bar.setting}", flush=True)
    return float(ratio)


def table(names: list[str], late: bool, horizon: int, alertness: float) -> None:
    """Print some worlds and the geometric mean of their ratios."""
    ratios = {}
    for name in names:
        bar = bar_of(name, late, horizon)
        if bar is not None:
            ratios[name] = measure(name, late, horizon, alertness, bar)
    counted = [ratio for name, ratio in ratios.items() if name != HIDDEN]
    if counted:
        mean = math.exp(np.log(counted).mean())
        print(f"geometric mean {mean:.3f}, worst {max(counted):.2f}, of {len(counted)} worlds ({HIDDEN} left out)\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="*", help="all, unless some are named")
    parser.add_argument("--horizon", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--late", action="store_true")
    parser.add_argument("--alertness", type=float, default=1.0)
    options = parser.parse_args()
    for horizon in options.horizon:
        for title, group in (("developed on", DEVELOPMENT), ("held out", HELD_OUT)):
            names = [name for name in group if not options.worlds or name in options.worlds]
            print(f"T = {horizon}, {'late rewards, ' if options.late else ''}worlds {title}")
            print(f"{'world':10s} {'bar':>9s} {'auto':>9s} {'ratio':>7s}")
            table(names, options.late, horizon, options.alertness)
    unknown = [name for name in options.worlds if name not in COURSES]
    if unknown:
        parser.error(f"unknown worlds: {', '.join(unknown)}")


if __name__ == "__main__":
    main()
