"""Budgets that last in a world that drifts, without knowing how fast: windows that are tried, and prices that pace.

    window of arm i    the one of K that has predicted best: least errors_ik + share sum over arms l of errors_lk
    upper_i, lower_ji  mean over that window plus, and minus, rho sqrt(ln(w) / (2 (n_i + 1)))
    arm                argmax_i upper_i - sum_j price_j lower_ji, or the null arm where that is not above 0
    price_j            clip(price_j - eta (rate_j - cost_j), 0, T / B_j) after every round

Every window predicts before it is told (*prequentially*): the squared errors of all K are known after every choice, not
only that of the window in use, so that choosing one costs no exploration. Old errors fade. An arm has its own window,
for arms drift each in its way, but listens to the others too: one that is not chosen would never hear of a change.

A price rises while more is spent than may be, and falls while less is. The best plan in hindsight has one price for the
whole run; prices that move slowly spend more in rich rounds than in poor ones, as it does, where a linear program
solved in every round would spend evenly.

| symbol | field | |
|---|---|---|
| K | windows | how many are tried: from max(60, 8 m) rounds on, in equal ratios; the last remembers everything |
| rho | rho | width of the bounds |
| gamma | fade | what an error of one choice ago counts |
| | share | how much the errors of other arms count |
| eta | step | of the prices, times sqrt(T) |
| rate | context | what is left of the budget, by the rounds left |

Known in advance: the horizon and the budgets; nothing of the drift.
Regret: none proven. It is not in the paper of Liu, Jiang & Li (2022), but compared with theirs, `sliding-knapsack-ucb`,
by `driftwise reproduce knapsacks`.

Late outcomes enter by their decision's round. While they are under way they narrow the bounds of their arm, count as
costs (`knapsack/bounds.py`), and move the prices: by what their arm is expected to cost, as if they had come. When
they come, prices move by what they did cost. One that has not come when its round leaves the longest window that ends
is no longer waited for.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, Ints, PerArm, Problem, Scratch, Shared, Spent
from driftwise.core.validation import budgeted, number, whole
from driftwise.core.verbs import register
from driftwise.families.knapsack.bounds import bound_costs, bound_reward, evidence, expected_cost, width
from driftwise.families.knapsack.cost_windows import (
    Spending,
    awaits,
    enter,
    new_spending,
    pass_rounds,
    pend_spending,
    settle_spending,
)
from driftwise.families.knapsack.summaries import put_cost, put_reward

SHORTEST, PER_ARM = 60, 8  # rounds of the shortest window, at least, and per arm
LONGEST = 2**15  # rounds of the longest that ends


class PrequentialPacingState(NamedTuple):
    """The windows, the errors of each per arm and of all arms, the one in use, the bounds by it, and the prices.

    `reaches` has the width of each window, `step` eta, `limits` the largest prices, `unit` the largest reward.
    """

    window: Spending
    errors: PerArm
    pooled: Shared
    used: PerArm
    upper: PerArm
    lower: PerArm
    prices: Shared
    reaches: Derived
    step: Derived
    limits: Derived
    unit: Derived
    charges: Scratch


class PrequentialPacing(NamedTuple):
    """Windows chosen by how well they predict, and prices that make a budget last.

    Parameters
    ----------
    windows : int
        How many windows are tried.
    rho : float
        Width of the bounds: larger explores more.
    fade : float
        What an error of one choice ago counts, where one of now counts 1.
    share : float
        How much the errors of other arms count in the choice of a window.
    step : float
        How fast prices follow what is spent.

    >>> from driftwise.families.knapsack.problem import Budgets
    >>> problem = Problem(n_arms=5, horizon=20_000, structure=Budgets(np.array([6000.0])), family="knapsack")
    >>> PrequentialPacing().init(problem).window.sizes
    array([  60,  192,  613, 1958, 6258,    0])
    """

    windows: int = 6
    rho: float = 0.2
    fade: float = 0.998
    share: float = 0.2
    step: float = 1.0

    def init(self, problem: Problem) -> PrequentialPacingState:
        """Nothing known, nothing dear: prices start at 0."""
        n_arms, amounts, unit = budgeted("prequential-pacing", problem)
        resources, horizon = len(amounts), problem.horizon
        number("rho", self.rho, above=0.0)
        number("fade", self.fade, above=0.0, below=1.0, closed="]")
        number("share", self.share, above=0.0, closed="[")
        number("step", self.step, above=0.0)
        sizes = _sizes(whole("windows", self.windows, high=64), n_arms, horizon)
        spans = np.where(sizes > 0, sizes, horizon)
        state = PrequentialPacingState(
            window=new_spending(n_arms, resources, sizes, room=min(horizon, LONGEST)),
            errors=np.zeros((n_arms, len(sizes))),
            pooled=np.zeros(len(sizes)),
            used=np.full(n_arms, len(sizes) - 1, np.int64),
            upper=np.zeros(n_arms),
            lower=np.zeros((n_arms, resources)),
            prices=np.zeros(resources),
            reaches=self.rho * np.sqrt(np.log(np.maximum(2, spans)) / 2.0),
            step=np.array([self.step / math.sqrt(horizon)]),
            limits=horizon / amounts,
            unit=np.array([unit]),
            charges=np.zeros(resources),
        )
        for arm in range(n_arms):
            _refresh.function(state, arm)
        return state


def _sizes(count: int, n_arms: int, horizon: int) -> Ints:
    """Windows in equal ratios from the shortest to the horizon; the last is everything, and is written 0."""
    shortest = min(horizon, max(SHORTEST, PER_ARM * n_arms))
    sizes = np.geomspace(shortest, horizon, count)[:-1] if count > 1 else np.empty(0)
    return np.append(np.minimum(sizes.round(), LONGEST), 0).astype(np.int64)


@kernel
def _refresh(state: PrequentialPacingState, arm: int) -> None:
    window, view = state.window, state.used[arm]
    count, reach = window.counts[arm, view], state.reaches[view]
    tried, added = evidence(count, window.pending[arm])
    state.upper[arm] = bound_reward(window.sums[arm, view], count, tried, reach, 0.0, 1)
    bound_costs(state.lower[arm], window.spent[arm, view], added, count, tried, reach, 0.0, 1)


@kernel
def _worth(state: PrequentialPacingState, arm: int) -> float:
    """What an arm may earn once its costs are paid for."""
    worth = float(state.upper[arm])
    for resource in range(len(state.charges)):
        worth -= state.charges[resource] * state.lower[arm, resource]
    return worth


@kernel
def _charge(state: PrequentialPacingState, rates: Floats) -> None:
    """Write the prices to go by: as if every outcome under way had come, and had cost what its arm does on average."""
    under_way = state.window.waiting[0]
    for resource in range(len(state.prices)):
        state.charges[resource] = state.prices[resource]
        if under_way > 0:
            excess = _expected(state, resource) - under_way * rates[resource]
            price = state.prices[resource] + state.step[0] * excess
            state.charges[resource] = min(max(price, 0.0), state.limits[resource])


@kernel(inline=False)
def _expected(state: PrequentialPacingState, resource: int) -> float:
    """What all that is under way will cost."""
    window, total = state.window, 0.0
    for arm in range(len(window.pending)):
        if window.pending[arm] > 0:
            view = state.used[arm]
            cost = expected_cost(window.spent[arm, view, resource], window.counts[arm, view])
            total += window.pending[arm] * cost
    return total


@kernel
def _select(
    policy: PrequentialPacing, state: PrequentialPacingState, t: int, context: Floats, rng: Any
) -> tuple[int, float]:
    _charge(state, context)
    best, top = -1, 0.0
    for arm in range(len(state.upper)):
        worth = _worth(state, arm)
        if worth > top:
            best, top = arm, worth
    return best, 1.0


@kernel
def _update(
    policy: PrequentialPacing, state: PrequentialPacingState, decision: Decision, outcome: Spent, now: int
) -> None:
    arm, reward = decision.action, outcome.reward / state.unit[0]
    if arm >= 0:
        if not awaits(state, decision.t, now):
            return
        _score(policy, state, arm, reward, outcome.costs)
        enter(state, decision.t, arm, reward, outcome.costs)
    for resource in range(len(state.prices)):
        price = state.prices[resource] - state.step[0] * (decision.context[resource] - outcome.costs[resource])
        state.prices[resource] = min(max(price, 0.0), state.limits[resource])


@kernel
def _score(policy: PrequentialPacing, state: PrequentialPacingState, arm: int, reward: float, costs: Floats) -> None:
    """Charge every window for what it would have predicted, and let every arm use the best for it."""
    window = state.window
    for view in range(len(window.sizes)):
        n = window.counts[arm, view] + 1.0
        miss = reward - (window.sums[arm, view] + 0.5) / n
        error = miss * miss
        for resource in range(len(costs)):
            miss = costs[resource] - (window.spent[arm, view, resource] + 0.5) / n
            error += miss * miss
        state.errors[arm, view] = policy.fade * state.errors[arm, view] + error
        state.pooled[view] = math.sqrt(policy.fade) * state.pooled[view] + error
    for each in range(len(state.used)):
        _choose_window(policy, state, each)


@kernel
def _choose_window(policy: PrequentialPacing, state: PrequentialPacingState, arm: int) -> None:
    """Use the window with the least errors; among equals the longest."""
    best, least = 0, np.inf
    for view in range(len(state.pooled)):
        error = state.errors[arm, view] + policy.share * state.pooled[view]
        if error <= least:
            best, least = view, error
    if best != state.used[arm]:
        state.used[arm] = best
        _refresh(state, arm)


@kernel
def _appraise(
    policy: PrequentialPacing, state: PrequentialPacingState, t: int, context: Floats, prices: Floats
) -> None:
    _charge(state, context)
    for resource in range(len(prices)):
        prices[resource] = state.unit[0] * state.charges[resource]


@kernel
def _summarise(policy: PrequentialPacing, state: PrequentialPacingState, t: int, context: Floats, out: Summary) -> None:
    """By the window that an arm uses now; the index is what it may earn less its costs at the prices of now."""
    clear_summary(out)
    _charge(state, context)
    window, unit = state.window, state.unit[0]
    for arm in range(len(state.upper)):
        view = state.used[arm]
        count, total = window.counts[arm, view], window.sums[arm, view]
        put_reward(out, arm, count, total, width(total / (count + 1.0), count, state.reaches[view], 0.0), unit)
        put_cost(out, arm, count, window.spent[arm, view])
        out.index[arm] = unit * _worth(state, arm)


register(PrequentialPacingState, refresh=_refresh)
register(
    PrequentialPacing,
    about=About("horizon and budgets", "none proven", "driftwise", family="knapsack"),
    advance=pass_rounds,
    select=_select,
    pend=pend_spending,
    settle=settle_spending,
    update=_update,
    appraise=_appraise,
    summarise=_summarise,
)
