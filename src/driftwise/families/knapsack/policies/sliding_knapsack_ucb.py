"""Sliding-window UCB with budgets: what arms may earn at most and cost at least, and the mix of them that can be paid.

    upper_i  = sum of rewards of i over the last w1 rounds / (n_i + 1) + width
    lower_ji = sum of costs of j by i over the last w2 rounds / (n_i + 1) - width
    x        = argmax upper'x  such that  lower x <= b,  sum x <= 1,  x >= 0;   the arm is drawn from x

What is left of x is the null arm's, which pays and costs nothing. Windows count rounds, null rounds too.

| symbol | field | |
|---|---|---|
| w1, w2 | window, cost_window | rounds remembered of rewards and of costs; 0 for costs: as for rewards |
| | conf | the width: `paper`, `appendix`, or `practical` |
| c | scale | multiplies the width |
| | clip | 1: bounds are cut to [0, 1]; 0 as printed |
| b | resolve | 1: what is left, by the rounds left; 0: the whole budget by the horizon, as printed |
| eps | shrink | 1: b becomes (1 - eps) b with the eps of Appendix D, at most 1/2 |

    paper      sqrt(2 ln(12 m T^3) / (n + 1)), for costs with 12 m d T^3                      Algorithm 1
    appendix   2 (sqrt(gamma mean / (n + 1)) + gamma / (n + 1)), gamma = ln(m T^2)             Appendix D
    practical  0.35 sqrt(ln(w) / (2 (n + 1)))

Liu, Jiang & Li, *Non-stationary Bandits with Knapsacks*, NeurIPS 2022, Algorithm 1 and Appendix D.
Known in advance: the horizon, and windows fit for the drift (`paper` takes the variations V1 and V2).
Regret, up to logarithms: O(sqrt(m T) + (m V1)^(1/3) T^(2/3) + (m V2)^(1/3) T^(2/3) d / b + W1 + q W2). V is what any
window pays for a world that moves; W is what even spending costs when good rounds and bad ones lie far apart.

With the printed widths the bounds mean something after thousands of rounds per arm only: below T = 10^5 that explores
more than it earns. Unclipped, a bound on a cost below zero makes budget out of nothing. `practical`, clipped and
re-solved is what to use; `prequential-pacing` needs no window and earns more.

Deviation: where the text says neither, the constants of Appendix D are 1, and eps is at most 1/2.
Late outcomes enter by their decision's round; those older than both windows are dropped and counted as stale. While
they are under way they narrow the bounds of their arm, and count as costs (`knapsack/bounds.py`). Where there are
more arms than rounds in the longer window, an arm of which it holds nothing gives way to the one that was tried longest
ago: the bounds of both are the same, and always taking the first would never try the last.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, PerArm, Problem, Shared, Spent
from driftwise.core.validation import budgeted, number, one_of, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.families.knapsack.bounds import bound_costs, bound_reward, evidence, width
from driftwise.families.knapsack.cost_windows import (
    Spending,
    awaits,
    clear,
    enter,
    new_spending,
    pass_rounds,
    pend_spending,
    settle_spending,
    tried_before,
)
from driftwise.families.knapsack.randomized_action import draw_from
from driftwise.families.knapsack.round_lp import StepLP, new_step_lp, solve_step
from driftwise.families.knapsack.summaries import put_cost, put_reward, worth_less_costs

CONFS = ("paper", "appendix", "practical")
RHO = 0.35  # of the practical width
LARGEST_SHRINK = 0.5


class SlidingKnapsackUCBState(NamedTuple):
    """The views of rewards and of costs, the bounds, and the laws they follow from.

    A width is `reaches` times `spans`, and has `gammas`, for rewards and for costs. `spans` are those of the windows in
    use where widths are `practical`, and 1 for others; `clip` is whether bounds are cut; `rates` is the printed b, and
    `share` what b is multiplied by; `unit` is the largest reward.
    """

    window: Spending
    upper: PerArm
    lower: PerArm
    reaches: Derived
    gammas: Derived
    spans: Shared
    practical: Shared
    clip: Shared
    rates: Derived
    share: Derived
    unit: Derived
    lp: StepLP


class SlidingKnapsackUCB(NamedTuple):
    """Optimistic rewards and costs over a window, and a linear program for the mix.

    Parameters
    ----------
    window : int
        Rounds remembered of rewards, and of costs unless `cost_window` says otherwise.
    cost_window : int
        Rounds remembered of costs; 0 takes `window`.
    conf : str
        `paper`, `appendix` or `practical`.
    scale : float
        Multiplies the width of the bounds.
    clip : int
        1 to cut bounds to [0, 1].
    resolve : int
        1 to solve with what is left of the budget.
    shrink : int
        1 to leave part of the budget for bad luck, as Appendix D does.

    >>> SlidingKnapsackUCB.paper(horizon=10_000, n_arms=10, n_resources=1, v1=1.0)
    SlidingKnapsackUCB(window=3189, cost_window=10000, conf='paper', scale=1.0, clip=0, resolve=0, shrink=0)
    """

    window: int = 1000
    cost_window: int = 0
    conf: str = "practical"
    scale: float = 1.0
    clip: int = 1
    resolve: int = 1
    shrink: int = 0

    @classmethod
    def paper(
        cls, horizon: int, n_arms: int, n_resources: int, v1: float = 0.0, v2: float = 0.0
    ) -> "SlidingKnapsackUCB":
        """Algorithm 1 as printed, with the windows of Theorem 1 for variations V1 of rewards and V2 of costs."""
        w1, w2 = _windows("paper", horizon, n_arms, n_resources, v1, v2)
        return cls(window=w1, cost_window=w2, conf="paper", clip=0, resolve=0)

    @classmethod
    def appendix(
        cls, horizon: int, n_arms: int, n_resources: int, v1: float = 0.0, v2: float = 0.0
    ) -> "SlidingKnapsackUCB":
        """The variant of Appendix D: widths that follow the mean, and part of the budget held back."""
        w1, w2 = _windows("appendix", horizon, n_arms, n_resources, v1, v2)
        return cls(window=w1, cost_window=w2, conf="appendix", resolve=0, shrink=1)

    def init(self, problem: Problem) -> SlidingKnapsackUCBState:
        """Nothing known: every arm may earn all and cost nothing."""
        n_arms, amounts, unit = budgeted("sliding-knapsack-ucb", problem)
        horizon, resources = problem.horizon, len(amounts)
        window = window_rounds(self.window, horizon)
        later = whole("cost_window", self.cost_window, low=0, high=horizon) or window
        one_of("conf", self.conf, CONFS)
        number("scale", self.scale, above=0.0)
        for name in ("clip", "resolve", "shrink"):
            whole(name, getattr(self, name), low=0, high=1)
        reaches, gammas = _laws(self.conf, self.scale, horizon, n_arms, resources)
        spans = [_span.function(each) if self.conf == "practical" else 1.0 for each in (window, later)]
        share = 1.0 - _shrinkage(amounts, horizon, n_arms, later) if self.shrink else 1.0
        state = SlidingKnapsackUCBState(
            window=new_spending(n_arms, resources, np.array([window, later])),
            upper=np.zeros(n_arms),
            lower=np.zeros((n_arms, resources)),
            reaches=reaches,
            gammas=gammas,
            spans=np.array(spans),
            practical=np.array([self.conf == "practical"]),
            clip=np.array([self.clip], np.int64),
            rates=amounts / horizon,
            share=np.array([share]),
            unit=np.array([unit]),
            lp=new_step_lp(n_arms, resources),
        )
        for arm in range(n_arms):
            _refresh.function(state, arm)
        return state


def _logs(conf: str, horizon: int, n_arms: int, resources: int) -> tuple[float, float]:
    """The logarithms that widths and windows have: of rewards, and of costs."""
    if conf == "paper":
        return math.log(12 * n_arms * horizon**3), math.log(12 * n_arms * resources * horizon**3)
    return math.log(n_arms * horizon**2), math.log(n_arms * resources * horizon**2)


def _windows(conf: str, horizon: int, n_arms: int, resources: int, v1: float, v2: float) -> tuple[int, int]:
    """The windows that the theorems take: all rounds where nothing varies."""
    horizon, logs = whole("horizon", horizon), _logs(conf, horizon, n_arms, resources)
    windows = [horizon, horizon]
    for place, (name, variation) in enumerate({"v1": v1, "v2": v2}.items()):
        if number(name, variation, above=0.0, closed="[") > 0.0:
            window = math.ceil(math.cbrt(n_arms * logs[place]) * math.cbrt(horizon / variation) ** 2)
            windows[place] = min(horizon, window)
    return windows[0], windows[1]


def _laws(conf: str, scale: float, horizon: int, n_arms: int, resources: int) -> tuple[Floats, Floats]:
    """The reaches and gammas of a width."""
    if conf == "practical":
        return np.full(2, RHO * scale), np.zeros(2)
    logs = np.array(_logs(conf, max(2, horizon), n_arms, resources))
    return (np.full(2, scale), logs) if conf == "appendix" else (scale * np.sqrt(2.0 * logs), np.zeros(2))


def _shrinkage(amounts: Floats, horizon: int, n_arms: int, window: int) -> float:
    """The eps of Appendix D, for the smallest budget, and the variation that the window is made for."""
    budget, gamma = float(amounts.min()), _logs("appendix", max(2, horizon), n_arms, len(amounts))[1]
    variation = horizon * math.sqrt(n_arms * gamma) / window**1.5 if window < horizon else 0.0
    alpha = math.sqrt(gamma * n_arms * budget) + n_arms * gamma
    beta = math.sqrt(gamma * budget) + math.cbrt(n_arms * gamma * variation) * math.cbrt(horizon) ** 2
    return float(min(LARGEST_SHRINK, (alpha + beta) / budget))


@kernel
def _span(window: int) -> float:
    """What a practical width grows by with its window."""
    return math.sqrt(math.log(max(2, window)) / 2.0)


@kernel
def _refresh(state: SlidingKnapsackUCBState, arm: int) -> None:
    window, clip, gammas, pending = state.window, state.clip[0], state.gammas, state.window.pending[arm]
    count = window.counts[arm, 0]
    tried, added = evidence(count, pending)
    state.upper[arm] = bound_reward(window.sums[arm, 0], count, tried, _reach(state, 0), gammas[0], clip)
    count = window.counts[arm, 1]
    tried, added = evidence(count, pending)
    bound_costs(state.lower[arm], window.spent[arm, 1], added, count, tried, _reach(state, 1), gammas[1], clip)


@kernel
def _reach(state: SlidingKnapsackUCBState, view: int) -> float:
    return float(state.reaches[view] * state.spans[view])


@kernel
def _solve(policy: SlidingKnapsackUCB, state: SlidingKnapsackUCBState, rates: Floats) -> None:
    """The mix of this round, in the room to work in."""
    lp = state.lp
    for resource in range(len(rates)):
        lp.budget[resource] = state.share[0] * (rates[resource] if policy.resolve else state.rates[resource])
    solve_step(lp, state.upper, state.lower.T, lp.budget)


@kernel
def _select(
    policy: SlidingKnapsackUCB, state: SlidingKnapsackUCBState, t: int, context: Floats, rng: Any
) -> tuple[int, float]:
    _solve(policy, state, context)
    arm, chance = draw_from(state.lp.mix, rng)
    return (tried_before(state.window, arm) if arm >= 0 else arm), chance


@kernel
def _update(
    policy: SlidingKnapsackUCB, state: SlidingKnapsackUCBState, decision: Decision, outcome: Spent, now: int
) -> None:
    if decision.action >= 0 and awaits(state, decision.t, now):
        enter(state, decision.t, decision.action, outcome.reward / state.unit[0], outcome.costs)


@kernel
def _appraise(
    policy: SlidingKnapsackUCB, state: SlidingKnapsackUCBState, t: int, context: Floats, prices: Floats
) -> None:
    _solve(policy, state, context)
    for resource in range(len(prices)):
        prices[resource] = state.unit[0] * state.lp.prices[resource]


@kernel
def _summarise(
    policy: SlidingKnapsackUCB, state: SlidingKnapsackUCBState, t: int, context: Floats, out: Summary
) -> None:
    """By the windows of rewards and of costs; the index is what an arm may earn less its costs at the LP's prices."""
    clear_summary(out)
    _solve(policy, state, context)
    window, unit = state.window, state.unit[0]
    for arm in range(len(state.upper)):
        count, total = window.counts[arm, 0], window.sums[arm, 0]
        reach = width(total / (count + 1.0), count, state.reaches[0], state.gammas[0])
        put_reward(out, arm, count, total, reach, unit)
        put_cost(out, arm, window.counts[arm, 1], window.spent[arm, 1])
        out.index[arm] = unit * worth_less_costs(state.upper[arm], state.lower[arm], state.lp.prices)


@kernel
def _restart(policy: SlidingKnapsackUCB, state: SlidingKnapsackUCBState, memory: int, window: int) -> None:
    clear(state.window, memory)
    if state.practical[0]:
        for view in range(2):
            state.spans[view] = _span(window)
    for arm in range(len(state.upper)):
        _refresh(state, arm)


register(SlidingKnapsackUCBState, refresh=_refresh)
register(
    SlidingKnapsackUCB,
    about=About(
        "horizon, budgets, and a window fit for the drift",
        "O(V^(1/3) T^(2/3) d / b + W)",
        "Liu, Jiang & Li 2022",
        family="knapsack",
    ),
    advance=pass_rounds,
    select=_select,
    pend=pend_spending,
    settle=settle_spending,
    update=_update,
    appraise=_appraise,
    summarise=_summarise,
    restart=_restart,
)
