"""EXP3: exponential weights on importance-weighted rewards; no assumption on how rewards come about.

    p_k = (1 - gamma) w_k / sum_j w_j + gamma / K        w_k *= exp(gamma x / (p_k K)) when arm k paid x in [0, 1]

| symbol | field | |
|---|---|---|
| gamma | gamma | share of uniform exploration; 0 takes the theorem's, min(1, sqrt(K ln K / ((e - 1) T))) |
| T, g | horizon | rounds to come, an upper bound g = T on what the best arm earns; 0 takes the problem's |
| w_k | weights | as logarithms, see `numerics/weights.py` |

Auer, Cesa-Bianchi, Freund & Schapire, *The nonstochastic multiarmed bandit problem*, SIAM J. Computing 2002, figure 1
and corollary 3.2. Known in advance: the reward range, and the horizon unless gamma is given.
Regret: at most 2 sqrt(e - 1) sqrt(T K ln K) against the best single arm, whatever the rewards; linear against the best
sequence of arms.
Late rewards count in full when they come, weighted by the propensity logged with their decision.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Derived, Outcome, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.numerics.weights import Weights, draw, new_weights, place, raise_weight, summarise_chances


class EXP3State(NamedTuple):
    """The weights; `rates` holds gamma, `range` the lowest reward and the span."""

    weights: Weights
    rates: Derived
    range: Shared


class EXP3(NamedTuple):
    """Exponential weights with uniform exploration.

    Parameters
    ----------
    gamma : float
        Share of uniform exploration, in (0, 1]; 0 takes the theorem's for the horizon.
    horizon : int
        Rounds to come; 0 takes the problem's.

    >>> EXP3(horizon=10_000).init(Problem(n_arms=5)).rates.round(4)
    array([0.0216])
    """

    gamma: float = 0.0
    horizon: int = 0

    def init(self, problem: Problem) -> EXP3State:
        """Every arm with the same weight."""
        n_arms = whole("n_arms", problem.n_arms)
        gamma = number("gamma", self.gamma, above=0.0, below=1.0, closed="[]")
        whole("horizon", self.horizon, low=0)
        rate = gamma or exploration(n_arms, horizon_of("exp3", self.horizon, problem, "gamma"))
        return EXP3State(
            weights=new_weights(n_arms),
            rates=np.array([rate]),
            range=np.array(bounded_range("exp3", problem.low, problem.high)),
        )


def exploration(n_arms: int, rounds: int) -> float:
    """The gamma of corollary 3.2 for `rounds` rounds."""
    return min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1.0) * rounds)))


def horizon_of(policy: str, horizon: int, problem: Problem, instead: str = "") -> int:
    """The policy's own horizon, else the problem's; `instead` names parameters that would do without one."""
    rounds = whole("horizon", horizon, low=0) or whole("horizon", problem.horizon, low=0)
    if not rounds:
        otherwise = f", or {instead}" if instead else ""
        raise ParameterError(f"{policy} must know how many rounds will be played: give it a horizon{otherwise}")
    return rounds


@kernel
def _select(policy: EXP3, state: EXP3State, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return draw(state.weights.powers, state.rates[0], rng)


@kernel
def _update(policy: EXP3, state: EXP3State, decision: Decision, outcome: Outcome, now: int) -> None:
    estimate = place(outcome.reward, state.range) / decision.propensity
    raise_weight(state.weights, decision.action, state.rates[0] * estimate / len(state.weights.logs))


@kernel
def _summarise(policy: EXP3, state: EXP3State, t: int, context: Any, out: Summary) -> None:
    summarise_chances(out, state.weights.powers, state.rates[0])


register(
    EXP3,
    about=About(
        "the horizon; the reward range",
        "O(sqrt(K T log K)) against the best single arm, any rewards",
        "Auer, Cesa-Bianchi, Freund & Schapire 2002",
    ),
    select=_select,
    update=_update,
    summarise=_summarise,
)
