"""Discounted Thompson sampling for linear rewards: draw a parameter from a memory that fades by gamma every round.

    theta ~ N(V^-1 b, (scale R)^2 V^-1 V~ V^-1)       play the row with the largest <x, theta>
    V = lambda I + sum gamma^(t-s) x_s x_s'           b = sum gamma^(t-s) x_s Y_s
    V~ = lambda I + sum gamma^(2(t-s)) x_s x_s'

after t rounds s = 1 .. t; the newest pair weighs one. V^-1 V~ V^-1 is how the weighted estimate really spreads; V^-1,
which a belief with V for its precision would have, is about twice as much: its old pairs, known to weigh little, would
have to be little known too.

| symbol | field | |
|---|---|---|
| gamma | gamma | what is left of a weight after one round; 1 / (1 - gamma) rounds are remembered |
| lambda | ridge | regularisation; it does not fade |
| a / R | scale | width of the draw, in units of the noise |
| R | | noise of the rewards, from the problem, or learned |

Kim & Tewari, *Randomized exploration for non-stationary stochastic linear bandits*, UAI 2020 (D-LinTS).
Known in advance: the noise or the range of rewards, and a discount fit for the drift (`for_variation`: horizon,
dimension and variation).
Regret: none proven for a draw of the noise's width; with that of the paper's theorem it is discounted UCB's, but for a
logarithm of the number of rows.
Late rewards enter by their decision's round: they weigh as if they had come in time. One told twice counts twice.
Decisions whose rewards are under way count as tries and fade alike, see `families/contextual/pending_rows.py`.
The ridge does not fade, so V is inverted afresh at every decision: O(d^3) a round, and O(d) a row.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Floats, Outcome, Problem, Scratch
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.contextual.fading_ridge import (
    FadingRidge,
    absorb_faded,
    draw_faded,
    fade_pairs,
    new_fading_ridge,
    pend_faded,
    settle,
    settle_faded,
)
from driftwise.families.contextual.linear_draw import favourite_row
from driftwise.families.contextual.pending_rows import PendingRows, new_pending_rows
from driftwise.families.contextual.policies.discounted_lin_ucb import gamma_for
from driftwise.families.contextual.summaries import summarise_faded_rows
from driftwise.numerics.beta_quantile import NORMAL_95
from driftwise.numerics.reward_scale import RewardScale, measure, new_scale


class DiscountedLinThompsonState(NamedTuple):
    """The regression that fades, the rows under way, the noise, and room for a draw."""

    ridge: FadingRidge
    pending: PendingRows
    scale: RewardScale
    draw: Scratch


class DiscountedLinThompson(NamedTuple):
    """Gaussian sampling of a linear parameter over a memory that fades.

    Parameters
    ----------
    gamma : float
        What is left of a weight after one round: small follows faster, close to one is steadier.
    ridge : float
        Regularisation lambda.
    scale : float
        Factor on the width of the draw; 1 is that of the estimate.

    >>> DiscountedLinThompson.for_variation(horizon=100_000, dim=5, variation=4.0)
    DiscountedLinThompson(gamma=0.9996, ridge=1.0, scale=1.0)
    """

    gamma: float = 0.999
    ridge: float = 1.0
    scale: float = 1.0

    @classmethod
    def for_variation(cls, horizon: int, dim: int, variation: float) -> "DiscountedLinThompson":
        """The discount 1 - (B / (d T))^(2/3), for a known horizon and variation; without any nothing is forgotten."""
        return cls(gamma=gamma_for(horizon, dim, variation))

    def init(self, problem: Problem) -> DiscountedLinThompsonState:
        """Nothing seen."""
        dim = whole("dim", problem.dim)
        whole("n_arms", problem.n_arms)
        number("gamma", self.gamma, above=0.0, below=1.0, closed="]")
        number("ridge", self.ridge, above=0.0)
        number("scale", self.scale, above=0.0)
        return DiscountedLinThompsonState(
            new_fading_ridge(dim), new_pending_rows(dim), new_scale(problem), np.zeros(dim)
        )


@kernel
def _advance(policy: DiscountedLinThompson, state: DiscountedLinThompsonState, t: int, rng: Any) -> None:
    fade_pairs(state.ridge, state.pending, policy.gamma, t)


@kernel
def _select(
    policy: DiscountedLinThompson, state: DiscountedLinThompsonState, t: int, context: Any, rng: Any
) -> tuple[int, float]:
    settle(state.ridge, state.pending, policy.ridge)
    draw_faded(state.ridge, policy.scale * state.scale.noise[0], state.draw, rng)
    return favourite_row(context, state.draw), np.nan


@kernel
def _update(
    policy: DiscountedLinThompson,
    state: DiscountedLinThompsonState,
    decision: Decision,
    outcome: Outcome,
    now: int,
) -> None:
    measure(state.scale, outcome.reward)
    fade_pairs(state.ridge, state.pending, policy.gamma, now + 1)
    absorb_faded(state.ridge, policy.gamma, decision.t, decision.context, outcome.reward)


@kernel
def _summarise(
    policy: DiscountedLinThompson, state: DiscountedLinThompsonState, t: int, context: Floats, out: Summary
) -> None:
    reach = NORMAL_95 * policy.scale * state.scale.noise[0]
    summarise_faded_rows(out, state.ridge, state.pending, policy.ridge, context, reach, False)


register(
    DiscountedLinThompson,
    about=About(
        "a discount fit for the drift; the reward range, or the noise",
        "none proven at this width",
        "Kim & Tewari 2020",
        family="contextual",
    ),
    advance=_advance,
    select=_select,
    pend=pend_faded,
    settle=settle_faded,
    update=_update,
    summarise=_summarise,
)
