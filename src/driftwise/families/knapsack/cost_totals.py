"""What every arm has earned and cost in all: for policies with budgets that forget nothing.

Without a window a late outcome counts when it comes, and one that is told twice counts twice. Until it comes, its
decision counts in `pending`; `idle` counts those of the null arm, which cost nothing.

A policy that uses it has a state with a field `outlay`, registers `pend_outlay` and `settle_outlay`, and calls `book`
in its `update`.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Decision, Floats, PerArm, Shared


class Outlay(NamedTuple):
    """How often each arm was chosen, what it earned, and what it cost of each resource; and what is under way."""

    counts: PerArm
    sums: PerArm
    spent: PerArm
    pending: PerArm
    idle: Shared


def new_outlay(n_arms: int, resources: int) -> Outlay:
    """Nothing chosen yet."""
    return Outlay(
        counts=np.zeros(n_arms, np.int64),
        sums=np.zeros(n_arms),
        spent=np.zeros((n_arms, resources)),
        pending=np.zeros(n_arms, np.int64),
        idle=np.zeros(1, np.int64),
    )


@kernel
def book(outlay: Outlay, arm: int, reward: float, costs: Floats) -> None:
    """Add what came of one choice."""
    outlay.counts[arm] += 1
    outlay.sums[arm] += reward
    for resource in range(len(costs)):
        outlay.spent[arm, resource] += costs[resource]


@kernel
def pend_outlay(policy: Any, state: Any, decision: Decision) -> None:
    """The outcome of a decision is under way: the `pend` of policies with budgets that forget nothing."""
    _add(state.outlay, decision.action, 1)


@kernel
def settle_outlay(policy: Any, state: Any, decision: Decision) -> None:
    """The outcome of a decision is under way no longer: the `settle` of policies with budgets that forget nothing."""
    _add(state.outlay, decision.action, -1)


@kernel
def _add(outlay: Outlay, arm: int, change: int) -> None:
    if arm >= 0:
        outlay.pending[arm] += change
    else:
        outlay.idle[0] += change


@kernel
def chosen(outlay: Outlay, arm: int) -> int:
    """How often an arm was chosen, whether or not the outcome is known."""
    return int(outlay.counts[arm] + outlay.pending[arm])


@kernel
def waiting(outlay: Outlay) -> int:
    """How many decisions are under way, those of the null arm among them."""
    number = outlay.idle[0]
    for pending in outlay.pending:
        number += pending
    return int(number)
