"""The bar: the best windowed or discounted policy, tuned in hindsight for each world and told the true noise.

    python -m benchmarks.auto.bars [--horizon 100000] [--late] [WORLD ...]

Every setting of a coarse grid plays every world; in long runs those far behind after two seeds, and after four, are
left out. What is kept in `bars.csv` are the best settings of a world, with
their mean regret over the even seeds and over the odd ones. A world that is there with as many seeds is not played
again, so the command can be stopped and started. Where nothing drifts, the best of a hundred settings on few seeds is a
lucky one: there are more seeds, and the two halves show how lucky.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.auto.worlds import COURSES, world_of
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.spec import describe
from driftwise.core.types import Floats, new_trace
from driftwise.core.validation import cast
from driftwise.families import (
    POLICIES,
    DiscountedThompson,
    DiscountedUCB,
    SlidingGaussianThompson,
    SlidingKLUCB,
    SlidingThompson,
    SlidingUCB,
)
from driftwise.families.composite.worlds.delayed import Delayed

FILE = Path(__file__).with_name("bars.csv")
FIELDS = ("world", "late", "horizon", "seeds", "setting", "even", "odd")
KEPT = 8  # settings of each ranking
LEAVES = {2: 32, 4: 16}  # of long runs: settings that are still tried after so many seeds


class Bar(NamedTuple):
    """What a tuned policy reaches in one world, and the setting that does."""

    regret: float
    setting: str
    seeds: int


def windows(horizon: int) -> list[int]:
    """Eight windows up to the whole run."""
    return [round(float(each)) for each in np.geomspace(horizon / (3_000 if horizon > 10_000 else 100), horizon, 8)]


def grid(name: str, horizon: int) -> Iterator[Any]:
    """The settings to be tried in the world `name`."""
    world = world_of(name)
    noise = COURSES[name].noise
    if world.rewards == "bernoulli":
        means = COURSES[name].means(np.random.default_rng(0))
        noise = float(np.sqrt((means * (1.0 - means)).mean()))
    for window in windows(horizon):
        gamma = 1.0 - 1.0 / window
        span = 2.0 * noise / world.problem().width  # what radii are tuned around, in the width that policies are given
        for radius in (0.01, 0.05, 0.2, 0.6):
            yield SlidingUCB(window=window, xi=radius * span**2)
            yield DiscountedUCB(gamma=gamma, xi=radius * span**2 / 4.0)
        for share in (0.5, 1.0):
            yield SlidingGaussianThompson(window=window, noise=noise * share)
        if world.rewards == "bernoulli":
            yield SlidingThompson(window=window)
            yield DiscountedThompson(gamma=gamma)
            yield SlidingKLUCB(window=window, c=0.0)


def late_world(name: str, late: bool) -> Any:
    """The world called `name`; with `late`, rewards come geometrically late, 50 rounds in the mean, or not at all."""
    world = world_of(name)
    return Delayed(world=world, delay=50.0, kind="geometric", lost=0.2) if late else world


def regrets(name: str, late: bool, horizon: int, seed: int, policies: list[Any]) -> Floats:
    """The dynamic regret of each policy in one run of a world."""
    world = late_world(name, late)
    tape, _ = world.draw(horizon, seed)
    means = tape.levels.table
    best, problem, earned = means.max(axis=1).sum(), world.problem(), []
    for policy in map(cast, policies):
        trace = new_trace(0, horizon)
        rng = key(seed, "policy", repr(policy))
        play(policy, policy.init(problem), tape, world.nature(horizon), rng, trace, horizon)
        earned.append(means[np.arange(horizon), trace.actions].sum())
    return np.asarray(best - np.array(earned))


def seeds_for(name: str, horizon: int) -> int:
    """Runs are cheap when they are short; where nothing drifts more are needed."""
    return 40 if horizon <= 10_000 else 20 if COURSES[name].still or name == "swap2" else 10


def best_settings(name: str, late: bool, horizon: int, seeds: int) -> list[dict[str, Any]]:
    """Rows of the file: the best settings by all seeds, by the even and by the odd."""
    policies = list(grid(name, horizon))
    table = np.full((seeds, len(policies)), np.inf)
    left = list(range(len(policies)))
    for seed in range(seeds):
        if horizon > 10_000 and seed in LEAVES:
            left = list(np.argsort(table[:seed].mean(axis=0))[: LEAVES[seed]])
        table[seed, left] = regrets(name, late, horizon, seed, [policies[i] for i in left])
    halves = [table[0::2].mean(axis=0), table[1::2].mean(axis=0)]
    ranked = [np.argsort(each)[:KEPT] for each in (*halves, halves[0] + halves[1])]
    return [
        dict(
            zip(
                FIELDS,
                (name, int(late), horizon, seeds, describe(policies[i], POLICIES), *(f"{h[i]:.5g}" for h in halves)),
                strict=True,
            )
        )
        for i in sorted(set(np.concatenate(ranked)))
    ]


def read() -> list[dict[str, str]]:
    """What is known already."""
    if not FILE.exists():
        return []
    with FILE.open(newline="") as file:
        return list(csv.DictReader(file))


def bar_of(name: str, late: bool, horizon: int) -> Bar | None:
    """The bar of a world; None where it was not computed."""
    rows = [r for r in read() if (r["world"], r["late"], r["horizon"]) == (name, str(int(late)), str(horizon))]
    if not rows:
        return None
    halves, seeds = np.array([[float(r["even"]), float(r["odd"])] for r in rows]), int(rows[0]["seeds"])
    best = int(np.argmin(halves.sum(axis=1)))
    return Bar(float(halves[best].mean()), rows[best]["setting"], seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", default=list(COURSES))
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--late", action="store_true")
    options = parser.parse_args()
    for name in options.worlds or list(COURSES):
        seeds = seeds_for(name, options.horizon)
        known = bar_of(name, options.late, options.horizon)
        if known is None or known.seeds < seeds:
            _compute(name, options.late, options.horizon, seeds)
        print(name, bar_of(name, options.late, options.horizon), flush=True)


def _compute(name: str, late: bool, horizon: int, seeds: int) -> None:
    """Play a world, and put its rows in place of those it had."""
    rows = best_settings(name, late, horizon, seeds)
    cell = (name, str(int(late)), str(horizon))
    kept = [row for row in read() if (row["world"], row["late"], row["horizon"]) != cell]
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept + rows)


if __name__ == "__main__":
    main()
