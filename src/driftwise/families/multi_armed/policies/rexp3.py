"""REXP3: EXP3 that starts over every `batch` rounds, for means that move by a known amount in all.

    p_k = (1 - gamma) w_k / sum_j w_j + gamma / K        w_k *= exp(gamma x / (p_k K)) when arm k paid x in [0, 1]
    all w_k = 1 in rounds 0, Delta, 2 Delta, ...

| symbol | field | |
|---|---|---|
| V_T | variation | sum over rounds of the largest move of any mean; `true` takes that of the world, in studies |
| T, N | horizon | rounds to come; 0 takes the problem's |
| Delta | batch | rounds between restarts; 0 takes ceil((K ln K)^(1/3) (T / V)^(2/3)) |
| gamma | rates | min(1, sqrt(K ln K / ((e - 1) Delta))) |

Besbes, Gur & Zeevi, *Stochastic multi-armed-bandit problem with non-stationary rewards*, NIPS 2014, theorem 2.
Known in advance: the reward range; the variation and the horizon, unless the batch is given.
Regret: O((K V log K)^(1/3) T^(2/3)) against the best arm of every round.
Late rewards count when they come, weighted by the propensity logged with their decision; those of an earlier batch are
ignored and counted as stale. With another horizon the batch at hand goes on, and ends as if batches had always had the
new length since it began.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import Foresight, name_values
from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Derived, Outcome, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole
from driftwise.core.verbs import register
from driftwise.families.multi_armed.policies.exp3 import exploration, horizon_of
from driftwise.numerics.weights import Weights, draw, level, new_weights, place, raise_weight, summarise_chances


class REXP3State(NamedTuple):
    """The weights of this batch, its first round `start` and its length `batch`; `rates` holds gamma.

    `range` holds the lowest reward and the span; `stale` counts rewards that came after their batch had ended.
    """

    weights: Weights
    start: Shared
    stale: Shared
    batch: Derived
    rates: Derived
    range: Shared


class REXP3(NamedTuple):
    """Exponential weights, restarted.

    Parameters
    ----------
    variation : float, or "true"
        Sum over rounds of the largest move of any mean; "true" takes that of every run of the world, in studies only.
    horizon : int
        Rounds to come; 0 takes the problem's.
    batch : int
        Rounds between restarts; 0 takes the theorem's for horizon and variation.

    >>> REXP3(variation=3.0, horizon=10_000).init(Problem(n_arms=5)).batch
    array([448])
    """

    variation: float | str = 1.0
    horizon: int = 0
    batch: int = 0

    def init(self, problem: Problem) -> REXP3State:
        """Every arm with the same weight, in the first batch."""
        n_arms = whole("n_arms", problem.n_arms)
        variation = number("variation", self.variation, above=0.0)
        batch = whole("batch", self.batch, low=0, high=2**62)
        whole("horizon", self.horizon, low=0)
        if not batch:
            horizon = horizon_of("rexp3", self.horizon, problem, "a batch")
            length = math.cbrt(n_arms * math.log(n_arms)) * (horizon / variation) ** (2.0 / 3.0)
            batch = max(1, math.ceil(min(length, 2.0**62)))
        return REXP3State(
            weights=new_weights(n_arms),
            start=np.zeros(1, np.int64),
            stale=np.zeros(1, np.int64),
            batch=np.array([batch], np.int64),
            rates=np.array([exploration(n_arms, batch)]),
            range=np.array(bounded_range("rexp3", problem.low, problem.high)),
        )


def _true_variation(policy: REXP3, foresight: Foresight) -> float:
    """The variation of the world; one that stands still has a single batch."""
    return max(foresight.drift("sup"), 1e-12)


@kernel
def _advance(policy: REXP3, state: REXP3State, t: int, rng: Any) -> None:
    """Start over when round `t` belongs to a later batch."""
    age = t - state.start[0]
    if age >= state.batch[0]:
        state.start[0] += age - age % state.batch[0]
        level(state.weights)


@kernel
def _select(policy: REXP3, state: REXP3State, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return draw(state.weights.powers, state.rates[0], rng)


@kernel
def _update(policy: REXP3, state: REXP3State, decision: Decision, outcome: Outcome, now: int) -> None:
    _advance(policy, state, now, decision.rng)
    if decision.t < state.start[0]:
        state.stale[0] += 1
        return
    estimate = place(outcome.reward, state.range) / decision.propensity
    raise_weight(state.weights, decision.action, state.rates[0] * estimate / len(state.weights.logs))


@kernel
def _summarise(policy: REXP3, state: REXP3State, t: int, context: Any, out: Summary) -> None:
    summarise_chances(out, state.weights.powers, state.rates[0])


name_values(REXP3, variation={"true": _true_variation})
register(
    REXP3,
    about=About(
        "the horizon, the variation; the reward range", "O((K V log K)^(1/3) T^(2/3))", "Besbes, Gur & Zeevi 2014"
    ),
    advance=_advance,
    select=_select,
    update=_update,
    summarise=_summarise,
)
