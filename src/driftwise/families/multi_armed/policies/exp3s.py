"""EXP3.S: exponential weights in which every arm keeps a share, so that a fallen arm can rise again.

    p_k = (1 - gamma) w_k / W + gamma / K        W = sum_j w_j

after arm c paid x in [0, 1]: w_c *= exp(gamma x / (p_c K)), then every w_k += e alpha W / K with the old W.

| symbol | field | |
|---|---|---|
| gamma | gamma | uniform exploration; 0 takes min(1, sqrt(K (S ln(K T) + e) / ((e - 1) T))); by name, see below |
| alpha | alpha | how much is shared; 0 takes 1 / T |
| S | changes + 1 | hardness: one more than the changes of the sequence of arms we compete with |
| T | horizon | rounds to come; 0 takes the problem's |
| x | low, high | a reward is taken as (reward - low) / (high - low); without them the problem's range is |
| V_T | `for_variation` | sup-norm variation of the means over the run |

Auer, Cesa-Bianchi, Freund & Schapire, SIAM J. Computing 2002, section 8; for a variation budget Besbes, Gur & Zeevi,
*Optimal exploration-exploitation in a multi-armed bandit problem with non-stationary rewards*, Stochastic Systems 2019:
gamma = min(1, (2 V K ln(K T) / ((e - 1)^2 T))^(1/3)). The paper was not at hand: the constant 2 is that which makes
2 V D + K T ln(K T) / (gamma D) + (e - 1) gamma T least over gamma and the batch length D of the proof. By name:
`gamma=for_variation` takes V of the world in studies, `gamma=for_variation(variation=8)` a number.
Known in advance: the reward range; the horizon and the number of changes, or the variation.
Regret: at most 2 sqrt(e - 1) sqrt(K T (S ln(K T) + e)) against any S - 1 changes; O((K V log(K T))^(1/3) T^(2/3)) for
variation V.
A declared range serves noisy rewards too: one outside it lies below 0 or above 1, and is not clipped, which would bias
the mean. With Gaussian noise the bound then holds only up to the chance of leaving the range.
Late rewards count in full when they come, weighted by the propensity logged with their decision; weight is shared once
a reward, not once a round.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import Foresight, name_values, rounds_of, variation_of
from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Derived, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole
from driftwise.core.verbs import register
from driftwise.families.multi_armed.policies.exp3 import horizon_of
from driftwise.numerics.weights import draw, place, summarise_chances

MOST = 300.0  # no exponent is above 1 unless a reward is above a declared range; one far above it must not overflow


class EXP3SState(NamedTuple):
    """The weights, of mean one; `rates` holds gamma and e alpha, `range` the lowest reward and the span.

    After a reward no weight is below alpha / (1 + alpha) of the mean: here plain numbers do as well as logarithms.
    """

    weights: PerArm
    rates: Derived
    range: Shared


class EXP3S(NamedTuple):
    """Exponential weights with uniform exploration and sharing.

    Parameters
    ----------
    gamma : float, or a word
        Share of uniform exploration, in (0, 1]; 0 takes the theorem's for the horizon and `changes`.
    alpha : float
        How much of all weight is shared out at each reward, in (0, 1]; 0 takes 1 / horizon.
    changes : int
        How often the best arm may change; used when gamma is 0.
    horizon : int
        Rounds to come; 0 takes the problem's.
    low, high : float
        The range of mean rewards, where the problem's own is unbounded or too wide; both 0 take the problem's.

    >>> round(EXP3S.for_variation(horizon=10_000, variation=1.0, n_arms=2).gamma, 5)
    0.11029
    """

    gamma: float | str = 0.0
    alpha: float = 0.0
    changes: int = 1
    horizon: int = 0
    low: float = 0.0
    high: float = 0.0

    @classmethod
    def for_variation(cls, horizon: int, variation: float, n_arms: int, low: float = 0.0, high: float = 0.0) -> "EXP3S":
        """The tuning for means that move by at most `variation` in all, summed over rounds."""
        horizon = whole("horizon", horizon)
        variation = number("variation", variation, above=0.0)
        n_arms = whole("n_arms", n_arms)
        cube = 2.0 * variation * n_arms * math.log(n_arms * horizon) / ((math.e - 1.0) ** 2 * horizon)
        return cls(gamma=min(1.0, math.cbrt(cube)), alpha=1.0 / horizon, low=low, high=high)

    def init(self, problem: Problem) -> EXP3SState:
        """Every arm with the same weight."""
        n_arms = whole("n_arms", problem.n_arms)
        gamma = number("gamma", self.gamma, above=0.0, below=1.0, closed="[]")
        alpha = number("alpha", self.alpha, above=0.0, below=1.0, closed="[]")
        hardness = whole("changes", self.changes, low=0) + 1
        whole("horizon", self.horizon, low=0)
        if not gamma or not alpha:
            horizon = horizon_of("exp3s", self.horizon, problem, "both gamma and alpha")
            surprise = hardness * math.log(n_arms * horizon) + math.e
            gamma = gamma or min(1.0, math.sqrt(n_arms * surprise / ((math.e - 1.0) * horizon)))
            alpha = alpha or 1.0 / horizon
        low, high = number("low", self.low), number("high", self.high)
        if low == high == 0.0:
            low, high = problem.low, problem.high
        return EXP3SState(
            weights=np.ones(n_arms),
            rates=np.array([gamma, math.e * alpha]),
            range=np.array(bounded_range("exp3s", low, high)),
        )


def _for_variation(policy: EXP3S, foresight: Foresight, variation: float | None = None) -> float:
    """A world that stands still has the least exploration there is."""
    problem, moved = foresight.problem, max(variation_of(foresight, variation, "sup"), 1e-12)
    return float(EXP3S.for_variation(policy.horizon or rounds_of(problem), moved, problem.n_arms).gamma)


@kernel
def _select(policy: EXP3S, state: EXP3SState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return draw(state.weights, state.rates[0], rng)


@kernel
def _update(policy: EXP3S, state: EXP3SState, decision: Decision, outcome: Outcome, now: int) -> None:
    arm, weights, n_arms = decision.action, state.weights, len(state.weights)
    total = 0.0
    for weight in weights:
        total += weight
    estimate = place(outcome.reward, state.range) / decision.propensity
    raised = weights[arm] * math.exp(min(MOST, state.rates[0] * estimate / n_arms))
    gift = state.rates[1] * total / n_arms
    scale = n_arms / (total - weights[arm] + raised + n_arms * gift)
    weights[arm] = raised
    for k in range(n_arms):
        weights[k] = (weights[k] + gift) * scale


@kernel
def _summarise(policy: EXP3S, state: EXP3SState, t: int, context: Any, out: Summary) -> None:
    summarise_chances(out, state.weights, state.rates[0])


name_values(EXP3S, gamma={"for_variation": _for_variation})
register(
    EXP3S,
    about=About(
        "the horizon, the changes (or the variation); the reward range",
        "O(sqrt(changes K T log(K T))); O((K V log(K T))^(1/3) T^(2/3)) for variation V",
        "Auer et al. 2002; Besbes, Gur & Zeevi 2019",
    ),
    select=_select,
    update=_update,
    summarise=_summarise,
)
