"""Any arm, with equal chance: the line every policy must beat.

Known in advance: nothing. Regret: linear in T. Propensity: 1/K, exactly.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import integers
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem
from driftwise.core.validation import whole
from driftwise.core.verbs import register


class UniformState(NamedTuple):
    """How often each arm was answered."""

    counts: PerArm


class Uniform(NamedTuple):
    """Choose uniformly at random.

    >>> Uniform()
    Uniform()
    """

    def init(self, problem: Problem) -> UniformState:
        """Nothing learned."""
        return UniformState(np.zeros(whole("n_arms", problem.n_arms), np.int64))


@kernel
def _select(policy: Uniform, state: UniformState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    n_arms = len(state.counts)
    arm, rng = integers(n_arms, rng)
    return arm, 1.0 / n_arms


@kernel
def _update(policy: Uniform, state: UniformState, decision: Decision, outcome: Outcome, now: int) -> None:
    state.counts[decision.action] += 1


@kernel
def _summarise(policy: Uniform, state: UniformState, t: int, context: Any, out: Summary) -> None:
    """Rewards are counted, not kept; the index is the chance of an arm."""
    clear_summary(out)
    for arm in range(len(state.counts)):
        out.index[arm], out.count[arm] = 1.0 / len(state.counts), state.counts[arm]


register(
    Uniform,
    about=About(needs="nothing", bound="O(T)", paper="the baseline", drifts=False),
    select=_select,
    update=_update,
    summarise=_summarise,
)
