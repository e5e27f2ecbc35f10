"""Discounted UCB for linear rewards: ridge regression whose memory fades by gamma every round, and a bonus.

    V_t = lambda I + sum gamma^(t-s) x_s x_s'        theta = V_t^-1 sum gamma^(t-s) x_s Y_s
    V~_t = lambda I + sum gamma^(2(t-s)) x_s x_s'
    index of x = <x, theta> + beta_t sqrt(x' V_t^-1 V~_t V_t^-1 x)
    beta_t = scale (sqrt(lambda) S u + R sqrt(2 ln(1/delta) + d ln(1 + L^2 n / (lambda d)))),
    n = (1 - gamma^(2t)) / (1 - gamma^2)

after t rounds s = 1 .. t; the newest pair weighs one.

| symbol | field | |
|---|---|---|
| gamma | gamma | what is left of a weight after one round; 1 / (1 - gamma) rounds are remembered |
| lambda | ridge | regularisation; it does not fade |
| S | norm | bound on the length of the parameter, in units u |
| L | reach | bound on the length of features |
| delta | confidence | chance that a bound fails; 0 takes 1 / horizon |
| R, u | | noise and unit of the rewards, from the problem, or learned |

Russac, Vernade & Cappe, *Weighted linear bandits for non-stationary environments*, NeurIPS 2019 (D-LinUCB).
Known in advance: a discount fit for the drift (`for_variation`: horizon, dimension and variation); the range of rewards
or their noise, S and L. By name: `gamma=for_variation` takes the variation of the world in studies,
`gamma=for_variation(variation=43)` a number.
Regret: O(d^(2/3) B^(1/3) T^(2/3)) as printed, with the discount of `for_variation`; its proof holds for features along
the axes, and for others what is proven is O(d^(7/8) B^(1/4) T^(3/4)) (Faury, Russac, Abeille & Calauzenes 2021).
Late rewards enter by their decision's round: they weigh as if they had come in time. One told twice counts twice.
Decisions whose rewards are under way count as tries and fade alike, see `families/contextual/pending_rows.py`.
The ridge does not fade, so V is inverted afresh at every decision: O(d^3) a round, and O(d^2) a row.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import Foresight, name_values, rounds_of, variation_of
from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Derived, Floats, Outcome, Problem
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.contextual.fading_ridge import (
    FadingRidge,
    absorb_faded,
    fade_pairs,
    faded_width,
    new_fading_ridge,
    pend_faded,
    settle,
    settle_faded,
)
from driftwise.families.contextual.linear_optimism import failure_chance
from driftwise.families.contextual.pending_rows import PendingRows, new_pending_rows
from driftwise.families.contextual.summaries import summarise_faded_rows
from driftwise.numerics.reward_scale import RewardScale, measure, new_scale
from driftwise.numerics.ridge import dot


class DiscountedLinUCBState(NamedTuple):
    """The regression that fades, the rows under way, and what the radius is made from: R and u, and delta."""

    ridge: FadingRidge
    pending: PendingRows
    scale: RewardScale
    delta: Derived


class DiscountedLinUCB(NamedTuple):
    """Linear estimate plus bonus over a memory that fades.

    Parameters
    ----------
    gamma : float
        What is left of a weight after one round: small follows faster, close to one is steadier.
    ridge : float
        Regularisation lambda.
    norm : float
        Bound on the length of the parameter, in units of the largest reward.
    reach : float
        Bound on the length of features.
    confidence : float
        Chance that a bound fails; 0 takes 1 / horizon, or 0.01 where no horizon is known.
    scale : float
        Factor on the bonus; 1 is the theorem's.

    >>> DiscountedLinUCB.for_variation(horizon=100_000, dim=5, variation=4.0).gamma
    0.9996
    """

    gamma: float | str = 0.999
    ridge: float = 1.0
    norm: float = 1.0
    reach: float = 1.0
    confidence: float = 0.0
    scale: float = 1.0

    @classmethod
    def for_variation(cls, horizon: int, dim: int, variation: float) -> "DiscountedLinUCB":
        """The discount 1 - (B / (d T))^(2/3), for a known horizon and variation; without any nothing is forgotten.

        The variation is in units of the largest reward.
        """
        return cls(gamma=gamma_for(horizon, dim, variation))

    def init(self, problem: Problem) -> DiscountedLinUCBState:
        """Nothing seen."""
        dim = whole("dim", problem.dim)
        whole("n_arms", problem.n_arms)
        number("gamma", self.gamma, above=0.0, below=1.0, closed="]")
        delta = failure_chance(self, problem)
        return DiscountedLinUCBState(
            new_fading_ridge(dim), new_pending_rows(dim), new_scale(problem), np.array([delta])
        )


def _for_variation(policy: DiscountedLinUCB, foresight: Foresight, variation: float | None = None) -> float:
    problem = foresight.problem
    return gamma_for(rounds_of(problem), problem.dim, variation_of(foresight, variation))


def gamma_for(horizon: int, dim: int, variation: float) -> float:
    """1 - (B / (d T))^(2/3)."""
    most = whole("dim", dim) * whole("horizon", horizon)
    return float(1.0 - (number("variation", variation, above=0.0, below=most, closed="[") / most) ** (2.0 / 3.0))


@kernel
def _radius(policy: DiscountedLinUCB, scale: RewardScale, delta: float, dim: int, t: int) -> float:
    square = float(policy.gamma) * float(policy.gamma)
    rounds = t if square == 1.0 else (1.0 - square**t) / (1.0 - square)
    volume = math.log1p(policy.reach * policy.reach * rounds / (policy.ridge * dim))
    spread = scale.noise[0] * math.sqrt(2.0 * math.log(1.0 / delta) + dim * volume)
    return float(policy.scale * (math.sqrt(policy.ridge) * policy.norm * scale.unit[0] + spread))


@kernel
def _advance(policy: DiscountedLinUCB, state: DiscountedLinUCBState, t: int, rng: Any) -> None:
    fade_pairs(state.ridge, state.pending, float(policy.gamma), t)


@kernel
def _select(
    policy: DiscountedLinUCB, state: DiscountedLinUCBState, t: int, context: Any, rng: Any
) -> tuple[int, float]:
    ridge = state.ridge
    settle(ridge, state.pending, policy.ridge)
    radius = _radius(policy, state.scale, state.delta[0], len(ridge.moment), t)
    best, top = 0, -np.inf
    for row in range(len(context)):
        index = dot(context[row], ridge.theta) + radius * faded_width(ridge, context[row])
        if index > top:
            best, top = row, index
    return best, 1.0


@kernel
def _update(
    policy: DiscountedLinUCB, state: DiscountedLinUCBState, decision: Decision, outcome: Outcome, now: int
) -> None:
    measure(state.scale, outcome.reward)
    fade_pairs(state.ridge, state.pending, float(policy.gamma), now + 1)
    absorb_faded(state.ridge, float(policy.gamma), decision.t, decision.context, outcome.reward)


@kernel
def _summarise(policy: DiscountedLinUCB, state: DiscountedLinUCBState, t: int, context: Floats, out: Summary) -> None:
    radius = _radius(policy, state.scale, state.delta[0], len(state.ridge.moment), t)
    summarise_faded_rows(out, state.ridge, state.pending, policy.ridge, context, radius, True)


name_values(DiscountedLinUCB, gamma={"for_variation": _for_variation})
register(
    DiscountedLinUCB,
    about=About(
        "a discount fit for the drift; the reward range, or the noise; lengths",
        "O(d^(7/8) B^(1/4) T^(3/4))",
        "Russac, Vernade & Cappe 2019",
        family="contextual",
    ),
    advance=_advance,
    select=_select,
    pend=pend_faded,
    settle=settle_faded,
    update=_update,
    summarise=_summarise,
)
