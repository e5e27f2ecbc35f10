"""Epsilon-greedy on recent means: mostly the arm whose newest rewards were best, sometimes any.

    value_k <- value_k + step (reward - value_k)        the first reward is the first value

With probability epsilon any arm is drawn, each alike; else the arm with the largest value is played, the lowest of
equals. An arm without a reward has an infinite value: it is the greedy choice, lowest number first. Once its reward is
under way it comes after all arms with one, the arm with the fewest pending decisions first.

| symbol | field | |
|---|---|---|
| epsilon | epsilon | how often to explore |
| alpha | step | weight of the newest reward; 1 / step rewards of an arm are remembered |

Sutton & Barto, *Reinforcement learning: an introduction*, 2nd edition, 2018, sections 2.2 and 2.5.
Known in advance: a step and an epsilon fit for the drift.
Regret: linear in T, as exploration never ends; no bound proven with drift.
Propensity: exact, and at least epsilon / K for any arm.
Late rewards enter when they come: the newest told weighs most, whichever round it belongs to.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import integers, uniform
from driftwise.core.summary import Summary, clear_summary, readable_index
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.numerics.optimism import ABOVE

UNKNOWN = 0.5 * ABOVE  # in size, the value of an arm without a reward is above this


class EpsilonGreedyState(NamedTuple):
    """A running value per arm, and the decisions under way.

    Before the first reward the value is infinite, or below all others by the number of decisions under way.
    """

    values: PerArm
    pending: PerArm


class EpsilonGreedy(NamedTuple):
    """The best arm of late with probability 1 - epsilon, any arm with probability epsilon.

    Parameters
    ----------
    epsilon : float
        How often to explore.
    step : float
        Weight of an arm's newest reward: large follows faster, small is steadier.
    """

    epsilon: float = 0.1
    step: float = 0.1

    def init(self, problem: Problem) -> EpsilonGreedyState:
        """Every arm untried."""
        number("epsilon", self.epsilon, above=0.0, below=1.0, closed="[]")
        number("step", self.step, above=0.0, below=1.0, closed="]")
        n_arms = whole("n_arms", problem.n_arms)
        return EpsilonGreedyState(np.full(n_arms, np.inf), np.zeros(n_arms, np.int64))


@kernel
def _select(policy: EpsilonGreedy, state: EpsilonGreedyState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    n_arms = len(state.values)
    greedy = 0
    for k in range(1, n_arms):
        if state.values[k] > state.values[greedy]:
            greedy = k
    u, rng = uniform(rng)
    arm = greedy
    if u < policy.epsilon:
        arm, rng = integers(n_arms, rng)
    share = policy.epsilon / n_arms
    return arm, share + (1.0 - policy.epsilon if arm == greedy else 0.0)


@kernel
def _pend(policy: EpsilonGreedy, state: EpsilonGreedyState, decision: Decision) -> None:
    state.pending[decision.action] += 1
    _rank_unknown(state, decision.action)


@kernel
def _settle(policy: EpsilonGreedy, state: EpsilonGreedyState, decision: Decision) -> None:
    state.pending[decision.action] -= 1
    _rank_unknown(state, decision.action)


@kernel
def _rank_unknown(state: EpsilonGreedyState, arm: int) -> None:
    if abs(state.values[arm]) > UNKNOWN:
        state.values[arm] = -ABOVE * state.pending[arm] if state.pending[arm] > 0 else np.inf


@kernel
def _update(policy: EpsilonGreedy, state: EpsilonGreedyState, decision: Decision, outcome: Outcome, now: int) -> None:
    value = state.values[decision.action]
    if abs(value) > UNKNOWN:
        state.values[decision.action] = outcome.reward
    else:
        state.values[decision.action] = value + policy.step * (outcome.reward - value)


@kernel
def _summarise(policy: EpsilonGreedy, state: EpsilonGreedyState, t: int, context: Any, out: Summary) -> None:
    clear_summary(out)
    for arm in range(len(state.values)):
        out.index[arm], out.pending[arm] = readable_index(state.values[arm]), state.pending[arm]
        if abs(state.values[arm]) <= UNKNOWN:
            out.estimate[arm] = state.values[arm]


register(
    EpsilonGreedy,
    about=About("a step and an epsilon fit for the drift", "none proven", "Sutton & Barto 2018, 2.5"),
    select=_select,
    pend=_pend,
    settle=_settle,
    update=_update,
    summarise=_summarise,
)
