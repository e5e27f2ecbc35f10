"""Sliding-window Gaussian Thompson sampling: beliefs from the last `window` rounds, for real-valued rewards.

    theta_k ~ N(centre_k, spread_k^2)        counts and sums over the last w rounds

| symbol | field | |
|---|---|---|
| tau, w | window | rounds remembered |
| sigma | noise | sd of a reward around its mean; 0 takes the problem's, or half the range |
| m_0, s_0 | prior_mean, prior_sd | the belief about an arm not in the window, as in `gaussian-thompson` |

The Gaussian sibling of Trovo et al., JAIR 2020.
Known in advance: the noise or the range of rewards, and a window fit for the drift.
Regret: as sliding-window Thompson sampling's, for sub-Gaussian rewards (Fiandri, Metelli & Trovo 2024).
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Outcome, Problem
from driftwise.core.validation import whole, window_rounds
from driftwise.core.verbs import register
from driftwise.families.multi_armed.gaussian_thompson import Beliefs, believe, race_normals, summarise_beliefs
from driftwise.families.multi_armed.policies.gaussian_thompson import beliefs_of
from driftwise.numerics.optimism import NEVER_LEFT
from driftwise.numerics.window import Window, empty, new_window, pend_round, remember, settle_round, slide


class SlidingGaussianThompsonState(NamedTuple):
    """The window, and what it makes believe."""

    window: Window
    beliefs: Beliefs


class SlidingGaussianThompson(NamedTuple):
    """Gaussian posterior sampling over the last `window` rounds.

    Parameters
    ----------
    window : int
        Rounds remembered: short follows faster, long is steadier.
    noise : float
        Standard deviation of a reward around its mean; 0 takes the problem's, or half the range.
    prior_mean, prior_sd : float
        What is believed of an arm not in the window, in the unit of rewards; prior_sd=0 takes it from the range, and
        where there is none every such arm is tried first.
    """

    window: int = 1000
    noise: float = 0.0
    prior_mean: float = 0.0
    prior_sd: float = 0.0

    def init(self, problem: Problem) -> SlidingGaussianThompsonState:
        """The prior for every arm."""
        n_arms = whole("n_arms", problem.n_arms)
        window = new_window(n_arms, window_rounds(self.window, problem.horizon))
        return SlidingGaussianThompsonState(window, beliefs_of(self, problem))


@kernel
def _refresh(state: SlidingGaussianThompsonState, arm: int) -> None:
    window = state.window
    believe(state.beliefs, arm, window.counts[arm], window.sums[arm], window.pending.counts[arm], window.left[arm])


@kernel
def _select(
    policy: SlidingGaussianThompson, state: SlidingGaussianThompsonState, t: int, context: Any, rng: Any
) -> tuple[int, float]:
    return race_normals(state.beliefs.centres, state.beliefs.spreads, rng), np.nan


@kernel
def _update(
    policy: SlidingGaussianThompson,
    state: SlidingGaussianThompsonState,
    decision: Decision,
    outcome: Outcome,
    now: int,
) -> None:
    remember(state, decision.t, decision.action, outcome.reward, now)


@kernel
def _summarise(
    policy: SlidingGaussianThompson, state: SlidingGaussianThompsonState, t: int, context: Any, out: Summary
) -> None:
    summarise_beliefs(out, state.beliefs, state.window.counts, state.window.pending.counts)


@kernel
def _restart(policy: SlidingGaussianThompson, state: SlidingGaussianThompsonState, memory: int, window: int) -> None:
    empty(state.window, memory)
    for arm in range(len(state.beliefs.centres)):
        believe(state.beliefs, arm, 0, 0.0, 0, NEVER_LEFT)


register(SlidingGaussianThompsonState, refresh=_refresh)
register(
    SlidingGaussianThompson,
    about=About(
        "a window fit for the drift; the noise, or the reward range",
        "O(sqrt(T log T)) for few abrupt changes",
        "after Trovo et al. 2020",
    ),
    advance=slide,
    select=_select,
    pend=pend_round,
    settle=settle_round,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
