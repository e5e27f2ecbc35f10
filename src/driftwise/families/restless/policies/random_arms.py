"""Any M of the arms, every set of them alike: the line every index must beat.

Known in advance: nothing. Regret: linear in T. Propensity: one over the number of sets.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import About, Derived, Ints, PerArm, Problem, Scratch
from driftwise.core.verbs import register
from driftwise.families.restless.random_subset import chance_of_set, count_activated, draw_arms, summarise_activated
from driftwise.families.restless.structure import restless_problem


class RandomArmsState(NamedTuple):
    """How often each arm was activated and its next state seen; the chance of each set."""

    counts: PerArm
    chance: Derived
    chosen: Scratch


class RandomArms(NamedTuple):
    """Activate arms at random.

    >>> RandomArms()
    RandomArms()
    """

    def init(self, problem: Problem) -> RandomArmsState:
        """Nothing learned."""
        n_arms, size, _ = restless_problem("random-arms", problem)
        return RandomArmsState(
            np.zeros(n_arms, np.int64), np.array([chance_of_set(n_arms, size)]), np.zeros(size, np.int64)
        )


@kernel
def _select(policy: RandomArms, state: RandomArmsState, t: int, context: Ints, rng: Any) -> tuple[Ints, float]:
    draw_arms(len(state.counts), state.chosen, rng)
    return state.chosen, state.chance[0]


register(
    RandomArms,
    about=About("nothing", "O(T)", "the baseline", drifts=False, family="restless", learns_rewards=False),
    select=_select,
    update=count_activated,
    summarise=summarise_activated,
)
