"""Budgets that last, spent where features say they earn most: linear rewards and costs that drift, and prices.

    upper(x)    <x, theta_0> + beta sqrt(x' V^-1 x)             the most an action may earn
    lower_j(x)  (<x, theta_j> - beta sqrt(x' V^-1 x))+          the least it may cost of resource j
    action      argmax upper(x) - sum_j price_j lower_j(x), or the null action where that is not above 0
    price_j     clip(price_j - eta (rate_j - cost_j), 0, T / B_j) after every round
    beta        rho sqrt(ln(w) / 2),   w = min(T, 1 / (1 - gamma))

V and the thetas are those of one ridge regression for rewards and costs that fades (`joint_ridge.py`). Where rows are
arms, the bounds are those of `prequential-pacing` in a memory that fades, and not clipped at the largest reward. Prices
are the same: they rise while more is spent than may be.

| symbol | field | |
|---|---|---|
| gamma | gamma | what is left of a weight after one round; 1 / (1 - gamma) rounds are remembered |
| lambda | ridge | regularisation; it does not fade |
| rho | rho | width of the bounds |
| eta | step | of the prices, times sqrt(T) |
| rate | context | what is left of the budget, by the rounds left: the last columns of the matrix |

Known in advance: the horizon and the budgets; a discount fit for the drift.
Regret: none proven. Linear contextual bandits with knapsacks are those of Agrawal & Devanur, *Linear contextual bandits
with knapsacks*, NeurIPS 2016, who let nothing drift.

Late outcomes enter by their decision's round. While they are under way they narrow the bounds of rows like theirs,
count as costs, and move the prices by what they are expected to cost, as if they had come; when they come, prices move
by what they did cost.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, Problem, Scratch, Shared, Spent
from driftwise.core.validation import budgeted, number, whole
from driftwise.core.verbs import register
from driftwise.families.contextual_knapsack.joint_ridge import (
    JointRidge,
    absorb,
    absorb_row,
    caution_of,
    expected,
    fade,
    fade_to_round,
    mean_of,
    new_joint_ridge,
    pend_joint,
    put_mean,
    settle_joint,
    solve,
    width_of,
)


class LinPacingState(NamedTuple):
    """The regression and the prices. `radius` is beta, `step` eta, `limits` the largest prices, `unit` of rewards."""

    ridge: JointRidge
    prices: Shared
    radius: Derived
    step: Derived
    limits: Derived
    unit: Derived
    charges: Scratch


class LinPacing(NamedTuple):
    """Linear estimates of rewards and costs that fade, and prices that make a budget last.

    Parameters
    ----------
    gamma : float
        What is left of a weight after one round: small follows faster, close to one is steadier.
    ridge : float
        Regularisation lambda.
    rho : float
        Width of the bounds: larger explores more.
    step : float
        How fast prices follow what is spent.

    >>> from driftwise.families.knapsack.problem import Budgets
    >>> budgets = Budgets(np.array([6000.0]))
    >>> problem = Problem(n_arms=5, horizon=20_000, dim=3, structure=budgets, family="contextual-knapsack")
    >>> LinPacing().init(problem).prices
    array([0.])
    """

    gamma: float = 0.999
    ridge: float = 1.0
    rho: float = 0.1
    step: float = 1.0

    def init(self, problem: Problem) -> LinPacingState:
        """Nothing known, nothing dear: prices start at 0."""
        _, amounts, unit = budgeted("lin-pacing", problem)
        resources, horizon = len(amounts), problem.horizon
        number("step", self.step, above=0.0)
        return LinPacingState(
            ridge=new_joint_ridge(whole("dim", problem.dim), 1 + resources),
            prices=np.zeros(resources),
            radius=np.array([radius_of(self, horizon)]),
            step=np.array([self.step / math.sqrt(horizon)]),
            limits=horizon / amounts,
            unit=np.array([unit]),
            charges=np.zeros(resources),
        )


def radius_of(policy: Any, horizon: int) -> float:
    """beta; the parameters it is made from are checked."""
    number("gamma", policy.gamma, above=0.0, below=1.0, closed="]")
    number("ridge", policy.ridge, above=0.0)
    number("rho", policy.rho, above=0.0)
    memory = horizon if policy.gamma == 1.0 else min(float(horizon), 1.0 / (1.0 - policy.gamma))
    return float(policy.rho * math.sqrt(math.log(max(2.0, memory)) / 2.0))


@kernel
def _charge(policy: LinPacing, state: LinPacingState, context: Floats) -> None:
    """Write the prices to go by: as if all that is under way had come, and had cost what is expected of it."""
    dim = len(state.ridge.awaited)
    for resource in range(len(state.prices)):
        due = state.ridge.waiting[0] * context[0, dim + resource]
        excess = expected(state.ridge, policy.ridge, 1 + resource) - due
        price = state.prices[resource] + state.step[0] * excess
        state.charges[resource] = min(max(price, 0.0), state.limits[resource])


@kernel
def _worth(policy: LinPacing, state: LinPacingState, x: Floats) -> float:
    """What an action may earn once its costs are paid for."""
    width = state.radius[0] * width_of(state.ridge, x)
    caution = caution_of(state.ridge, policy.ridge, x)
    worth = mean_of(state.ridge, 0, x) + width
    for resource in range(len(state.charges)):
        lower = mean_of(state.ridge, 1 + resource, x) + caution - width
        worth -= state.charges[resource] * max(lower, 0.0)
    return float(worth)


@kernel
def _select(policy: LinPacing, state: LinPacingState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    solve(state.ridge, policy.ridge)
    _charge(policy, state, context)
    best, top = -1, 0.0
    for row in range(len(context)):
        worth = _worth(policy, state, context[row])
        if worth > top:
            best, top = row, worth
    return best, 1.0


@kernel
def _update(policy: LinPacing, state: LinPacingState, decision: Decision, outcome: Spent, now: int) -> None:
    ridge, x = state.ridge, decision.context
    fade(ridge, policy.gamma, now + 1)
    if decision.action >= 0:
        absorb_row(ridge, policy.gamma, decision.t, x)
        absorb(ridge, policy.gamma, decision.t, x, 0, outcome.reward / state.unit[0])
        for resource in range(len(state.prices)):
            absorb(ridge, policy.gamma, decision.t, x, 1 + resource, outcome.costs[resource])
    dim = len(ridge.awaited)
    for resource in range(len(state.prices)):
        price = state.prices[resource] - state.step[0] * (x[dim + resource] - outcome.costs[resource])
        state.prices[resource] = min(max(price, 0.0), state.limits[resource])


@kernel
def _appraise(policy: LinPacing, state: LinPacingState, t: int, context: Floats, prices: Floats) -> None:
    solve(state.ridge, policy.ridge)
    _charge(policy, state, context)
    for resource in range(len(prices)):
        prices[resource] = state.unit[0] * state.charges[resource]


@kernel
def _summarise(policy: LinPacing, state: LinPacingState, t: int, context: Floats, out: Summary) -> None:
    """The index is what an action may earn less its costs at the prices of now."""
    clear_summary(out)
    solve(state.ridge, policy.ridge)
    _charge(policy, state, context)
    for row in range(len(context)):
        x = context[row]
        put_mean(out, row, state.ridge, policy.ridge, state.radius[0], x, state.unit[0])
        out.index[row] = state.unit[0] * _worth(policy, state, x)
        for resource in range(len(state.prices)):
            out.costs[row, resource] = max(0.0, mean_of(state.ridge, 1 + resource, x))


register(
    LinPacing,
    about=About(
        "horizon and budgets; a discount fit for the drift", "none proven", "driftwise", family="contextual-knapsack"
    ),
    advance=fade_to_round,
    select=_select,
    pend=pend_joint,
    settle=settle_joint,
    update=_update,
    appraise=_appraise,
    summarise=_summarise,
)
