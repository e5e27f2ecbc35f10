"""What every arm has earned and cost in all: for policies with budgets that forget nothing.

Without a window a late outcome counts when it comes, and one that is told twice counts twice.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, PerArm


class Outlay(NamedTuple):
    """How often each arm was chosen, what it earned, and what it cost of each resource."""

    counts: PerArm
    sums: PerArm
    spent: PerArm


def new_outlay(n_arms: int, resources: int) -> Outlay:
    """Nothing chosen yet."""
    return Outlay(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros((n_arms, resources)))


@kernel
def book(outlay: Outlay, arm: int, reward: float, costs: Floats) -> None:
    """Add what came of one choice."""
    outlay.counts[arm] += 1
    outlay.sums[arm] += reward
    for resource in range(len(costs)):
        outlay.spent[arm, resource] += costs[resource]
