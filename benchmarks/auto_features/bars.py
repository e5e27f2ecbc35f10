"""The bars: windowed and discounted policies at every memory and radius of a grid, told the noise.

python -m benchmarks.auto_features.bars [WORLD ...]       plays what is missing, and appends it to regrets.csv
python -m benchmarks.auto_features.bars --glm [WORLD ...]     of worlds with rewards 0 and 1, `sliding-glm-ucb` alone
"""

import csv
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.auto_features.catalogue import (
    DEVELOPMENT,
    FIGURE_4,
    HELD_OUT,
    HORIZON,
    LAST_HELD_OUT,
    LATE,
    LATER_HELD_OUT,
    LOGISTIC,
    STILL,
)
from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.validation import cast
from driftwise.families import (
    DiscountedLinThompson,
    DiscountedLinUCB,
    KalmanMixture,
    SlidingGLMUCB,
    SlidingLinThompson,
    SlidingLinUCB,
)
from driftwise.families.composite.worlds.delayed import Delayed

FILE = Path(__file__).with_name("regrets.csv")
COLUMNS = ("world", "policy", "seed", "regret")
WINDOWS = (30, 80, 200, 450, 1000, 2500, 6000, 30_000)
BONUSES = (0.02, 0.05, 0.12, 0.3, 0.8)
WIDTHS = (0.1, 0.25, 0.6, 1.2)
FIRST, KEPT, KEPT_GLM = 2, 24, 3  # every setting plays the first seeds, and the best of them play the others
GLM_WINDOWS, GLM_BONUSES = (200, 600, 2000), (0.001, 0.003, 0.01)
SEEDS = {"still": 20, "drift": 6, "late": 5, "figure4": 5, "logistic": 5}
TUNED_HORIZON = 100_000  # of Figure 4

Key = tuple[str, str, int]


def worlds() -> dict[str, Any]:
    """Every world by name; those with late and lost rewards have `+late` behind it."""
    late = {f"{name}+late": Delayed(world=DEVELOPMENT[name], delay=50, kind="geometric", lost=0.2) for name in LATE}
    return {**DEVELOPMENT, **HELD_OUT, **LATER_HELD_OUT, **LAST_HELD_OUT, **LOGISTIC, **late, **FIGURE_4}


def horizon_of(name: str) -> int:
    """Rounds of a run."""
    return TUNED_HORIZON if name in FIGURE_4 else HORIZON


def seeds_of(name: str) -> range:
    """Runs of a world: more where nothing drifts, since regrets there are few and lucky."""
    kind = "still" if name in STILL else "late" if name.endswith("+late") else name if name in FIGURE_4 else "drift"
    return range(SEEDS["logistic"] if name in LOGISTIC and kind == "drift" else SEEDS[kind])


def bars(name: str, world: Any) -> Iterator[Any]:
    """The policies that are tuned in hindsight."""
    norm = getattr(getattr(world, "world", world), "norm", 1.0)
    reach = getattr(getattr(world, "world", world), "feature_scale", 1.0)
    ridge = reach**2
    if name in FIGURE_4:
        yield SlidingLinUCB.optimal(TUNED_HORIZON, 5, 43.0, 0.1)
        return
    for window, bonus in product(WINDOWS, BONUSES):
        yield SlidingLinUCB(window=window, ridge=ridge, reach=reach, scale=bonus)
        yield DiscountedLinUCB(gamma=1.0 - 1.0 / window, ridge=ridge, reach=reach, scale=bonus)
    for window, width in product(WINDOWS, WIDTHS):
        yield SlidingLinThompson(window=window, ridge=ridge, scale=width)
        yield DiscountedLinThompson(gamma=1.0 - 1.0 / window, ridge=ridge, scale=width)
    if name in LOGISTIC:
        yield from glm_bars(norm)


