"""Bounds on what arms earn and cost, from their counts and sums in a window.

    mean      sum / (n + 1)                                     the 1 draws an arm that is hardly known towards 0
    root      reach / sqrt(n + 1)                               the width of Algorithm 1, and of the practical radius
    variance  2 reach (sqrt(gamma mean / (n + 1)) + gamma / (n + 1))           the width of Appendix D

Decisions whose outcomes are under way are tries too: they narrow the width, in which `tries` stands for n, and leave
the mean as it is. Rewards get the mean plus the width, costs the mean minus it. Clipped to [0, 1], where means lie, they
are no less true.
"""

import math

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats


@kernel
def width(mean: float, tries: int, reach: float, gamma: float) -> float:
    """How far a mean may be off; `gamma` is 0 for the root."""
    n = tries + 1.0
    if gamma > 0.0:
        return 2.0 * reach * (math.sqrt(gamma * mean / n) + gamma / n)
    return reach / math.sqrt(n)


@kernel
def bound_reward(total: float, count: int, tries: int, reach: float, gamma: float, clip: int) -> float:
    """The most an arm may earn."""
    mean = total / (count + 1.0)
    upper = mean + width(mean, tries, reach, gamma)
    return min(upper, 1.0) if clip else upper


@kernel
def bound_costs(lower: Floats, totals: Floats, count: int, tries: int, reach: float, gamma: float, clip: int) -> None:
    """Write the least an arm may cost of each resource into `lower`."""
    for resource in range(len(totals)):
        mean = totals[resource] / (count + 1.0)
        least = mean - width(mean, tries, reach, gamma)
        lower[resource] = max(least, 0.0) if clip else least
