"""How large rewards are: the one place where policies with features get the unit of rewards from.

    noise   R, the standard deviation of a reward around its mean
    unit    how large a mean can be, whatever its sign; parameters that bound means or parameters are multiples of it

Both are as the problem says: declared, or from its range, half the range and the largest reward in it. What nobody
declared is learned from rewards, of which a first one is taken to have been 0:

    noise = sqrt(sum (y - mean)^2 / n)        over all n rewards so far, which is too much rather than too little: what
                                              arms and drift add to it is counted as noise
    unit  = max |y|

Until a reward comes that is not 0, any unit leads to the same choices, since every estimate is 0; it is 1 then.
What a policy has learned of rewards stays when it is restarted with another window.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Problem, Shared
from driftwise.core.validation import number

COUNT, MEAN, SQUARES, LARGEST = range(4)


class RewardScale(NamedTuple):
    """The noise, the unit, which of the two are learned, and from what: count, mean, squared distances, largest."""

    noise: Shared
    unit: Shared
    learned: Shared
    seen: Shared


def new_scale(problem: Problem) -> RewardScale:
    """What the problem says of rewards; what it does not say is to be learned."""
    spread = number("noise", problem.spread, above=0.0, closed="[")
    size = number("unit", problem.size, above=0.0, closed="[")
    unit = size or 2.0 * spread or 1.0
    return known_scale(spread or 0.5 * unit, unit)._replace(learned=np.array([not spread, not size]))


def known_scale(noise: float, unit: float) -> RewardScale:
    """A scale of which nothing is to be learned."""
    return RewardScale(np.array([noise]), np.array([unit]), np.zeros(2, np.bool_), np.array([1.0, 0.0, 0.0, 0.0]))


@kernel
def measure(scale: RewardScale, reward: float) -> None:
    """Learn from a reward, where there is something to learn."""
    if scale.learned[0] or scale.learned[1]:
        _measure(scale, reward)


@kernel(inline=False)
def _measure(scale: RewardScale, reward: float) -> None:
    sums = scale.seen
    sums[COUNT] += 1.0
    apart = reward - sums[MEAN]
    sums[MEAN] += apart / sums[COUNT]
    sums[SQUARES] += apart * (reward - sums[MEAN])
    sums[LARGEST] = max(sums[LARGEST], abs(reward))
    if sums[LARGEST] > 0.0:
        if scale.learned[0]:
            scale.noise[0] = math.sqrt(sums[SQUARES] / sums[COUNT])
        if scale.learned[1]:
            scale.unit[0] = sums[LARGEST]
