"""UCB for budgets in a world that stands still: optimistic rewards and costs, and the mix of arms that can be paid.

    rad(a, N) = sqrt(gamma a / N) + gamma / N
    upper_i   = mean reward of i + 2 c rad(mean, n_i + 1)
    lower_ji  = max(0, mean cost of j by i - 2 c rad(mean, n_i + 1))           means are sums / (n_i + 1)
    x         = argmax upper'x  such that  lower x <= (1 - eps) b,  sum x <= 1,  x >= 0;   the arm is drawn from x

What is left of x is the null arm's, which pays and costs nothing.

| symbol | field | |
|---|---|---|
| c | scale | multiplies the radius |
| eps | shrink | 1: eps = (sqrt(gamma m B) + m gamma + sqrt(gamma B)) / B, at most 1/2; 0: none |
| b | resolve | 1: what is left of the budget, by the rounds left; 0: the whole budget by the horizon, as published |
| gamma | | ln(m T^2) for rewards, ln(m d T^2) for costs |

Agrawal & Devanur, *Bandits with Concave Rewards and Convex Knapsacks*, EC 2014. Written from what is generally known of
it, for its text was not at hand; radii and eps are those that Liu, Jiang & Li, *Non-stationary Bandits with Knapsacks*,
NeurIPS 2022, take over from it in Appendix D.
Known in advance: the horizon and the budgets.
Regret, up to logarithms: O(OPT sqrt(m / B) + sqrt(m OPT)) where nothing drifts; linear where it does. With c = 1 it
explores for long: in 20,000 rounds of `budget-stationary` it earns four fifths of what the best plan does, and with
`scale=0.1,shrink=0` all but a fiftieth.

Deviations. The constants of gamma and eps, given as orders only, are 1. Costs are cut at 0, for a cost below it would
make budget out of nothing; rewards are not cut, for many arms at 1 could not be told apart.
Late outcomes count when they come; while they are under way they narrow the bounds of their arm, and count as costs
(`knapsack/bounds.py`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, Problem, Scratch, Spent
from driftwise.core.validation import budgeted, number, whole
from driftwise.core.verbs import register
from driftwise.families.knapsack.bounds import bound_costs, bound_reward, evidence, width
from driftwise.families.knapsack.cost_totals import Outlay, book, new_outlay, pend_outlay, settle_outlay
from driftwise.families.knapsack.randomized_action import draw_from
from driftwise.families.knapsack.round_lp import StepLP, new_step_lp, solve_step
from driftwise.families.knapsack.summaries import put_cost, put_reward, worth_less_costs

LARGEST_SHRINK = 0.5


class UCBBwKState(NamedTuple):
    """What arms earned and cost; `gammas` are those of rewards and of costs, `share` is 1 - eps, `rates` is B / T, and
    `unit` the largest reward. `upper` and `lower` are worked out for every choice.
    """

    outlay: Outlay
    gammas: Derived
    share: Derived
    rates: Derived
    unit: Derived
    upper: Scratch
    lower: Scratch
    lp: StepLP


class UCBBwK(NamedTuple):
    """Optimistic rewards and costs over all history, and a linear program for the mix.

    Parameters
    ----------
    scale : float
        Multiplies the radius.
    shrink : int
        1 to leave part of the budget for bad luck.
    resolve : int
        1 to solve with what is left of the budget; 0 with the whole budget by the horizon.

    >>> from driftwise.families.knapsack.problem import Budgets
    >>> problem = Problem(n_arms=5, horizon=20_000, structure=Budgets(np.array([6000.0])), family="knapsack")
    >>> UCBBwK().init(problem).share.round(3)
    array([0.789])
    """

    scale: float = 1.0
    shrink: int = 1
    resolve: int = 1

    def init(self, problem: Problem) -> UCBBwKState:
        """Nothing known: every arm may earn much and cost nothing."""
        n_arms, amounts, unit = budgeted("ucb-bwk", problem)
        number("scale", self.scale, above=0.0)
        for name in ("shrink", "resolve"):
            whole(name, getattr(self, name), low=0, high=1)
        resources, horizon = len(amounts), max(2, problem.horizon)
        gammas = np.log([n_arms * horizon**2, n_arms * resources * horizon**2])
        shrinkage = _shrinkage(float(amounts.min()), n_arms, float(gammas[1])) if self.shrink else 0.0
        return UCBBwKState(
            outlay=new_outlay(n_arms, resources),
            gammas=gammas,
            share=np.array([1.0 - shrinkage]),
            rates=amounts / problem.horizon,
            unit=np.array([unit]),
            upper=np.zeros(n_arms),
            lower=np.zeros((n_arms, resources)),
            lp=new_step_lp(n_arms, resources),
        )


def _shrinkage(budget: float, n_arms: int, gamma: float) -> float:
    """The eps that leaves room for bad luck with the smallest budget."""
    slack = math.sqrt(gamma * n_arms * budget) + n_arms * gamma + math.sqrt(gamma * budget)
    return min(LARGEST_SHRINK, slack / budget)


@kernel
def _solve(policy: UCBBwK, state: UCBBwKState, rates: Floats) -> None:
    """The mix of this round, in the room to work in."""
    outlay, lp = state.outlay, state.lp
    for arm in range(len(state.upper)):
        count = outlay.counts[arm]
        tried, added = evidence(count, outlay.pending[arm])
        state.upper[arm] = bound_reward(outlay.sums[arm], count, tried, policy.scale, state.gammas[0], 0)
        bound_costs(state.lower[arm], outlay.spent[arm], added, count, tried, policy.scale, state.gammas[1], 1)
    for resource in range(len(rates)):
        lp.budget[resource] = state.share[0] * (rates[resource] if policy.resolve else state.rates[resource])
    solve_step(lp, state.upper, state.lower.T, lp.budget)


@kernel
def _select(policy: UCBBwK, state: UCBBwKState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    _solve(policy, state, context)
    return draw_from(state.lp.mix, rng)


@kernel
def _update(policy: UCBBwK, state: UCBBwKState, decision: Decision, outcome: Spent, now: int) -> None:
    if decision.action >= 0:
        book(state.outlay, decision.action, outcome.reward / state.unit[0], outcome.costs)


@kernel
def _appraise(policy: UCBBwK, state: UCBBwKState, t: int, context: Floats, prices: Floats) -> None:
    _solve(policy, state, context)
    for resource in range(len(prices)):
        prices[resource] = state.unit[0] * state.lp.prices[resource]


@kernel
def _summarise(policy: UCBBwK, state: UCBBwKState, t: int, context: Floats, out: Summary) -> None:
    """The index is what an arm may earn less its costs at the LP's prices."""
    clear_summary(out)
    _solve(policy, state, context)
    outlay, unit = state.outlay, state.unit[0]
    for arm in range(len(state.upper)):
        count, total = outlay.counts[arm], outlay.sums[arm]
        put_reward(out, arm, count, total, width(total / (count + 1.0), count, policy.scale, state.gammas[0]), unit)
        put_cost(out, arm, count, outlay.spent[arm])
        out.index[arm] = unit * worth_less_costs(state.upper[arm], state.lower[arm], state.lp.prices)


register(
    UCBBwK,
    about=About(
        "horizon and budgets",
        "O(OPT sqrt(m / B) + sqrt(m OPT)) without drift",
        "Agrawal & Devanur 2014",
        drifts=False,
        family="knapsack",
    ),
    select=_select,
    pend=pend_outlay,
    settle=settle_outlay,
    update=_update,
    appraise=_appraise,
    summarise=_summarise,
)
