"""Sliding-window UCB for linear rewards: ridge regression on the last `window` rounds, and a bonus for what is unknown.

    theta = V^-1 b       V = lambda I + sum x x',  b = sum x Y      over the last w rounds
    index of x = <x, theta> + beta sqrt(x' V^-1 x)
    beta = scale (R sqrt(d ln((1 + w L^2 / lambda) / delta)) + sqrt(lambda) S u)

| symbol | field | |
|---|---|---|
| w | window | rounds remembered; `optimal`, `oblivious` or `theorem3`, see below |
| lambda | ridge | regularisation |
| S | norm | bound on the length of the parameter, in units u |
| L | reach | bound on the length of features |
| delta | confidence | chance that a bound fails; 0 takes 1 / horizon |
| R, u | | noise and unit of the rewards, from the problem, or learned |

Cheung, Simchi-Levi & Zhu, *Hedging the Drift: Learning to Optimize under Non-Stationarity*, Management Science 2022,
Algorithm 1. Windows: `theorem3` and, with the constants of equation (90), `optimal` and `oblivious`, as constructors or
by name: `window=optimal` and `window=theorem3` take the variation of the world in studies, or `(variation=43)`, in
units u. In (90) the last logarithm is printed with d lambda^2; minimising (60) gives d lambda, which is used.
Known in advance: a window fit for the drift; the range of rewards or their noise, S and L.
Regret: O(d^(2/3) B^(1/3) T^(2/3)) as printed, with the window for the variation B, up to logarithms. The proof rests on
Lemma 1, which is false unless all features lie along axes; for others what is proven is O(d^(7/8) B^(1/4) T^(3/4))
(Zhao, Zhang, Jiang & Zhou, *A simple approach for non-stationary linear bandits*, arXiv 2103.05324).
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
Decisions whose rewards are under way count as tries, see `families/contextual/pending_rows.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import Foresight, name_values, rounds_of, variation_of
from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Cache, Decision, Derived, Floats, Outcome, Problem
from driftwise.core.validation import number, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.families.contextual.feature_window import (
    FeatureWindow,
    empty,
    gain_pair,
    lose_pair,
    new_feature_window,
    pend_features,
    remember_features,
    settle_features,
    slide_features,
    turn_pass,
)
from driftwise.families.contextual.linear_optimism import doubt_after, failure_chance, most_promising_row, radius_for
from driftwise.families.contextual.pending_rows import PendingRows, await_pair, clear_rows, forgo_pair, new_pending_rows
from driftwise.families.contextual.summaries import summarise_rows
from driftwise.numerics.reward_scale import RewardScale, new_scale
from driftwise.numerics.ridge import Ridge, clear, new_ridge, solve


class SlidingLinUCBState(NamedTuple):
    """The window, the regression over it, the rows under way, and what the radius is made from: R and u, the root in
    beta, delta.
    """

    window: FeatureWindow
    ridge: Ridge
    pending: PendingRows
    scale: RewardScale
    doubt: Cache
    delta: Derived


class SlidingLinUCB(NamedTuple):
    """Linear estimate plus bonus over the last `window` rounds.

    Parameters
    ----------
    window : int, or a word
        Rounds remembered: short follows faster, long is steadier. `optimal`, `oblivious` or `theorem3` stand for the
        paper's windows, see above.
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

    >>> SlidingLinUCB.optimal(horizon=100_000, dim=2, variation=42.98, noise=0.1).window
    549
    >>> SlidingLinUCB.oblivious(horizon=100_000, dim=2, noise=0.1).window
    6731
    """

    window: int | str = 1000
    ridge: float = 1.0
    norm: float = 1.0
    reach: float = 1.0
    confidence: float = 0.0
    scale: float = 1.0

    @classmethod
    def theorem3(cls, horizon: int, dim: int, variation: float = 1.0) -> "SlidingLinUCB":
        """The window floor((d T)^(2/3) B^(-2/3)); B = 1 when nothing is known of the drift."""
        horizon, variation = whole("horizon", horizon), number("variation", variation, above=0.0, closed="[")
        if variation == 0.0:
            return cls(window=horizon)
        window = math.floor((whole("dim", dim) * horizon / variation) ** (2.0 / 3.0) + 1e-9)
        return cls(window=min(horizon, max(1, window)))

    @classmethod
    def optimal(
        cls,
        horizon: int,
        dim: int,
        variation: float,
        noise: float,
        ridge: float = 1.0,
        norm: float = 1.0,
        reach: float = 1.0,
    ) -> "SlidingLinUCB":
        """The window that makes the regret bound least, for a known variation: equation (90).

        `variation` and `noise` are in units of the largest reward, as `norm` is.
        """
        base = cls._wbar(horizon, dim, noise, ridge, norm, reach)
        variation = number("variation", variation, above=0.0, closed="[")
        window = math.ceil(base * variation ** (-2.0 / 3.0)) if variation else horizon
        return cls(window=min(whole("horizon", horizon), window), ridge=ridge, norm=norm, reach=reach)

    @classmethod
    def oblivious(
        cls, horizon: int, dim: int, noise: float, ridge: float = 1.0, norm: float = 1.0, reach: float = 1.0
    ) -> "SlidingLinUCB":
        """The window of equation (90) for somebody who knows nothing of the drift."""
        window = math.ceil(cls._wbar(horizon, dim, noise, ridge, norm, reach))
        return cls(window=min(whole("horizon", horizon), window), ridge=ridge, norm=norm, reach=reach)

    @staticmethod
    def _wbar(horizon: int, dim: int, noise: float, ridge: float, norm: float, reach: float) -> float:
        rounds, d = whole("horizon", horizon), whole("dim", dim)
        for name, value in (("noise", noise), ("ridge", ridge), ("norm", norm), ("reach", reach)):
            number(name, value, above=0.0)
        spread = noise * math.sqrt(d * math.log(rounds + rounds**2 * reach**2 / ridge)) + math.sqrt(ridge) * norm
        reached = math.log1p(rounds * reach**2 / (d * ridge))
        return math.cbrt(d * rounds**2 / (2.0 * reach**2) * spread**2 * reached)

    def init(self, problem: Problem) -> SlidingLinUCBState:
        """Nothing remembered."""
        dim = whole("dim", problem.dim)
        whole("n_arms", problem.n_arms)
        window = window_rounds(self.window, problem.horizon)
        delta = failure_chance(self, problem)
        return SlidingLinUCBState(
            window=new_feature_window(dim, window),
            ridge=new_ridge(dim, self.ridge),
            pending=new_pending_rows(dim),
            scale=new_scale(problem),
            doubt=np.array([doubt_after.function(self, delta, dim, window)]),
            delta=np.array([delta]),
        )


def _optimal(policy: SlidingLinUCB, foresight: Foresight, variation: float | None = None) -> int:
    problem, moved = foresight.problem, variation_of(foresight, variation)
    lengths = (policy.ridge, policy.norm, policy.reach)
    return int(SlidingLinUCB.optimal(rounds_of(problem), problem.dim, moved, _noise(problem), *lengths).window)


def _noise(problem: Problem) -> float:
    """R in units u, which equation (90) needs in advance."""
    return number("noise", problem.spread, above=0.0) / number("unit", problem.size, above=0.0)


def _oblivious(policy: SlidingLinUCB, foresight: Foresight) -> int:
    problem, lengths = foresight.problem, (policy.ridge, policy.norm, policy.reach)
    return int(SlidingLinUCB.oblivious(rounds_of(problem), problem.dim, _noise(problem), *lengths).window)


def _theorem3(policy: SlidingLinUCB, foresight: Foresight, variation: float | None = None) -> int:
    problem = foresight.problem
    return int(SlidingLinUCB.theorem3(rounds_of(problem), problem.dim, variation_of(foresight, variation)).window)


@kernel
def _select(policy: SlidingLinUCB, state: SlidingLinUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    solve(state.ridge)
    radius = radius_for(policy, state.scale, state.doubt[0])
    return most_promising_row(state.ridge, state.pending, context, radius), 1.0


@kernel
def _update(policy: SlidingLinUCB, state: SlidingLinUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    remember_features(state, decision.t, decision.context, outcome.reward, now)


@kernel
def _summarise(policy: SlidingLinUCB, state: SlidingLinUCBState, t: int, context: Floats, out: Summary) -> None:
    radius = radius_for(policy, state.scale, state.doubt[0])
    summarise_rows(out, state.ridge, state.pending, context, radius, True)


@kernel
def _restart(policy: SlidingLinUCB, state: SlidingLinUCBState, memory: int, window: int) -> None:
    empty(state.window, memory)
    clear(state.ridge)
    clear_rows(state.pending)
    state.doubt[0] = doubt_after(policy, state.delta[0], len(state.ridge.moment), window)


register(SlidingLinUCBState, gained=gain_pair, lost=lose_pair, awaited=await_pair, forgone=forgo_pair, turned=turn_pass)
name_values(SlidingLinUCB, window={"optimal": _optimal, "oblivious": _oblivious, "theorem3": _theorem3})
register(
    SlidingLinUCB,
    about=About(
        "a window fit for the drift; the reward range, or the noise; lengths",
        "O(d^(7/8) B^(1/4) T^(3/4)); the printed O(d^(2/3) B^(1/3) T^(2/3)) for features along axes only",
        "Cheung, Simchi-Levi & Zhu 2022; Zhao et al. 2021",
        family="contextual",
    ),
    advance=slide_features,
    select=_select,
    pend=pend_features,
    settle=settle_features,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
