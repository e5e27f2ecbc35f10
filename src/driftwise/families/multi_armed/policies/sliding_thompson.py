"""Sliding-window Thompson sampling: Beta posteriors from the last `window` rounds only.

    theta_k ~ Beta(S_k + a, T_k - S_k + b)        successes and trials over the last w rounds

| symbol | field | |
|---|---|---|
| tau, w | window | rounds remembered |
| pi_0 = Beta(a, b) | prior_a, prior_b | what is believed of an arm without rewards in the window; uniform: a = b = 1 |
| S_k | window.sums | successes of arm k in the window |
| T_k | window.counts | trials of arm k in the window |

Trovo, Paladino, Restelli & Gatti, *Sliding-Window Thompson Sampling for Non-Stationary Settings*, JAIR 68, 2020,
algorithm 1. Windows by name, here and on the command line (`sliding-thompson:window=corollary1(alpha=0.5)`):

    corollary1(alpha=0)       N^((1 - alpha)/2)           of order N^alpha breakpoints in N rounds
    corollary2(rate)          sqrt(ln(1/rate) / rate)     `rate` breakpoints a round
    corollary3(beta=1/2)      N^(1 - beta)                of order N^beta rounds in which two arms are close; also 4
    corollary5(sigma)         sigma^(-3/4)                means move at most sigma a round
    corollary6(alpha=0)       N^((1 - alpha)/2)           both kinds of drift; also 7
    corollary8(rate)          rate^(-1/4)                 both kinds of drift, at a constant rate
    abrupt(scale=4)           scale sqrt(N ln N)          the paper's experiments with abrupt changes
    smooth(sigma)             sigma^(-4/5)                the paper's experiments with smooth changes

The corollaries give orders: their constants are taken as 1. In the paper's own worlds the best window is about
N^0.7, longer than corollary1's (section 6; `driftwise reproduce sliding-window-thompson`).
Known in advance: the reward range, and a window fit for the drift.
Regret: O(N^((1 + alpha)/2)) up to logarithms for N^alpha abrupt changes with the window of corollary 1.
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
Deviation: algorithm 1 takes a prior for each arm, here one for all; neither a nor b may be below 1.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import Foresight, name_values
from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.families.multi_armed.beta_thompson import log_height_with_prior, race, summarise_beta, trial
from driftwise.numerics.window import Window, empty, new_window, remember, slide


class SlidingThompsonState(NamedTuple):
    """The window and each posterior's constant; `range` holds the lowest reward and the span.

    `prior` is what the prior adds to successes and failures: a - 1 and b - 1.
    """

    window: Window
    heights: PerArm
    range: Shared
    prior: Shared


class SlidingThompson(NamedTuple):
    """Beta posterior sampling over the last `window` rounds.

    Parameters
    ----------
    window : int, or a name
        Rounds remembered: short follows faster, long is steadier. By name: `corollary1` and others, see above.
    prior_a, prior_b : float
        The prior Beta(a, b) of every arm.

    >>> SlidingThompson.for_abrupt(horizon=10_000).window
    1213
    >>> SlidingThompson.corollary1(horizon=10_000, alpha=0.5).window
    10
    """

    window: int | str = 1000
    prior_a: float = 1.0
    prior_b: float = 1.0

    @classmethod
    def for_abrupt(cls, horizon: int, *, scale: float = 4.0) -> "SlidingThompson":
        """The window scale sqrt(T ln T) of the paper's abruptly changing experiments."""
        horizon = whole("horizon", horizon, low=2)
        scale = number("scale", scale, above=0.0)
        return cls(window=max(1, min(horizon, math.floor(scale * math.sqrt(horizon * math.log(horizon))))))

    @classmethod
    def for_smooth(cls, speed: float) -> "SlidingThompson":
        """The window speed^(-4/5) of the paper for means that move at most `speed` a round."""
        return cls(window=_power("speed", speed, -0.8))

    @classmethod
    def corollary1(cls, horizon: int, alpha: float = 0.0) -> "SlidingThompson":
        """N^((1 - alpha)/2), for at most of order N^alpha breakpoints in N rounds; corollaries 6 and 7 take it too."""
        alpha = number("alpha", alpha, above=0.0, below=1.0, closed="[")
        return cls(window=_root(horizon, (1.0 - alpha) / 2.0))

    @classmethod
    def corollary2(cls, rate: float) -> "SlidingThompson":
        """sqrt(ln(1/B) / B), for B breakpoints a round."""
        rate = number("rate", rate, above=0.0, below=1.0)
        return cls(window=max(1, round(math.sqrt(-math.log(rate) / rate))))

    @classmethod
    def corollary3(cls, horizon: int, beta: float = 0.5) -> "SlidingThompson":
        """N^(1 - beta), for smooth drift with two arms close in at most of order N^beta rounds; corollary 4 too."""
        beta = number("beta", beta, above=0.0, below=1.0, closed="[]")
        return cls(window=_root(horizon, 1.0 - beta))

    @classmethod
    def corollary5(cls, sigma: float) -> "SlidingThompson":
        """sigma^(-3/4) as printed, for means that move at most sigma a round; the proof takes sigma^(-1/2)."""
        return cls(window=_power("sigma", sigma, -0.75))

    @classmethod
    def corollary8(cls, rate: float) -> "SlidingThompson":
        """B^(-1/4) as far as the text can be read, for B breakpoints a round beside smooth drift."""
        return cls(window=_power("rate", rate, -0.25))

    def init(self, problem: Problem) -> SlidingThompsonState:
        """The prior for every arm."""
        n_arms = whole("n_arms", problem.n_arms)
        prior = (
            number(f"prior_{end}", getattr(self, f"prior_{end}"), above=1.0, below=1e6, closed="[") for end in "ab"
        )
        ahead, behind = (value - 1.0 for value in prior)
        low, span = bounded_range("sliding-thompson", problem.low, problem.high)
        return SlidingThompsonState(
            window=new_window(n_arms, window_rounds(self.window, problem.horizon)),
            heights=np.full(n_arms, log_height_with_prior.function(0.0, 0, ahead, behind)),
            range=np.array([low, span]),
            prior=np.array([ahead, behind]),
        )


