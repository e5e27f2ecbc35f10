"""Sliding-window GP-UCB: a smooth unknown function of the features, learned from the last `window` rounds.

    index of x = mean(x) + beta spread(x)      posterior of a Gaussian process, k(x, z) = v exp(-|x - z|^2 / (2 l^2))
    beta = scale (B + R / sqrt(rho) sqrt(2 (gamma + 1 + ln(1 / delta))))      all in units u of the rewards
    gamma = 1/2 ln det(I + K / rho)            K the covariance matrix of the pairs in the window

| symbol | field | |
|---|---|---|
| w | window | rounds remembered |
| l, v | length, variance | distance over which the function changes; prior variance of its values |
| B | norm | bound on the function's norm in the Hilbert space of the covariance |
| rho | ridge | what is added to the diagonal of K; 0 takes R^2, which gives mean and spread by Bayes' rule |
| delta | confidence | chance that a bound fails; 0 takes 1 / horizon |
| R, u | | noise and unit of the rewards, from the problem, or learned |

Srinivas, Krause, Kakade & Seeger, *Gaussian process optimization in the bandit setting*, ICML 2010, with the window of
Cheung, Simchi-Levi & Zhu, *Hedging the Drift: Learning to Optimize under Non-Stationarity*, Management Science 2022,
section 8; it is the SW-GP-UCB of Zhou & Shroff, *No-regret algorithms for time-varying Bayesian optimization*, 2021.
The radius is that of Chowdhury & Gopalan (ICML 2017), who take rho = 1: R stands before their root. Another rho is a
change of units (rewards divided by sqrt(rho), covariance by rho), which leaves R / sqrt(rho) there: 1 for rho = R^2.
gamma is the information that the window really holds, not a bound on it; no window is in the radius.
v and rho are in units u^2, B and R in units u. With rho = R^2 the noise must be declared: the factor is made for it.
Known in advance: a window fit for the drift; the covariance; the range of rewards or their noise, and B. The prior mean
is 0: centre rewards near it.
Regret: by the paper's steps O(gamma^(2/3) V^(1/3) T^(2/3)), up to logarithms, with the window of `for_variation`: that
of the linear policy, where the most information T rounds can gain stands for the dimension. V is the variation in the
norm of the covariance's space.
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
While they are under way the spread is that of a window that has their rows, too; the mean and gamma are not changed.

O(w^2) a round, and O(w^2) for each candidate (`families/contextual/gp.py`) and each different row under way
(`families/contextual/gp_pending.py`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, Outcome, Problem
from driftwise.core.validation import number, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.families.contextual.feature_window import (
    FeatureWindow,
    empty,
    new_feature_window,
    remember_features,
    slide_features,
)
from driftwise.families.contextual.gp import (
    COLUMNS,
    Process,
    audit,
    exclude,
    forget_all,
    include,
    information_gain,
    most_gain,
    new_process,
    predict,
    rebuild,
    solve,
)
from driftwise.families.contextual.gp_pending import PendingPoints, narrow, new_pending_points, prepare
from driftwise.families.contextual.linear_optimism import UNKNOWN_HORIZON
from driftwise.families.contextual.pending_ring import (
    PendingRing,
    clear_ring,
    new_pending_ring,
    pend_in_ring,
    settle_in_ring,
)
from driftwise.families.contextual.summaries import put_row, rewards_worth
from driftwise.numerics.reward_scale import RewardScale, new_scale

LONGEST = 5000  # rounds in a window: the factor then takes 400 MB


class SlidingGPUCBState(NamedTuple):
    """The window, the regression over it, and what the radius is made from: R and u, and delta."""

    window: FeatureWindow
    process: Process
    pending: PendingRing
    points: PendingPoints
    scale: RewardScale
    delta: Derived


class SlidingGPUCB(NamedTuple):
    """Posterior mean plus bonus of a Gaussian process over the last `window` rounds.

    Parameters
    ----------
    window : int
        Rounds remembered: short follows faster, long is steadier. The cost of a round grows with its square.
    length, variance : float
        The covariance: over which distance the function changes, and how far its values spread, in units of the largest
        reward, squared.
    norm : float
        Bound on the function's norm in the Hilbert space of the covariance, in units of the largest reward.
    ridge : float
        Added to the diagonal of the covariances: 1 is the theorem's, 0 takes the square of the noise, in units of the
        largest reward.
    confidence : float
        Chance that a bound fails; 0 takes 1 / horizon, or 0.01 where no horizon is known.
    scale : float
        Factor on the bonus; 1 is the theorem's.

    >>> SlidingGPUCB.for_variation(horizon=10_000, gain=20.0, variation=30.0).window
    354
    """

    window: int = 200
    length: float = 0.2
    variance: float = 1.0
    norm: float = 1.0
    ridge: float = 1.0
    confidence: float = 0.0
    scale: float = 1.0

    @classmethod
    def for_variation(cls, horizon: int, gain: float, variation: float = 1.0) -> "SlidingGPUCB":
        """The window floor((gamma T / V)^(2/3)) for a bound on the information gain; V = 1 when nothing is known."""
        horizon, gain = whole("horizon", horizon), number("gain", gain, above=0.0)
        variation = number("variation", variation, above=0.0, closed="[")
        if variation == 0.0:
            return cls(window=horizon)
        window = math.floor((gain * horizon / variation) ** (2.0 / 3.0) + 1e-9)
        return cls(window=min(horizon, max(1, window)))

    @classmethod
    def for_points(
        cls,
        points: Floats,
        horizon: int,
        noise: float,
        variation: float = 1.0,
        length: float = 0.2,
        variance: float = 1.0,
        ridge: float = 1.0,
    ) -> "SlidingGPUCB":
        """The same, with the most information that can be gained from `points`, a row each.

        `noise` and `variation` are in units of the largest reward.
        """
        rows = np.asarray(points, float)
        if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
            raise ParameterError(f"points of shape {rows.shape} are not a matrix of finite numbers, a row per point")
        for name, value in (("noise", noise), ("length", length), ("variance", variance)):
            number(name, value, above=0.0)
        rho = number("ridge", ridge, above=0.0, closed="[") or noise * noise
        gain = most_gain(rows, whole("horizon", horizon), length=length, variance=variance, ridge=rho)
        return cls.for_variation(horizon, gain, variation)._replace(length=length, variance=variance, ridge=ridge)

    def init(self, problem: Problem) -> SlidingGPUCBState:
        """Nothing remembered."""
        dim = whole("dim", problem.dim)
        whole("n_arms", problem.n_arms)
        window = window_rounds(self.window, problem.horizon)
        if window > LONGEST:
            raise ParameterError(
                f"window={window} is more than {LONGEST}, and its factor has two numbers for every pair of rounds: "
                f"take a shorter window, or inside Bandit-over-Bandit a shorter block"
            )
        for name in ("length", "variance", "norm", "scale"):
            number(name, getattr(self, name), above=0.0)
        number("ridge", self.ridge, above=0.0, closed="[")
        number("confidence", self.confidence, above=0.0, below=1.0, closed="[")
        scale = new_scale(problem)
        if scale.learned.any() and not self.ridge:
            raise ParameterError("ridge=0 takes the square of the noise, which is not known: give a range, or a ridge")
        noise = scale.noise[0] / scale.unit[0]
        return SlidingGPUCBState(
            window=new_feature_window(dim, window),
            process=new_process(window, self.length, self.variance, self.ridge or noise * noise),
            pending=new_pending_ring(dim, window),
            points=new_pending_points(window),
            scale=scale,
            delta=np.array([self.confidence or (1.0 / problem.horizon if problem.horizon else UNKNOWN_HORIZON)]),
        )


@kernel
def _radius(policy: SlidingGPUCB, state: SlidingGPUCBState) -> float:
    information = information_gain(state.process) + 1.0 - math.log(state.delta[0])
    spread = state.scale.noise[0] / state.scale.unit[0] / math.sqrt(state.process.ridge[0])
    return float(policy.scale * (policy.norm + spread * math.sqrt(2.0 * information)))


@kernel
def _advance(policy: SlidingGPUCB, state: SlidingGPUCBState, t: int, rng: Any) -> None:
    slide_features(policy, state, t, rng)
    rebuild(state.process, state.window.features, state.window.filled, state.window.size[0])


@kernel
def _select(policy: SlidingGPUCB, state: SlidingGPUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    solve(state.process, state.window.rewards)
    radius, best, top = state.scale.unit[0] * _radius(policy, state), 0, -np.inf
    n_points = 0
    if state.pending.waiting[0] > 0:
        n_points = prepare(state.points, state.pending, state.process, state.window)
    for start in range(0, len(context), COLUMNS):
        stop = min(len(context), start + COLUMNS)
        predict(state.process, state.window.features, context, start, stop)
        if n_points > 0:
            narrow(state.points, state.pending, state.process, n_points, context, start)
        for a in range(stop - start):
            index = state.process.means[a] + radius * math.sqrt(max(0.0, state.process.squares[a]))
            if index > top:
                best, top = start + a, index
    return best, 1.0


@kernel
def _update(policy: SlidingGPUCB, state: SlidingGPUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    remember_features(state, decision.t, decision.context, outcome.reward, now)


@kernel
def _summarise(policy: SlidingGPUCB, state: SlidingGPUCBState, t: int, context: Floats, out: Summary) -> None:
    clear_summary(out)
    process, variance, n_points = state.process, state.process.variance[0], 0
    solve(process, state.window.rewards)
    radius, rho = state.scale.unit[0] * _radius(policy, state), process.ridge[0]
    if state.pending.waiting[0] > 0:
        n_points = prepare(state.points, state.pending, process, state.window)
    for start in range(0, len(context), COLUMNS):
        stop = min(len(context), start + COLUMNS)
        predict(process, state.window.features, context, start, stop)
        for a in range(stop - start):
            out.count[start + a] = rewards_worth(process.squares[a] / rho, variance / rho)
        if n_points > 0:
            narrow(state.points, state.pending, process, n_points, context, start)
        for a in range(stop - start):
            reach = radius * math.sqrt(max(0.0, process.squares[a]))
            put_row(out, start + a, process.means[a], reach, True)


@kernel
def _gained(state: SlidingGPUCBState, slot: int) -> None:
    include(state.process, state.window.features, slot)
    audit(state.process, state.window.clock[0])


@kernel
def _lost(state: SlidingGPUCBState, slot: int) -> None:
    exclude(state.process, slot)


@kernel
def _turned(state: SlidingGPUCBState) -> None:
    """Nothing is summed here that would keep the rounding of pairs long gone."""


@kernel
def _restart(policy: SlidingGPUCB, state: SlidingGPUCBState, memory: int, window: int) -> None:
    empty(state.window, memory)  # the radius follows from what is remembered: no window is in it
    forget_all(state.process)
    clear_ring(state.pending)


register(SlidingGPUCBState, gained=_gained, lost=_lost, turned=_turned)
register(
    SlidingGPUCB,
    about=About(
        "a window fit for the drift; the covariance; the reward range, or the noise; the norm",
        "O(gamma^(2/3) V^(1/3) T^(2/3)) by the paper's steps",
        "Srinivas et al. 2010; Cheung, Simchi-Levi & Zhu 2022",
        family="contextual",
    ),
    advance=_advance,
    select=_select,
    pend=pend_in_ring,
    settle=settle_in_ring,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
