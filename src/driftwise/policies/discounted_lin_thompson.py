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
The ridge does not fade, so V is inverted afresh at every decision: O(d^3) a round, and O(d) a row.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.rules import number, whole
from driftwise.core.types import About, Decision, Outcome, Problem, Scratch
from driftwise.core.verbs import register
from driftwise.kernels.fading_ridge import FadingRidge, absorb_faded, draw_faded, fade_pairs, new_fading_ridge, settle
from driftwise.kernels.linear_draw import favourite_row
from driftwise.kernels.reward_scale import RewardScale, measure, new_scale
from driftwise.policies.discounted_lin_ucb import gamma_for


class DiscountedLinThompsonState(NamedTuple):
    """The regression that fades, the noise, and room for a draw."""

    ridge: FadingRidge
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
        return DiscountedLinThompsonState(new_fading_ridge(dim), new_scale(problem), np.zeros(dim))


@kernel
def _advance(policy: DiscountedLinThompson, state: DiscountedLinThompsonState, t: int, rng: Any) -> None:
    fade_pairs(state.ridge, policy.gamma, t)


@kernel
def _select(
    policy: DiscountedLinThompson, state: DiscountedLinThompsonState, t: int, context: Any, rng: Any
) -> tuple[int, float]:
    settle(state.ridge, policy.ridge)
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
    fade_pairs(state.ridge, policy.gamma, now + 1)
    absorb_faded(state.ridge, policy.gamma, decision.t, decision.context, outcome.reward)


register(
    DiscountedLinThompson,
    about=About(
        "a discount fit for the drift; the reward range, or the noise",
        "none proven at this width",
        "Kim & Tewari 2020",
        family="features",
    ),
    advance=_advance,
    select=_select,
    update=_update,
)
