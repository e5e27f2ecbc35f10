"""Decisions whose rewards are under way, arm by arm.

A pending decision is a try: it narrows the bonus of its arm, and an arm that was just tried is not untried. It is taken
to pay what its arm does on average, without any optimism. So an arm with n rewards, a bound of b above their mean and p
pending decisions has a bound of only n b / (n + p) above it; where b is c / sqrt(n), that is c / sqrt(`tries`) with
tries = (n + p)^2 / n. Counting a pending decision for one reward, c / sqrt(n + p), is not enough: an arm that a lucky
reward has lifted is then chosen too often before the next one comes (with 10 arms and rewards 100 rounds late,
sliding-window UCB has half as much regret again, measured).

Where no reward of an arm has come, `middle` stands for their mean: the middle of the range of rewards. Rewards without
a range have no middle to begin with. It is then the mean of what has come by the first decision after the first reward,
and for good; until then an arm of which all is under way ranks below any arm with a reward, the one with the fewest
pending decisions first.

A policy without a window has a state with the fields `counts`, `sums` and `pending`, registers `pend_arm` and
`settle_arm`, and `refresh` for its state: recompute what it caches of one arm. A window has kernels of its own.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Decision, Floats, PerArm, Problem, Shared
from driftwise.core.verbs import refresh


class Pending(NamedTuple):
    """Decisions under way per arm, and what stands for the mean of an arm none of whose rewards has come.

    `middle` holds that now, and as it was at first.
    """

    counts: PerArm
    middle: Shared


def new_pending(n_arms: int, middle: float) -> Pending:
    """Nothing is under way."""
    return Pending(counts=np.zeros(n_arms, np.int64), middle=np.array([middle, middle]))


def middle_of(problem: Problem) -> float:
    """The middle of the range of rewards; nan where they are unbounded."""
    return 0.5 * (problem.low + problem.high) if problem.bounded else math.nan


@kernel
def tries(count: float, pending: float, number: float) -> float:
    """How many rewards would give the bonus of an arm with `count` rewards and `pending` decisions under way.

    The two may be weights; `number` is how many decisions are under way.
    """
    if pending == 0.0:
        return count
    return (count + pending) * (1.0 + (min(pending / count, number) if count > 0.0 else number))


@kernel
def pend_arm(policy: Any, state: Any, decision: Decision) -> None:
    """A decision is under way: the `pend` of policies without a window."""
    state.pending.counts[decision.action] += 1
    if find_middle(state.pending, state.counts, state.sums):
        for arm in range(len(state.counts)):
            refresh(state, arm)
    refresh(state, decision.action)


@kernel
def settle_arm(policy: Any, state: Any, decision: Decision) -> None:
    """A decision is under way no longer: the `settle` of policies without a window."""
    state.pending.counts[decision.action] -= 1
    refresh(state, decision.action)


@kernel
def find_middle(pending: Pending, counts: Any, sums: Floats) -> bool:
    """Where the middle was not known, take the mean of all rewards, if there are any; whether it became known."""
    if not math.isnan(pending.middle[0]):
        return False
    count, total = 0.0, 0.0
    for arm in range(len(sums)):
        count += counts[arm]
        total += sums[arm]
    if count > 0.0:
        pending.middle[0] = total / count
    return count > 0.0
