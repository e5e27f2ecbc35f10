"""Sums that fade by gamma every round, at no cost in most rounds.

At decision t a reward of round s weighs gamma^(t - s), whenever it came: all weights fade alike. So what is *kept* is
the faded sum times `growth` = gamma^-(t - base), which does not change when time passes: only new rewards weigh more
and more. Before that overflows, once in hundreds of rounds or more, the kept sums are divided by it, and base moves up.

    clock    the round to be decided next
    growth   kept sum over faded sum, at that round
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Shared

LIMIT = 1e100


class Discount(NamedTuple):
    """How far the fading has come."""

    clock: Shared
    growth: Shared


def new_discount() -> Discount:
    """Nothing has faded yet."""
    return Discount(clock=np.zeros(1, np.int64), growth=np.ones(1))


@kernel
def fade(discount: Discount, gamma: float, t: int) -> float:
    """Let time come to round `t`. What is kept must be multiplied by the answer: one, but for the rare round."""
    behind = t - discount.clock[0]
    if behind <= 0:
        return 1.0
    discount.clock[0] = t
    growth = discount.growth[0] / (gamma if behind == 1 else gamma**behind)
    if growth <= LIMIT:
        discount.growth[0] = growth
        return 1.0
    discount.growth[0] = 1.0
    return float(1.0 / growth)


@kernel
def weight(discount: Discount, gamma: float, t: int) -> float:
    """What a reward of round `t` adds to what is kept: by its decision's round, not by when it came."""
    age = discount.clock[0] - t
    if age == 0:
        return float(discount.growth[0])
    return float(discount.growth[0] * (gamma if age == 1 else gamma**age))