def glm_bars(norm: float) -> Iterator[SlidingGLMUCB]:
    """Policies that know the link, for rewards of 0 and 1."""
    for window, bonus in product(GLM_WINDOWS, GLM_BONUSES):
        yield SlidingGLMUCB(window=window, link="logistic", beta_scale=bonus, norm=norm, ridge=0.1)


def references(name: str, world: Any) -> Iterator[Any]:
    """What the policy is compared with at its defaults: the mixture that is told the noise."""
    bare = getattr(world, "world", world)
    yield KalmanMixture(reach=getattr(bare, "feature_scale", 1.0), prior_sd=1.0)


def recorded() -> dict[Key, float]:
    """What was played before."""
    if not FILE.exists():
        return {}
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["world"], row["policy"], int(row["seed"])): float(row["regret"]) for row in rows}


def regret(policy: Any, world: Any, tape: Any, horizon: int, seed: int) -> float:
    """Dynamic regret of one run: what the best row of every round would have brought, less what the choices did."""
    problem = world.problem(horizon)
    state, trace = policy.init(problem), trace_for(problem, 0, horizon)
    play(policy, state, tape, world.nature(horizon), key(seed, "policy"), trace, horizon)
    means = tape.levels.table[tape.levels.rows]
    return float((means.max(axis=1) - means[np.arange(horizon), trace.actions]).sum())


def fill(name: str, policies: list[Any], seeds: Iterable[int]) -> None:
    """Play what is missing, a seed after another: a tape serves all policies."""
    known, world, horizon = recorded(), worlds()[name], horizon_of(name)
    if not FILE.exists():
        FILE.write_text(",".join(COLUMNS) + "\n")
    for seed in seeds:
        missing = [each for each in policies if (name, str(each), seed) not in known]
        if not missing:
            continue
        tape, _ = world.draw(horizon, seed)
        rows = [(name, str(each), seed, f"{regret(cast(each), world, tape, horizon, seed):.6g}") for each in missing]
        with FILE.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def mean_regret(known: dict[Key, float], name: str, policy: Any, seeds: Iterable[int]) -> float:
    """Over these seeds; infinite where one was not played."""
    return float(np.mean([known.get((name, str(policy), seed), np.inf) for seed in seeds]))


def tune(name: str, glm_only: bool = False) -> None:
    """Play the grid in a world: all settings a little, the best ones wholly, and the references."""
    world, seeds = worlds()[name], seeds_of(name)
    grid, tuning = list(bars(name, world)), tuning_seeds(name)
    if glm_only:
        grid = [each for each in grid if isinstance(each, SlidingGLMUCB)]
    first = tuning[: 2 * FIRST if name in STILL else FIRST]
    fill(name, [*grid, *references(name, world)], first)
    known = recorded()
    best = sorted(grid, key=lambda each: mean_regret(known, name, each, first))
    best = best[: KEPT_GLM if glm_only else KEPT]
    fill(name, best, tuning)
    fill(name, [*references(name, world), best_setting(name)], seeds)


def tuning_seeds(name: str) -> range:
    """Where nothing drifts, one half of the seeds: the bar is tuned there, and judged on the other."""
    seeds = seeds_of(name)
    return seeds[: len(seeds) // 2] if name in STILL else seeds


def judging_seeds(name: str) -> range:
    """The other half where nothing drifts, else all seeds."""
    seeds = seeds_of(name)
    return seeds[len(seeds) // 2 :] if name in STILL else seeds


def best_setting(name: str) -> Any:
    """The setting with the least mean regret on the seeds it was tuned on."""
    known, tuning = recorded(), tuning_seeds(name)
    return min(bars(name, worlds()[name]), key=lambda each: mean_regret(known, name, each, tuning))


def main(names: list[str]) -> None:
    """Tune in the worlds of these names, in all of them where none is named."""
    glm_only = "--glm" in names
    chosen = [name for name in names if name != "--glm"] or list(LOGISTIC if glm_only else worlds())
    for name in chosen:
        tune(name, glm_only)


if __name__ == "__main__":
    main(sys.argv[1:])
