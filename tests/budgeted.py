"""Runs with budgets to try measures on, and their linear programs written out in full, for HiGHS."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from driftwise.core.types import Floats
from driftwise.families.knapsack.means import Means

KINDS = ("plain", "thirds", "zeros and ones", "sparse", "still", "one arm free")


class Run(NamedTuple):
    means: Means
    budgets: Floats


def random_run(luck: np.random.Generator, kind: str, *, most: tuple[int, int, int] = (10, 5, 5)) -> Run:
    """Up to `most` segments, arms and resources; ties and degenerate optima by kind; budgets differ."""
    segments, arms, resources = (int(luck.integers(1, high + 1)) for high in most)
    rewards, costs = luck.random((segments, arms)), luck.random((segments, resources, arms))
    if kind == "thirds":
        rewards, costs = np.round(3.0 * rewards) / 3.0, np.round(3.0 * costs) / 3.0
    if kind == "zeros and ones":
        rewards, costs = np.round(rewards), np.round(costs)
    if kind == "sparse":
        costs = costs * (luck.random(costs.shape) < 0.4)
    if kind == "still":
        rewards, costs = rewards[[0] * segments], costs[[0] * segments]
    if kind == "one arm free":
        costs[:, :, 0] = 0.0
    horizon = int(luck.integers(segments, 6 * segments + 1))
    budgets = horizon * (0.02 + 0.6 * luck.random(resources))
    if kind in ("thirds", "zeros and ones"):
        budgets = np.maximum(1.0, np.round(budgets))
    return Run(Means.of(rewards, costs, luck.integers(0, segments, horizon)), budgets)


def random_runs(seed: int, count: int, **size: Any) -> Iterator[Run]:
    """`count` runs, of all kinds in turn."""
    luck = np.random.default_rng(seed)
    for i in range(count):
        yield random_run(luck, KINDS[i % len(KINDS)], **size)


def highs(**program: Any) -> Any:
    """A solved program."""
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solved = linprog(method="highs", options=exact, **program)  # type: ignore[call-overload]
    assert solved.status == 0
    return solved


def step_value(rewards: Floats, costs: Floats, rates: Floats) -> float:
    """The program of one round."""
    rows = np.vstack([costs, np.ones(len(rewards))])
    return -float(highs(c=-rewards, A_ub=rows, b_ub=np.append(rates, 1.0), bounds=(0.0, None)).fun)


def full_value(means: Means, budgets: Floats, ends: Sequence[int] = ()) -> float:
    """LP(T) with a variable for every round and arm, and a row for every end and resource."""
    horizon, arms = means.horizon, means.n_arms
    ends, limits = list(ends) or [horizon], np.atleast_2d(budgets)
    spent, whole = [], np.repeat(np.eye(horizon), arms, axis=1)
    for end in ends:
        for resource in range(means.n_resources):
            each = means.costs[means.rows, resource].copy()
            each[end:] = 0.0
            spent.append(each.ravel())
    right = np.append(limits.ravel(), np.ones(horizon))
    rewards = means.rewards[means.rows].ravel()
    return -float(highs(c=-rewards, A_ub=np.vstack([*spent, whole]), b_ub=right, bounds=(0.0, None)).fun)


def full_spread(table: Floats, counts: Floats) -> float:
    """W-min of a table (S, d, m): distances z_s, u_sji >= +-(C_sji - centre_ji), z_s >= sum_j u_sji."""
    segments, resources, arms = table.shape
    cells = table.size
    total = segments + cells + resources * arms  # z, u, centre
    rows: list[Floats] = []
    right: list[float] = []
    for cell, (s, j, i) in enumerate(np.ndindex(*table.shape)):
        for sign in (1.0, -1.0):
            row = np.zeros(total)
            row[segments + cell], row[segments + cells + j * arms + i] = -1.0, -sign
            rows.append(row)
            right.append(-sign * float(table[s, j, i]))
    for s in range(segments):
        for i in range(arms):
            row = np.zeros(total)
            row[s] = -1.0
            row[segments + s * resources * arms + np.arange(resources) * arms + i] = 1.0
            rows.append(row)
            right.append(0.0)
    prices = np.append(counts, np.zeros(total - segments))
    bounds = [(0.0, None)] * (segments + cells) + [(None, None)] * (resources * arms)
    return float(highs(c=prices, A_ub=np.array(rows), b_ub=np.array(right), bounds=bounds).fun)
