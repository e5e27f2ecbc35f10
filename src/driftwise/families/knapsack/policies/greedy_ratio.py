"""Greedy ratio: the arm that would earn most if the whole budget were spent on it alone.

    upper_i  = min(1, mean reward of i + width)      width = 0.35 c sqrt(ln(T) / (2 (n_i + 1)))
    lower_ji = max(0, mean cost of j by i - width)   means are sums / (n_i + 1)
    load_i   = max_j lower_ji / b_j                  how many times too much the arm spends of its scarcest resource
    arm      = argmax_i upper_i / max(1, load_i);    of equals the one chosen least

Spending all on one arm with a load above 1 means to stop after T / load rounds, or to pause between them: either way it
earns upper / load a round. Where arms are scarce in different resources a mix of them earns more, and this rule does
not find it: it is what is done before anything is solved.

| symbol | field | |
|---|---|---|
| c | scale | multiplies the width |
| | paced | 1: choose the arm with chance 1 / load, and the null arm otherwise; 0: choose it until the budget is gone |
| b | | paced: what is left of the budget, by the rounds left; else the whole budget by the horizon |

The rule of a knapsack filled by ratios, with optimism; no paper, and no bound. Known in advance: the horizon and the
budgets. Late outcomes count when they come; while they are under way they narrow the bounds of their arm, and count as
costs (`knapsack/bounds.py`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import uniform
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, Problem, Spent
from driftwise.core.validation import budgeted, number, whole
from driftwise.core.verbs import register
from driftwise.families.knapsack.bounds import bound_cost, bound_reward, evidence, width
from driftwise.families.knapsack.cost_totals import Outlay, book, chosen, new_outlay, pend_outlay, settle_outlay
from driftwise.families.knapsack.summaries import put_cost, put_reward

NULL = -1
RHO = 0.35


class GreedyRatioState(NamedTuple):
    """What arms earned and cost; `reach` sizes widths, `rates` is B / T, `unit` the largest reward."""

    outlay: Outlay
    reach: Derived
    rates: Derived
    unit: Derived


class GreedyRatio(NamedTuple):
    """The best single arm for the budget.

    Parameters
    ----------
    scale : float
        Multiplies the width of the bounds.
    paced : int
        1 to pause where the arm spends too fast; 0 to spend until nothing is left.
    """

    scale: float = 1.0
    paced: int = 1

    def init(self, problem: Problem) -> GreedyRatioState:
        """Nothing known: every arm may earn all and cost nothing."""
        n_arms, amounts, unit = budgeted("greedy-ratio", problem)
        scale = number("scale", self.scale, above=0.0)
        whole("paced", self.paced, low=0, high=1)
        return GreedyRatioState(
            outlay=new_outlay(n_arms, len(amounts)),
            reach=np.array([RHO * scale * math.sqrt(math.log(max(2, problem.horizon)) / 2.0)]),
            rates=amounts / problem.horizon,
            unit=np.array([unit]),
        )


@kernel
def _worth(state: GreedyRatioState, arm: int, tried: float) -> float:
    """The most an arm may earn."""
    return bound_reward(state.outlay.sums[arm], state.outlay.counts[arm], tried, state.reach[0], 0.0, 1)


@kernel
def _lower(state: GreedyRatioState, arm: int, resource: int, tried: float, added: float) -> float:
    """The least an arm may cost."""
    total = state.outlay.spent[arm, resource] + added
    return bound_cost(total, state.outlay.counts[arm], tried, state.reach[0], 0.0, 1)


@kernel
def _load(state: GreedyRatioState, arm: int, rates: Floats, tried: float, added: float) -> tuple[float, int]:
    """How many times too much an arm spends at least, and of what."""
    load, scarcest = 0.0, 0
    for resource in range(len(rates)):
        lower = _lower(state, arm, resource, tried, added)
        if lower > load * rates[resource]:
            load, scarcest = lower / rates[resource], resource
    return load, scarcest


@kernel
def _best(state: GreedyRatioState, rates: Floats) -> tuple[int, float]:
    """The arm with the best ratio, of equals the one chosen least, and its load."""
    outlay, best, top, burden = state.outlay, 0, -1.0, 0.0
    for arm in range(len(outlay.counts)):
        tried, added = evidence(outlay.counts[arm], outlay.pending[arm])
        load, _ = _load(state, arm, rates, tried, added)
        ratio = _worth(state, arm, tried) / max(1.0, load)
        if ratio > top or (ratio == top and chosen(outlay, arm) < chosen(outlay, best)):
            best, top, burden = arm, ratio, load
    return best, burden


@kernel
def _select(policy: GreedyRatio, state: GreedyRatioState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    if not policy.paced:
        return _best(state, state.rates)[0], 1.0
    arm, load = _best(state, context)
    chance = 1.0 / max(1.0, load)
    u, rng = uniform(rng)
    return (arm, chance) if u < chance else (NULL, 1.0 - chance)


@kernel
def _update(policy: GreedyRatio, state: GreedyRatioState, decision: Decision, outcome: Spent, now: int) -> None:
    if decision.action >= 0:
        book(state.outlay, decision.action, outcome.reward / state.unit[0], outcome.costs)


@kernel
def _appraise(policy: GreedyRatio, state: GreedyRatioState, t: int, context: Floats, prices: Floats) -> None:
    """What a unit of the scarcest resource earns with the best arm; the others are free."""
    rates = context if policy.paced else state.rates
    arm, load = _best(state, rates)
    tried, added = evidence(state.outlay.counts[arm], state.outlay.pending[arm])
    _, scarcest = _load(state, arm, rates, tried, added)
    for resource in range(len(prices)):
        prices[resource] = 0.0
    if load > 1.0:
        lower = _lower(state, arm, scarcest, tried, added)
        prices[scarcest] = state.unit[0] * _worth(state, arm, tried) / lower


@kernel
def _summarise(policy: GreedyRatio, state: GreedyRatioState, t: int, context: Floats, out: Summary) -> None:
    """The index is the ratio: what an arm may earn, by how often it can be paid for."""
    clear_summary(out)
    outlay, unit, rates = state.outlay, state.unit[0], context if policy.paced else state.rates
    for arm in range(len(outlay.counts)):
        count, total = outlay.counts[arm], outlay.sums[arm]
        put_reward(out, arm, count, total, width(total / (count + 1.0), count, state.reach[0], 0.0), unit)
        put_cost(out, arm, count, outlay.spent[arm])
        tried, added = evidence(count, outlay.pending[arm])
        out.pending[arm] = outlay.pending[arm]
        load, _ = _load(state, arm, rates, tried, added)
        out.index[arm] = unit * _worth(state, arm, tried) / max(1.0, load)


register(
    GreedyRatio,
    about=About("horizon and budgets", "none", "the rule of ratios", drifts=False, family="knapsack"),
    select=_select,
    pend=pend_outlay,
    settle=settle_outlay,
    update=_update,
    appraise=_appraise,
    summarise=_summarise,
)
