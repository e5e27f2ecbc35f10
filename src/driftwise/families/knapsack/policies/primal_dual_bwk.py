"""PrimalDualBwK: the arm that earns most for its cost, at prices that rise for what is spent most.

    rad(a, N) = sqrt(C a / N) + C / N                             C = ln(d T m)
    upper_i   = min(1, mean reward of i + c rad(mean, n_i))
    lower_ji  = max(0, mean cost of j by i - c rad(mean, n_i))
    arm       = argmax_i upper_i / (y_0 + sum_j y_j lower_ji / b_j)
    v_j      *= (1 + eps)^(lower_ji B_min / B_j) for the arm i chosen;   v_0 *= (1 + eps)^(B_min / T);   y = v / sum v

Time is a resource like any other, number 0, of which every round takes the same. Arms are tried once each, then that
with the best ratio is chosen; of equals the one chosen least. It never chooses the null arm.

| symbol | field | |
|---|---|---|
| c | scale | multiplies the radius |
| b | resolve | 1: what is left of the budget, by the rounds left; 0: the whole budget by the horizon, as published |
| eps | | min(1, sqrt(ln(d + 1) / B_min)), B_min the smallest budget, the horizon among them |
| v | logs | as logarithms |

Badanidiyuru, Kleinberg & Slivkins, *Bandits with Knapsacks*, J. ACM 2018, algorithm PrimalDualBwK. Written from what is
generally known of it, for its text was not at hand; its constants, given as orders only, are 1.
Known in advance: the horizon and the budgets.
Regret, up to logarithms: O(OPT sqrt(m / B) + sqrt(m OPT)) where nothing drifts; linear where it does. A smaller `scale`
earns more in runs of some ten thousand rounds.

Late outcomes count, and move prices, when they come, by the bounds of that moment. While they are under way they narrow
the radius of their arm (`numerics/pending.py`), whose means are 1/2 until the first has come, and prices are those that
they would leave if they came now.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, Problem, Scratch, Shared, Spent
from driftwise.core.validation import budgeted, number, whole
from driftwise.core.verbs import register
from driftwise.families.knapsack.cost_totals import (
    Outlay,
    book,
    chosen,
    new_outlay,
    pend_outlay,
    settle_outlay,
    waiting,
)
from driftwise.families.knapsack.summaries import put_cost, put_reward
from driftwise.numerics.pending import tries

MIDDLE = 0.5  # of what an arm may earn or cost


class PrimalDualBwKState(NamedTuple):
    """What arms earned and cost, and the logarithms of v, that of time first.

    `grows` is by how much they grow per unit spent, of time per round; `reach` is C; `rates` is B / T; `unit` is the
    largest reward. `shares` is room for y.
    """

    outlay: Outlay
    logs: Shared
    grows: Derived
    reach: Derived
    rates: Derived
    unit: Derived
    shares: Scratch


class PrimalDualBwK(NamedTuple):
    """The best ratio of reward to cost, by prices that follow what is spent.

    Parameters
    ----------
    scale : float
        Multiplies the radius.
    resolve : int
        1 to weigh costs by what is left of the budget; 0 by the whole budget over the horizon.
    """

    scale: float = 1.0
    resolve: int = 1

    def init(self, problem: Problem) -> PrimalDualBwKState:
        """Nothing known, and all resources equally dear."""
        n_arms, amounts, unit = budgeted("primal-dual-bwk", problem)
        number("scale", self.scale, above=0.0)
        whole("resolve", self.resolve, low=0, high=1)
        resources, horizon = len(amounts), problem.horizon
        least = min(horizon, float(amounts.min()))
        growth = math.log1p(min(1.0, math.sqrt(math.log(resources + 1) / least)))
        return PrimalDualBwKState(
            outlay=new_outlay(n_arms, resources),
            logs=np.zeros(1 + resources),
            grows=growth * least / np.array([horizon, *amounts]),
            reach=np.array([math.log(resources * n_arms * horizon)]),
            rates=amounts / horizon,
            unit=np.array([unit]),
            shares=np.zeros(1 + resources),
        )


@kernel
def _evidence(outlay: Outlay, arm: int, busy: bool) -> tuple[float, float, float]:
    """What an arm's means divide by, what is added to its sums, and how many outcomes give its radius.

    All three are 0 where it was never chosen. Where all outcomes are under way its means are the middle.
    """
    count = float(outlay.counts[arm])
    if not busy:
        return count, 0.0, count
    pending = outlay.pending[arm]
    return max(count, 1.0), MIDDLE if count == 0.0 else 0.0, tries(count, pending, pending)


@kernel
def _radius(policy: PrimalDualBwK, state: PrimalDualBwKState, mean: float, tried: float) -> float:
    reach = state.reach[0]
    return float(policy.scale * (math.sqrt(reach * mean / tried) + reach / tried))


@kernel
def _lower(policy: PrimalDualBwK, state: PrimalDualBwKState, total: float, n: float, tried: float) -> float:
    """The least an arm may cost, by what it has."""
    mean = total / n
    return float(max(0.0, mean - _radius(policy, state, mean, tried)))


@kernel
def _weigh(policy: PrimalDualBwK, state: PrimalDualBwKState) -> bool:
    """Write the y of time and resources into the room for them; what is under way counts as if it had come."""
    highest, total, logs, under_way = -np.inf, 0.0, state.logs, waiting(state.outlay)
    if under_way > 0:
        _anticipate(policy, state, under_way)
        logs = state.shares
    for log in logs:
        highest = max(highest, log)
    for resource in range(len(logs)):
        state.shares[resource] = math.exp(logs[resource] - highest)
        total += state.shares[resource]
    for resource in range(len(logs)):
        state.shares[resource] /= total
    return under_way > 0


@kernel(inline=False)
def _anticipate(policy: PrimalDualBwK, state: PrimalDualBwKState, under_way: int) -> None:
    """Write the logarithms into `shares`, with what the decisions under way will add to them."""
    outlay, shares = state.outlay, state.shares
    for resource in range(len(shares)):
        shares[resource] = state.logs[resource]
    shares[0] += under_way * state.grows[0]
    for arm in range(len(outlay.pending)):
        if outlay.pending[arm] > 0:
            n, added, tried = _evidence(outlay, arm, True)
            for resource in range(len(shares) - 1):
                lower = _lower(policy, state, outlay.spent[arm, resource] + added, n, tried)
                shares[1 + resource] += outlay.pending[arm] * state.grows[1 + resource] * lower


@kernel
def _ratio(policy: PrimalDualBwK, state: PrimalDualBwKState, arm: int, rates: Floats, busy: bool) -> float:
    """What an arm may earn for its cost, as a share of what may be spent in a round."""
    outlay, cost = state.outlay, state.shares[0]
    n, added, tried = _evidence(outlay, arm, busy)
    if tried == 0.0:
        return np.inf
    for resource in range(len(rates)):
        lower = _lower(policy, state, outlay.spent[arm, resource] + added, n, tried)
        if lower > 0.0:
            rate = rates[resource] if policy.resolve else state.rates[resource]
            cost += state.shares[1 + resource] * lower / rate
    mean = (outlay.sums[arm] + added) / n
    return float(min(1.0, mean + _radius(policy, state, mean, tried)) / cost)


@kernel
def _best(policy: PrimalDualBwK, state: PrimalDualBwKState, rates: Floats) -> tuple[int, float]:
    """The arm with the best ratio, of equals the one chosen least, and its ratio."""
    busy = _weigh(policy, state)
    outlay, best, top = state.outlay, 0, -1.0
    for arm in range(len(outlay.counts)):
        ratio = _ratio(policy, state, arm, rates, busy)
        if ratio > top or (ratio == top and chosen(outlay, arm) < chosen(outlay, best)):
            best, top = arm, ratio
    return best, top


@kernel
def _select(policy: PrimalDualBwK, state: PrimalDualBwKState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    return _best(policy, state, context)[0], 1.0


@kernel
def _update(policy: PrimalDualBwK, state: PrimalDualBwKState, decision: Decision, outcome: Spent, now: int) -> None:
    arm = decision.action
    state.logs[0] += state.grows[0]
    if arm >= 0:
        n, added, tried = _evidence(state.outlay, arm, state.outlay.pending[arm] > 0)
        if tried > 0.0:
            for resource in range(len(outcome.costs)):
                lower = _lower(policy, state, state.outlay.spent[arm, resource] + added, n, tried)
                state.logs[1 + resource] += state.grows[1 + resource] * lower
        book(state.outlay, arm, outcome.reward / state.unit[0], outcome.costs)


@kernel
def _appraise(policy: PrimalDualBwK, state: PrimalDualBwKState, t: int, context: Floats, prices: Floats) -> None:
    """The prices at which the best arm just earns what it costs."""
    ratio = min(1.0, _best(policy, state, context)[1])
    for resource in range(len(prices)):
        rate = context[resource] if policy.resolve else state.rates[resource]
        prices[resource] = state.unit[0] * ratio * state.shares[1 + resource] / rate


@kernel
def _summarise(policy: PrimalDualBwK, state: PrimalDualBwKState, t: int, context: Floats, out: Summary) -> None:
    """The index is the ratio: what an arm may earn, by the share of the budgets of a round that it costs."""
    clear_summary(out)
    busy = _weigh(policy, state)
    outlay, unit = state.outlay, state.unit[0]
    for arm in range(len(outlay.counts)):
        count, total = outlay.counts[arm], outlay.sums[arm]
        if count > 0:
            put_reward(out, arm, count, total, _radius(policy, state, total / count, count), unit)
        out.count[arm] = count
        put_cost(out, arm, count, outlay.spent[arm])
        out.pending[arm] = outlay.pending[arm]
        out.index[arm] = unit * _ratio(policy, state, arm, context, busy)


register(
    PrimalDualBwK,
    about=About(
        "horizon and budgets",
        "O(OPT sqrt(m / B) + sqrt(m OPT)) without drift",
        "Badanidiyuru, Kleinberg & Slivkins 2018",
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
