"""EXP3-IX: exponential weights on losses, whose estimates explore by themselves.

    p_k = w_k / sum_j w_j        w_k *= exp(-eta l / (p_k + gamma)) when arm k lost l = 1 - x, x in [0, 1]

The gamma in the denominator (implicit exploration) bounds the estimates, so the regret is small with high probability,
not only on average, and no round is spent on a uniform draw. It stands in for EXP3.P, which buys the same with explicit
mixing and confidence bonuses, and does worse in practice.

| symbol | field | |
|---|---|---|
| eta | eta | learning rate; 0 takes the theorem's, sqrt(2 ln K / (K T)) |
| gamma | | eta / 2 |
| T | horizon | rounds to come; 0 takes the problem's |

Neu, *Explore no more: improved high-probability regret bounds for non-stochastic bandits*, NIPS 2015, theorem 1.
Known in advance: the reward range, and the horizon unless eta is given.
Regret: at most 2 sqrt(2 K T ln K) + (sqrt(2 K T / ln K) + 1) ln(2 / delta) with probability 1 - delta, for every delta
at once, against the best single arm.
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
from driftwise.families.multi_armed.policies.exp3 import horizon_of
from driftwise.numerics.weights import Weights, draw, new_weights, place, raise_weight, summarise_chances


class EXP3IXState(NamedTuple):
    """The weights; `rates` holds eta, `range` the lowest reward and the span."""

    weights: Weights
    rates: Derived
    range: Shared


class EXP3IX(NamedTuple):
    """Exponential weights with implicit exploration.

    Parameters
    ----------
    eta : float
        Learning rate; 0 takes the theorem's for the horizon.
    horizon : int
        Rounds to come; 0 takes the problem's.

    >>> EXP3IX(horizon=10_000).init(Problem(n_arms=5)).rates.round(5)
    array([0.00802])
    """

    eta: float = 0.0
    horizon: int = 0

    def init(self, problem: Problem) -> EXP3IXState:
        """Every arm with the same weight."""
        n_arms = whole("n_arms", problem.n_arms)
        eta = number("eta", self.eta, above=0.0, closed="[")
        whole("horizon", self.horizon, low=0)
        if not eta:
            horizon = horizon_of("exp3-ix", self.horizon, problem, "eta")
            eta = math.sqrt(2.0 * math.log(n_arms) / (n_arms * horizon))
        return EXP3IXState(
            weights=new_weights(n_arms),
            rates=np.array([eta]),
            range=np.array(bounded_range("exp3-ix", problem.low, problem.high)),
        )


@kernel
def _select(policy: EXP3IX, state: EXP3IXState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return draw(state.weights.powers, 0.0, rng)


@kernel
def _update(policy: EXP3IX, state: EXP3IXState, decision: Decision, outcome: Outcome, now: int) -> None:
    eta = state.rates[0]
    loss = 1.0 - place(outcome.reward, state.range)
    raise_weight(state.weights, decision.action, -eta * loss / (decision.propensity + 0.5 * eta))


@kernel
def _summarise(policy: EXP3IX, state: EXP3IXState, t: int, context: Any, out: Summary) -> None:
    summarise_chances(out, state.weights.powers, 0.0)


register(
    EXP3IX,
    about=About(
        "the horizon; the reward range",
        "O(sqrt(K T log K)) with high probability, against the best single arm, any rewards",
        "Neu 2015",
    ),
    select=_select,
    update=_update,
    summarise=_summarise,
)