def _root(horizon: int, power: float) -> int:
    """A power of the horizon in whole rounds, at least one and no more than the horizon."""
    horizon = whole("horizon", horizon, low=2)
    return min(horizon, max(1, round(math.pow(horizon, power))))


def _power(name: str, value: float, power: float) -> int:
    """A negative power of something between 0 and 1, in whole rounds."""
    return max(1, round(float(number(name, value, above=0.0, below=1.0, closed="]") ** power)))


def _rounds(foresight: Foresight) -> int:
    """The horizon, which windows by name need."""
    if foresight.problem.horizon < 2:
        raise ParameterError("this window follows from the horizon, which is not known: give a horizon, or a number")
    return foresight.problem.horizon


def _corollary1(policy: SlidingThompson, foresight: Foresight, alpha: float = 0.0) -> int:
    return int(SlidingThompson.corollary1(_rounds(foresight), alpha).window)


def _corollary2(policy: SlidingThompson, foresight: Foresight, rate: float) -> int:
    return int(SlidingThompson.corollary2(rate).window)


def _corollary3(policy: SlidingThompson, foresight: Foresight, beta: float = 0.5) -> int:
    return int(SlidingThompson.corollary3(_rounds(foresight), beta).window)


def _corollary5(policy: SlidingThompson, foresight: Foresight, sigma: float) -> int:
    return int(SlidingThompson.corollary5(sigma).window)


def _corollary8(policy: SlidingThompson, foresight: Foresight, rate: float) -> int:
    return int(SlidingThompson.corollary8(rate).window)


def _abrupt(policy: SlidingThompson, foresight: Foresight, scale: float = 4.0) -> int:
    return int(SlidingThompson.for_abrupt(_rounds(foresight), scale=scale).window)


def _smooth(policy: SlidingThompson, foresight: Foresight, sigma: float) -> int:
    return int(SlidingThompson.for_smooth(sigma).window)


@kernel
def _refresh(state: SlidingThompsonState, arm: int) -> None:
    window, prior = state.window, state.prior
    state.heights[arm] = log_height_with_prior(window.sums[arm], window.counts[arm], prior[0], prior[1])


@kernel
def _select(policy: SlidingThompson, state: SlidingThompsonState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return race(state.window.sums, state.window.counts, state.heights, state.prior[0], state.prior[1], rng), np.nan


@kernel
def _update(
    policy: SlidingThompson, state: SlidingThompsonState, decision: Decision, outcome: Outcome, now: int
) -> None:
    success = trial(outcome.reward, state.range[0], state.range[1], decision.rng)
    remember(state, decision.t, decision.action, success, now)


@kernel
def _summarise(policy: SlidingThompson, state: SlidingThompsonState, t: int, context: Any, out: Summary) -> None:
    clear_summary(out)
    for arm in range(len(state.heights)):
        wins, trials = state.window.sums[arm], state.window.counts[arm]
        a, b = wins + 1.0 + state.prior[0], trials - wins + 1.0 + state.prior[1]
        summarise_beta(out, arm, a, b, trials, state.range[0], state.range[1])


@kernel
def _restart(policy: SlidingThompson, state: SlidingThompsonState, memory: int, window: int) -> None:
    empty(state.window, memory)
    for arm in range(len(state.heights)):
        state.heights[arm] = log_height_with_prior(0.0, 0, state.prior[0], state.prior[1])


name_values(
    SlidingThompson,
    window={
        "corollary1": _corollary1,
        "corollary2": _corollary2,
        "corollary3": _corollary3,
        "corollary4": _corollary3,
        "corollary5": _corollary5,
        "corollary6": _corollary1,
        "corollary7": _corollary1,
        "corollary8": _corollary8,
        "abrupt": _abrupt,
        "smooth": _smooth,
    },
)
register(SlidingThompsonState, refresh=_refresh)
register(
    SlidingThompson,
    about=About(
        "a window fit for the drift; the reward range", "O(sqrt(T log T)) for few abrupt changes", "Trovo et al. 2020"
    ),
    advance=slide,
    select=_select,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
