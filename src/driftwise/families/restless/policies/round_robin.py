"""All arms in turn: in slot t the M arms from number t M on, counted around.

Known in advance: nothing. Regret: linear in T. When arms come or go, the turn goes on with those there are: nobody
waits longer than N / M slots, rounded up, from then on.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import About, Ints, PerArm, Problem, Scratch
from driftwise.core.verbs import register
from driftwise.families.restless.random_subset import count_activated, summarise_activated
from driftwise.families.restless.structure import restless_problem


class RoundRobinState(NamedTuple):
    """How often each arm was activated and its next state seen."""

    counts: PerArm
    chosen: Scratch


class RoundRobin(NamedTuple):
    """Activate all arms in turn.

    >>> RoundRobin()
    RoundRobin()
    """

    def init(self, problem: Problem) -> RoundRobinState:
        """Nothing learned."""
        n_arms, size, _ = restless_problem("round-robin", problem)
        return RoundRobinState(np.zeros(n_arms, np.int64), np.zeros(size, np.int64))


@kernel
def _select(policy: RoundRobin, state: RoundRobinState, t: int, context: Ints, rng: Any) -> tuple[Ints, float]:
    n_arms, size = len(state.counts), len(state.chosen)
    first = t * size % n_arms
    around = max(0, first + size - n_arms)  # so many come after the last arm: from number 0 on
    for place in range(size):
        state.chosen[place] = place if place < around else first + place - around
    return state.chosen, 1.0


register(
    RoundRobin,
    about=About("nothing", "O(T)", "the baseline", drifts=False, family="restless", learns_rewards=False),
    select=_select,
    update=count_activated,
    summarise=summarise_activated,
)
