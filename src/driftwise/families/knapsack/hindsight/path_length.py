"""How restless a run with budgets is: how far its means move, and how far they stray from one place.

    V1    sum_t max_i |mu_{t+1,i} - mu_{t,i}|                 steps of the rewards, from round to round
    V2,j  sum_t max_i |C_{t+1,j,i} - C_{t,j,i}|               steps of the costs in resource j; V2 is the largest
    W1    sum_t max_i |mu_{t,i} - centre_i|                   spread of the rewards around a centre
    W2    sum_t max_i sum_j |C_{t,j,i} - centre_{j,i}|        spread of the costs: all resources of the worst arm

Without budgets the steps tell how hard a run is: they are what windows are tuned by. With budgets the spread counts as
well, for a budget ties early rounds to late ones: a single step half-way can make spending early a mistake that nobody
could foresee. The centre is the mean over time unless another is given; the nearest one is found by `centre.py`. As
both neighbours of a step stray from any centre, V1 <= 2 W1 and V2,j <= 2 W2.

From Liu, Jiang & Li, *Non-stationary Bandits with Knapsacks* (2022), sections 2.2 and B.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError
from driftwise.families.knapsack.means import Means


class Unrest(NamedTuple):
    """All four measures of one run.

    Parameters
    ----------
    reward_steps : float
        V1.
    cost_steps : Floats
        V2,j for each resource.
    reward_spread, cost_spread : float
        W1 and W2.
    """

    reward_steps: float
    cost_steps: Floats
    reward_spread: float
    cost_spread: float


def unrest(means: Means) -> Unrest:
    """Steps, and spread around the mean over time.

    >>> means = Means.of([[1.0], [0.0]], [[[0.5], [0.0]], [[0.5], [1.0]]], rows=[0] * 25 + [1] * 75)
    >>> v1, v2, w1, w2 = unrest(means)
    >>> v1, v2, w1, w2
    (1.0, array([0., 1.]), 37.5, 37.5)
    """
    means = Means.of(*means)
    return Unrest(*steps(means), *spread(means))


def steps(means: Means) -> tuple[float, Floats]:
    """V1, and V2,j for each resource.

    >>> steps(Means.of([[0.0], [0.25]], [[[0.0]], [[1.0]]], rows=[0, 1, 1, 0]))
    (0.5, array([2.]))
    """
    means = Means.of(*means)
    rewards, costs = np.zeros(1), np.zeros(means.n_resources)
    _add_steps(means.rewards[:, None, :], means.rows, rewards)
    _add_steps(means.costs, means.rows, costs)
    return float(rewards[0]), costs


def spread(
    means: Means, rewards_centre: ArrayLike | None = None, costs_centre: ArrayLike | None = None
) -> tuple[float, float]:
    """W1 and W2 around centres of shape (m,) and (d, m); by default the means over time.

    >>> means = Means.of([[1.0], [0.0]], [[[0.2]], [[0.6]]], rows=[0, 1, 1, 1])
    >>> w1, w2 = spread(means)
    >>> round(w1, 9), round(w2, 9)
    (1.5, 0.6)
    >>> w1, w2 = spread(means, [0.0], [[0.6]])
    >>> round(w1, 9), round(w2, 9)
    (1.0, 0.4)
    """
    means = Means.of(*means)
    centres = mean_rewards(means) if rewards_centre is None else rewards_centre
    others = mean_costs(means) if costs_centre is None else costs_centre
    first = _around("rewards_centre", centres, means.rewards.shape[1:])
    second = _around("costs_centre", others, means.costs.shape[1:])
    return _spread(means.rewards[:, None, :], means.counts, first[None, :]), _spread(means.costs, means.counts, second)


def mean_rewards(means: Means) -> Floats:
    """Each arm's mean reward over the whole run."""
    average: Floats = np.tensordot(means.counts, means.rewards, 1) / means.horizon
    return average


def mean_costs(means: Means) -> Floats:
    """Each arm's mean cost in each resource over the whole run."""
    average: Floats = np.tensordot(means.counts, means.costs, 1) / means.horizon
    return average


def _around(name: str, centre: ArrayLike, shape: tuple[int, ...]) -> Floats:
    checked = np.ascontiguousarray(centre, np.float64)
    if checked.shape != shape:
        raise ParameterError(f"{name} has shape {checked.shape}, the means it stands for {shape}")
    if not np.isfinite(checked).all():
        raise ParameterError(f"{name} has a number that is not finite")
    return checked


def _spread(table: Floats, counts: Floats, centre: Floats) -> float:
    values, slopes = np.empty(1), np.empty((1, *centre.shape))
    distances(table, counts, np.array([0, len(table)]), centre, np.empty(centre.shape[1]), values, slopes)
    return float(values[0])


@kernel
def distances(
    table: Floats, counts: Floats, cuts: Ints, centre: Floats, far: Floats, values: Floats, slopes: Floats
) -> None:
    """How far segments cuts[g] .. cuts[g + 1] - 1 stray from a centre, and how that changes as the centre moves.

    `table` has shape (S, d, m); `values[g]` gets the sum, `slopes[g]` a subgradient, `far` is room for m numbers.
    """
    slopes[:] = 0.0
    for group in range(len(values)):
        values[group] = 0.0
        for segment in range(cuts[group], cuts[group + 1]):
            for arm in range(len(far)):
                far[arm] = 0.0
            for resource in range(table.shape[1]):
                for arm in range(len(far)):
                    far[arm] += abs(table[segment, resource, arm] - centre[resource, arm])
            worst = 0
            for arm in range(1, len(far)):
                if far[arm] > far[worst]:
                    worst = arm
            values[group] += counts[segment] * far[worst]
            for resource in range(table.shape[1]):
                ahead = centre[resource, worst] - table[segment, resource, worst]
                if ahead != 0.0:
                    slopes[group, resource, worst] += counts[segment] if ahead > 0.0 else -counts[segment]


@kernel
def _add_steps(table: Floats, rows: NDArray[np.int32], total: Floats) -> None:
    """Add up the largest move of any arm at each change of segment, resource by resource."""
    for t in range(len(rows) - 1):
        before, after = rows[t], rows[t + 1]
        if before != after:
            for resource in range(table.shape[1]):
                largest = 0.0
                for arm in range(table.shape[2]):
                    largest = max(largest, abs(table[after, resource, arm] - table[before, resource, arm]))
                total[resource] += largest
