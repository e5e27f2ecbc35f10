"""Thompson sampling for real-valued rewards: Gaussian beliefs about every mean, known noise.

    theta_k ~ N(centre_k, spread_k^2)        see `families/multi_armed/gaussian_thompson.py` for the two

| symbol | field | |
|---|---|---|
| sigma | noise | sd of a reward around its mean; 0 takes the problem's, or half the range |
| m_0, s_0 | prior_mean, prior_sd | the belief before any reward; where s_0 = 0, the middle of the range and its width |

Where rewards have a unit and no range, means are taken to lie between 0 and the unit. Without unit, range and prior
nothing is believed beforehand: every arm is tried once, lowest number first.

Agrawal & Goyal, *Further optimal regret bounds for Thompson sampling*, AISTATS 2013.
Known in advance: the noise or the range of rewards. Regret: O(sqrt(K T log K)) without drift; linear in T with it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.families.multi_armed.gaussian_thompson import (
    Beliefs,
    believe,
    new_beliefs,
    race_normals,
    summarise_beliefs,
)
from driftwise.numerics.optimism import NEVER_LEFT
from driftwise.numerics.pending import Pending, middle_of, new_pending, pend_arm, settle_arm


class GaussianThompsonState(NamedTuple):
    """Counts and sums over all history, and what they make believe."""

    counts: PerArm
    sums: PerArm
    pending: Pending
    beliefs: Beliefs


class GaussianThompson(NamedTuple):
    """Gaussian posterior sampling over all history.

    Parameters
    ----------
    noise : float
        Standard deviation of a reward around its mean; 0 takes the problem's, or half the range.
    prior_mean, prior_sd : float
        What is believed of an arm never tried, in the unit of rewards; prior_sd=0 takes it from the range, and where
        there is none every arm is tried first.
    """

    noise: float = 0.0
    prior_mean: float = 0.0
    prior_sd: float = 0.0

    def init(self, problem: Problem) -> GaussianThompsonState:
        """The prior for every arm."""
        n_arms = whole("n_arms", problem.n_arms)
        counts, pending = np.zeros(n_arms, np.int64), new_pending(n_arms, middle_of(problem))
        return GaussianThompsonState(counts, np.zeros(n_arms), pending, beliefs_of(self, problem))


def beliefs_of(policy: Any, problem: Problem) -> Beliefs:
    """The prior of a policy with the fields `noise`, `prior_mean` and `prior_sd`."""
    noise = number("noise", policy.noise, above=0.0, closed="[")
    mean, sd = number("prior_mean", policy.prior_mean), number("prior_sd", policy.prior_sd, above=0.0, closed="[")
    if mean and not sd:
        raise ParameterError(f"prior_mean={mean:g} needs a prior_sd: how far from it means may lie")
    if not sd:
        low, width = (problem.low, problem.span) if problem.bounded else (0.0, problem.unit)
        mean, sd = (low + 0.5 * width, width) if width else (0.0, math.inf)
    return new_beliefs(problem.n_arms, mean=mean, sd=sd, noise=noise or problem.spread or 0.5 * problem.span)


@kernel
def _refresh(state: GaussianThompsonState, arm: int) -> None:
    believe(state.beliefs, arm, state.counts[arm], state.sums[arm], state.pending.counts[arm], NEVER_LEFT)


@kernel
def _select(
    policy: GaussianThompson, state: GaussianThompsonState, t: int, context: Any, rng: Any
) -> tuple[int, float]:
    return race_normals(state.beliefs.centres, state.beliefs.spreads, rng), np.nan


@kernel
def _update(
    policy: GaussianThompson, state: GaussianThompsonState, decision: Decision, outcome: Outcome, now: int
) -> None:
    arm = decision.action
    state.counts[arm] += 1
    state.sums[arm] += outcome.reward
    _refresh(state, arm)


@kernel
def _summarise(policy: GaussianThompson, state: GaussianThompsonState, t: int, context: Any, out: Summary) -> None:
    summarise_beliefs(out, state.beliefs, state.counts, state.pending.counts)


register(GaussianThompsonState, refresh=_refresh)
register(
    GaussianThompson,
    about=About(
        "the noise, or the reward range", "O(sqrt(K T log K)) without drift", "Agrawal & Goyal 2013", drifts=False
    ),
    select=_select,
    pend=pend_arm,
    settle=settle_arm,
    update=_update,
    summarise=_summarise,
)
