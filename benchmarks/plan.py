"""The best plan in hindsight against HiGHS, which is given the same linear program whole.

Rewards and costs glide on seasons of their own, so that every round differs. HiGHS gets a shorter run, and its time is
scaled by the rounds: to its advantage, for it grows faster than they do.
"""

import statistics
import time
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from benchmarks.sizes import Sizes
from benchmarks.table import Row, row
from driftwise.core.types import Floats
from driftwise.families.knapsack.hindsight.hindsight_lp import Plan, best_plan
from driftwise.families.knapsack.hindsight.minimal_spread import Centres, nearest_centres
from driftwise.families.knapsack.means import Means

ARMS, RESOURCES = 10, 5


def rows(sizes: Sizes) -> list[Row]:
    """Speed, what is certain of the result, and how far the two solvers are apart."""
    means, budgets = seasons(sizes.plan_rounds)
    best_plan(*seasons(100))  # compiles
    times, plan = _ours(means, budgets, sizes.repeats)
    theirs, peer_value = _highs(*seasons(sizes.plan_peer_rounds))
    twin = best_plan(*seasons(sizes.plan_peer_rounds))
    scaled = theirs * sizes.plan_rounds / sizes.plan_peer_rounds
    size = f"T={sizes.plan_rounds:,}, m={ARMS}, d={RESOURCES}"
    return [
        row(
            f"best plan, {size}",
            unit="s",
            ours=times,
            theirs=scaled,
            ratio=scaled / times,
            target="plan: HiGHS",
            note=f"interior point: {theirs:.2g} s at T={sizes.plan_peer_rounds:,}, scaled",
        ),
        row(f"best plan, certified gap, {size}", unit="", ours=plan.gap, target="plan: gap"),
        row(
            f"best plan, distance to HiGHS, T={sizes.plan_peer_rounds:,}",
            unit="",
            ours=abs(twin.value - peer_value) / peer_value,
            note="HiGHS stops at tolerances of 1e-7",
        ),
        _centre_row(means, size),
    ]


def seasons(rounds: int, seed: int = 1) -> tuple[Means, Floats]:
    """Means on sine waves of one to five periods, and budgets for about half of what arms cost on average."""
    luck = np.random.default_rng(seed)
    clock = np.arange(rounds) / rounds

    def waves(*shape: int) -> Floats:
        level, height, phase = 0.3 + 0.4 * luck.random(shape), 0.3 * luck.random(shape), luck.random(shape)
        turns = np.multiply.outer(clock, luck.integers(1, 6, shape)) + phase
        return np.clip(level + height * np.sin(2.0 * np.pi * turns), 0.0, 1.0)

    means = Means.of(waves(ARMS), waves(RESOURCES, ARMS))
    budgets: Floats = 0.5 * rounds * float(means.costs.mean()) * (0.6 + 0.4 * luck.random(RESOURCES))
    return means, budgets


def _ours(means: Means, budgets: Floats, repeats: int) -> tuple[float, Plan]:
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        plan = best_plan(means, budgets)
        taken.append(time.process_time() - start)
    return statistics.median(taken), plan


def _highs(means: Means, budgets: Floats) -> tuple[float, float]:
    """Seconds, and the value, of the program with a variable for every round and arm."""
    each = sparse.csr_matrix(means.costs.transpose(1, 0, 2).reshape(RESOURCES, -1))
    whole = sparse.kron(sparse.identity(means.horizon), np.ones((1, ARMS)), format="csr")
    matrix: Any = sparse.vstack([each, whole], format="csr")
    right = np.append(budgets, np.ones(means.horizon))
    start = time.process_time()
    solved: Any = linprog(-means.rewards.ravel(), A_ub=matrix, b_ub=right, bounds=(0.0, None), method="highs-ipm")
    return time.process_time() - start, -float(solved.fun)


def _centre_row(means: Means, size: str) -> Row:
    start = time.process_time()
    found: Centres = nearest_centres(means)
    taken = time.process_time() - start
    gaps = f"certified to {found.rewards.gap:.0e} and {found.costs.gap:.0e}"
    return row(f"nearest centres, {size}", unit="s", ours=taken, note=gaps)
