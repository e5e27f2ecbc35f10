"""The table: regret of `filter-bank-lin-ucb`, told nothing, over that of the best setting of the bars, world by world.

python -m benchmarks.auto_features [WORLD ...]       the bars must have been played: benchmarks.auto_features.bars
"""

import sys
from typing import NamedTuple

import numpy as np

from benchmarks.auto_features.bars import (
    best_setting,
    horizon_of,
    judging_seeds,
    mean_regret,
    recorded,
    references,
    regret,
    worlds,
)
from benchmarks.auto_features.catalogue import DEVELOPMENT, FIGURE_4, HELD_OUT, LAST_HELD_OUT, LATER_HELD_OUT, LOGISTIC
from driftwise.families import FilterBankLinUCB


class Line(NamedTuple):
    """A world: mean regrets of the best setting, of the policy and of `kalman-mixture`."""

    world: str
    bar: float
    ours: float
    mixture: float
    setting: str


def line(name: str) -> Line | None:
    """Play the policy in a world; None where the bar was not played."""
    known, world, horizon, seeds = recorded(), worlds()[name], horizon_of(name), judging_seeds(name)
    setting = best_setting(name)
    bar = mean_regret(known, name, setting, seeds)
    if not np.isfinite(bar):
        return None
    ours = [regret(FilterBankLinUCB(), world, world.draw(horizon, seed)[0], horizon, seed) for seed in seeds]
    (mixture,) = (mean_regret(known, name, each, seeds) for each in references(name, world))
    return Line(name, bar, float(np.mean(ours)), mixture, _short(setting))


def show_without_bars(title: str, names: list[str]) -> None:
    """Print the regrets of the policy and of `kalman-mixture`, which is told the noise."""
    print(f"\n{title:28}{'ours':>9}{'mixture':>9}{'ratio':>7}   runs of ours")
    for name in names:
        world, horizon, means = worlds()[name], horizon_of(name), []
        for policy in (FilterBankLinUCB(), *references(name, world)):
            runs = [regret(policy, world, world.draw(horizon, seed)[0], horizon, seed) for seed in judging_seeds(name)]
            means.append((float(np.mean(runs)), runs))
        (ours, own), (mixture, _) = means
        print(f"{name:28}{ours:9.1f}{mixture:9.1f}{ours / mixture:7.2f}   {' '.join(f'{run:.0f}' for run in own)}")


def _short(setting: object) -> str:
    """The policy and what of it was tuned."""
    tuned = ("window", "gamma", "scale", "beta_scale")
    values = [f"{name}={getattr(setting, name):.4g}" for name in tuned if hasattr(setting, name)]
    return f"{type(setting).__name__} {' '.join(values)}"


def show(title: str, names: list[str]) -> None:
    """Print the lines of some worlds, and the geometric mean and the worst of their ratios."""
    print(f"\n{title:28}{'bar':>9}{'ours':>9}{'ratio':>7}{'mixture':>9}   best setting")
    ratios = []
    for name in names:
        found = line(name)
        if found is None:
            print(f"{name:28}  not played yet")
            continue
        ratios.append(found.ours / found.bar)
        regrets = f"{found.bar:9.1f}{found.ours:9.1f}{ratios[-1]:7.2f}{found.mixture:9.1f}"
        print(f"{name:28}{regrets}   {found.setting}", flush=True)
    if ratios:
        print(f"{'geometric mean, worst':46}{np.exp(np.mean(np.log(ratios))):7.2f}{max(ratios):9.2f}", flush=True)


def main(names: list[str]) -> None:
    """Every group, or the worlds of these names."""
    late = [name for name in worlds() if name.endswith("+late")]
    groups = {
        "developed on": [*DEVELOPMENT],
        "held out": [*HELD_OUT],
        "rewards 0 and 1": [*LOGISTIC],
        "late and lost rewards": late,
        "Hedging the Drift": [*FIGURE_4],
    }
    for title, members in groups.items():
        if chosen := [name for name in members if not names or name in names]:
            show(title, chosen)
    for title, world_group in (("held out later, no bars", LATER_HELD_OUT), ("held out last, no bars", LAST_HELD_OUT)):
        if chosen := [name for name in world_group if not names or name in names]:
            show_without_bars(title, chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
