"""What resources are worth in a run with budgets, and what a run earns that spends them evenly.

    LP_t       the program of round t with the budgets of a round, b = B / T        (`families/knapsack/round_lp.py`)
    sum LP_t   what even spending earns: a feasible plan, so never more than LP(T)
    LP(mean)   the program of a round with the means over time

Each comes with prices, the optimum of its dual. Such optima are not unique: where several are optimal, another solver
may report others, and whatever is said of "the" prices holds for any of them. A price is at most what the whole
program earns over what there is of the resource: q_j <= 1 / b_j for rewards up to 1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.families.knapsack.hindsight.hindsight_lp import Plan, best_plan
from driftwise.families.knapsack.hindsight.path_length import mean_costs, mean_rewards
from driftwise.families.knapsack.means import Means, amounts
from driftwise.families.knapsack.round_lp import StepLP, new_step_lp, solve_step


class Even(NamedTuple):
    """What even spending earns.

    Parameters
    ----------
    value : float
        Over the whole run, sum_t LP_t.
    rewards : Floats
        LP_t in each segment, shape (S,).
    prices : Floats
        The highest price that each resource has in any round, shape (d,).
    """

    value: float
    rewards: Floats
    prices: Floats


class Prices(NamedTuple):
    """The highest price in any round, q_t, those of the whole run, q*, and those of LP(mean); each of shape (d,)."""

    rounds: Floats
    whole: Floats
    mean: Floats


def even_plan(means: Means, budgets: ArrayLike) -> Even:
    """Every round by itself: the best mix of arms that spends no faster than the budgets allow on average.

    >>> means = Means.of([[1.0], [1.0]], [[[1.0], [0.0]], [[0.0], [1.0]]], rows=[0] * 450 + [1] * 450)
    >>> even = even_plan(means, [600.0, 600.0])
    >>> round(even.value, 9), even.prices
    (600.0, array([1., 1.]))
    """
    means = Means.of(*means)
    rewards, highest = np.empty(len(means.rewards)), np.zeros(means.n_resources)
    rates, room = amounts(means, budgets) / means.horizon, new_step_lp(means.n_arms, means.n_resources)
    counts = means.counts
    _solve_each(room, means, counts, rates, rewards, highest)
    return Even(float(counts @ rewards), rewards, highest)


def mean_program(means: Means, budgets: ArrayLike) -> tuple[float, Floats]:
    """LP(mean): what a round would earn that had the means over time, and its prices.

    >>> means = Means.of([[1.0, 1.0], [1.0, 1.0]], [[[0.4, 1.0]], [[1.0, 0.4]]])
    >>> value, prices = mean_program(means, [1.0])
    >>> round(value, 6), prices.round(6)
    (0.714286, array([1.428571]))
    """
    means = Means.of(*means)
    rates, room = amounts(means, budgets) / means.horizon, new_step_lp(means.n_arms, means.n_resources)
    return solve_step(room, mean_rewards(means), mean_costs(means), rates), room.prices.copy()


def prices(means: Means, budgets: ArrayLike, *, plan: Plan | None = None) -> Prices:
    """All three; `plan` saves finding the best plan again.

    >>> means = Means.of([[1.0], [0.0]], [[[0.4]], [[1.0]]])
    >>> rounds, whole, mean = prices(means, [1.0])
    >>> rounds, whole, mean.round(6)
    (array([0.]), array([0.]), array([0.714286]))
    """
    best = best_plan(means, budgets) if plan is None else plan
    return Prices(even_plan(means, budgets).prices, best.prices, mean_program(means, budgets)[1])


@kernel
def _solve_each(room: StepLP, means: Means, counts: Floats, rates: Floats, rewards: Floats, highest: Floats) -> None:
    """The program of a round for every segment; segments without rounds do not count towards the highest prices."""
    for segment in range(len(rewards)):
        rewards[segment] = solve_step(room, means.rewards[segment], means.costs[segment], rates)
        if counts[segment] > 0.0:
            for resource in range(len(highest)):
                highest[resource] = max(highest[resource], room.prices[resource])
