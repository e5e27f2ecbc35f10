"""LagrangeBwK: one learner chooses arms, another the resource they are charged for, and each is told the Lagrangian.

    L_j = r + 1 - c_j / b_j for a resource,   L_0 = r for time              b_j = B_j / T
    g_j = (L_j - low) / (2 - low), at least 0                               low = 1 - 1 / b_min
    p_i = (1 - gamma) exp(eta G_i) / sum_k exp(eta G_k) + gamma / K         K = m + 1: the null arm is one of them
    G_i += (g_j 1[i chosen] + beta) / p_i                                   with j drawn from y: EXP3.P
    y_j ~ exp(-step sum of g_j)                                             all g_j are known: Hedge

| symbol | field | |
|---|---|---|
| delta | delta | in beta: with which chance the bound may fail |
| b | resolve | 1: what was left at the decision, by the rounds left; 0: the whole budget by the horizon, as published |
| gamma, eta, beta | | 1.05 sqrt(K ln K / T), 0.95 sqrt(ln K / (T K)), sqrt(ln(K / delta) / (T K)) |
| step | | sqrt(8 ln(d + 1) / T) |

Immorlica, Sankararaman, Schapire & Slivkins, *Adversarial Bandits with Knapsacks*, J. ACM 2022. Written from what is
generally known of it, for its text was not at hand; EXP3.P is that of Bubeck & Cesa-Bianchi 2012.
Known in advance: the horizon and the budgets.
Reward: OPT - O(sqrt(m T) T / B) where nothing drifts; against an adversary OPT / O(log T), once the Lagrangian is
scaled for it, where OPT is that of the best fixed mix of arms. It learns as slowly as EXP3 does.

Late outcomes count when they come: the reward by the propensity logged with its decision, beta and y by those of that
moment. The resource an outcome is charged for is drawn from the stream of its own decision.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import branch, choice, uniform
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, PerArm, Problem, Scratch, Shared, Spent
from driftwise.core.validation import budgeted, number, whole
from driftwise.core.verbs import register

NULL = -1
GAMMA, ETA, BETA = range(3)


class LagrangeBwKState(NamedTuple):
    """Gains of arms and, in `idle`, of the null arm, both moved so that the largest is 0; losses of time and resources.

    `laws` has gamma, eta and beta; `step` is that of Hedge; `low` the least that a Lagrangian can be; `rates` is B / T;
    `unit` the largest reward. `weights` is room for the weights of time and resources.
    """

    gains: PerArm
    idle: Shared
    losses: Shared
    laws: Derived
    step: Derived
    low: Derived
    rates: Derived
    unit: Derived
    weights: Scratch


class LagrangeBwK(NamedTuple):
    """Two learners that play against each other: one for arms, one for prices.

    Parameters
    ----------
    delta : float
        The chance with which the bound may fail: smaller explores more.
    resolve : int
        1 to charge by what is left of the budget; 0 by the whole budget over the horizon.
    """

    delta: float = 0.05
    resolve: int = 0

    def init(self, problem: Problem) -> LagrangeBwKState:
        """Every arm as likely as the null arm, and every resource as dear as time."""
        n_arms, amounts, unit = budgeted("lagrange-bwk", problem)
        delta = number("delta", self.delta, above=0.0, below=1.0)
        whole("resolve", self.resolve, low=0, high=1)
        choices, horizon, resources = n_arms + 1, problem.horizon, len(amounts)
        log = math.log(choices)
        gamma = min(1.0, 1.05 * math.sqrt(choices * log / horizon))
        eta = 0.95 * math.sqrt(log / (horizon * choices))
        beta = math.sqrt((log - math.log(delta)) / (horizon * choices))
        return LagrangeBwKState(
            gains=np.zeros(n_arms),
            idle=np.zeros(1),
            losses=np.zeros(1 + resources),
            laws=np.array([gamma, eta, beta]),
            step=np.array([math.sqrt(8.0 * math.log(resources + 1) / horizon)]),
            low=np.array([min(0.0, 1.0 - horizon / float(amounts.min()))]),
            rates=amounts / horizon,
            unit=np.array([unit]),
            weights=np.zeros(1 + resources),
        )


@kernel
def _best_gain(state: LagrangeBwKState) -> float:
    best = float(state.idle[0])
    for gain in state.gains:
        best = max(best, gain)
    return best


@kernel
def _scale(state: LagrangeBwKState, best: float) -> float:
    """What a weight is multiplied by to become a chance, before exploration."""
    total = math.exp(state.laws[ETA] * (state.idle[0] - best))
    for gain in state.gains:
        total += math.exp(state.laws[ETA] * (gain - best))
    return float((1.0 - state.laws[GAMMA]) / total)


@kernel
def _chance(state: LagrangeBwKState, gain: float, best: float, scale: float) -> float:
    """The p of an arm with this gain."""
    floor = state.laws[GAMMA] / (len(state.gains) + 1)
    return float(scale * math.exp(state.laws[ETA] * (gain - best)) + floor)


@kernel
def _select(policy: LagrangeBwK, state: LagrangeBwKState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    best = _best_gain(state)
    scale = _scale(state, best)
    u, rng = uniform(rng)
    for arm in range(len(state.gains)):
        chance = _chance(state, state.gains[arm], best, scale)
        if u < chance:
            return arm, chance
        u -= chance
    return NULL, _chance(state, state.idle[0], best, scale)


@kernel
def _update(policy: LagrangeBwK, state: LagrangeBwKState, decision: Decision, outcome: Spent, now: int) -> None:
    charged = _charged(state, branch(decision.rng))
    gain = 0.0
    for resource in range(len(state.losses)):
        lagrangian = outcome.reward / state.unit[0]
        if resource > 0:
            rate = decision.context[resource - 1] if policy.resolve else state.rates[resource - 1]
            lagrangian += 1.0 - _relative(outcome.costs[resource - 1], rate)
        value = max(0.0, (lagrangian - state.low[0]) / (2.0 - state.low[0]))
        state.losses[resource] += value
        if resource == charged:
            gain = value
    _reward(state, decision.action, gain / decision.propensity)


@kernel
def _relative(cost: float, rate: float) -> float:
    """A cost by what a round may cost; what costs nothing is free even when nothing is left."""
    return cost / rate if cost > 0.0 else 0.0


@kernel
def _charged(state: LagrangeBwKState, rng: Any) -> int:
    """The resource that the Lagrangian is told for, 0 for time; the dearer, the more often."""
    _weigh(state)
    return choice(state.weights, rng)[0]


@kernel
def _weigh(state: LagrangeBwKState) -> None:
    """Write the weights of time and resources; the largest is 1."""
    least = np.inf
    for loss in state.losses:
        least = min(least, loss)
    for resource in range(len(state.losses)):
        state.weights[resource] = math.exp(-state.step[0] * (state.losses[resource] - least))


@kernel
def _reward(state: LagrangeBwKState, arm: int, estimate: float) -> None:
    """Give every arm its bonus and the one chosen its gain, and move all so that the best has 0."""
    best = _best_gain(state)
    scale, bonus = _scale(state, best), state.laws[BETA]
    state.idle[0] += bonus / _chance(state, state.idle[0], best, scale)
    for each in range(len(state.gains)):
        state.gains[each] += bonus / _chance(state, state.gains[each], best, scale)
    if arm >= 0:
        state.gains[arm] += estimate
    else:
        state.idle[0] += estimate
    best = _best_gain(state)
    state.idle[0] -= best
    for each in range(len(state.gains)):
        state.gains[each] -= best


@kernel
def _appraise(policy: LagrangeBwK, state: LagrangeBwKState, t: int, context: Floats, prices: Floats) -> None:
    """A cost is charged y_j / b_j on average."""
    _weigh(state)
    total = 0.0
    for weight in state.weights:
        total += weight
    for resource in range(len(prices)):
        rate = context[resource] if policy.resolve else state.rates[resource]
        prices[resource] = state.unit[0] * state.weights[1 + resource] / (total * rate)


@kernel
def _summarise(policy: LagrangeBwK, state: LagrangeBwKState, t: int, context: Floats, out: Summary) -> None:
    """The index of an arm is its chance; gains are no estimates of rewards, and nothing else is kept."""
    clear_summary(out)
    best = _best_gain(state)
    scale = _scale(state, best)
    for arm in range(len(state.gains)):
        out.index[arm] = _chance(state, state.gains[arm], best, scale)


register(
    LagrangeBwK,
    about=About(
        "horizon and budgets",
        "O(sqrt(m T) T / B) without drift; OPT / O(log T) against an adversary",
        "Immorlica, Sankararaman, Schapire & Slivkins 2022",
        family="knapsack",
    ),
    select=_select,
    update=_update,
    appraise=_appraise,
    summarise=_summarise,
)
