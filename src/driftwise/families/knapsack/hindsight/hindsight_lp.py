"""The best plan in hindsight for a run with budgets: what regret is measured against.

    LP(T) = max sum_t mu_t' x_t   such that   sum_t C_t x_t <= B,   sum_i x_{t,i} <= 1,   x >= 0
          = min over q >= 0 of   B'q + sum_t max(0, max_i (mu_{t,i} - q'C_{t,.i}))

No policy earns more in expectation, whatever it knows. The rounds hang together by d budgets only, and given prices q
for the resources they fall apart: each takes the arm that is worth most once its costs are paid for. The right-hand
side is convex in d prices, and every question, "what at these prices?", is answered by a plan: what it earns and spends
is a plane under the function (`cutting_planes.py` says what to ask next). The lowest point above all planes is the best
lottery over the plans so far (`master_lp.py`). So both sides are certain: the lottery keeps within the budgets and
earns `value`, and at `prices` nobody earns more than `bound`.

A budget may also arrive in portions: by the end of round `ends[k]` no more than `budgets[k]` may have been spent. Each
end and resource then has a price of its own, and a round pays those of all the ends that are still to come.

mu, C      means.rewards, means.costs        B   budgets        q   prices
x_t        column rows[t] of choices, drawn by weights
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families.knapsack.ground_truth import KnapsackGroundTruth
from driftwise.families.knapsack.hindsight.cutting_planes import CAUTION, between, next_caution
from driftwise.families.knapsack.hindsight.master_lp import Lottery
from driftwise.families.knapsack.means import Means, amounts, positive

Arms = NDArray[np.int32]
UNHEARD = np.empty(0, np.int32)

GAP = 1e-7  # how well the plan must be known


class Units(NamedTuple):
    """What is decided at once: the rounds of a segment, or those of them between two ends. Round t is in `rows[t]`."""

    segments: Arms
    stages: Arms
    counts: Floats
    rows: Arms


class Plan(NamedTuple):
    """A plan that keeps within its budgets, and the proof that no other earns more than `bound`.

    With probability `weights[p]` a round plays the arm that `choices[p]` has for its unit, -1 being the null arm; with
    what is left of probability it plays nothing.

    Parameters
    ----------
    value, bound : float
        What the plan earns, and what no plan exceeds.
    prices, spent : Floats
        Of each resource; shape (d,), or (stages, d) where budgets arrive in portions.
    weights : Floats
        Shape (P,), P at most one more than the number of prices.
    choices : Arms
        Shape (P, U). Kept this way, 100,000 rounds with 50 arms and 5 resources take 2 megabytes and not 40.
    rewards : Floats
        Shape (U,): what the plan earns in a round of each unit.
    units : Units
        What U stands for: the segments, where there is one budget for the whole run.
    """

    value: float
    bound: float
    prices: Floats
    spent: Floats
    weights: Floats
    choices: Arms
    rewards: Floats
    units: Units

    @property
    def gap(self) -> float:
        """How far the plan may be from the best one, in shares of the bound."""
        return max(0.0, self.bound - self.value) / self.bound if self.bound > 0.0 else 0.0

    def mix(self, n_arms: int) -> Floats:
        """How likely each arm is in each unit, shape (U, m): dense, for runs of moderate size."""
        mix, units = np.zeros((self.choices.shape[1], n_arms + 1)), np.arange(self.choices.shape[1])
        for weight, arms in zip(self.weights, self.choices, strict=True):
            mix[units, arms] += weight
        return mix[:, :-1]

    def worths(self, means: Means) -> Floats:
        """What each arm is worth in each unit once its costs are paid for, shape (U, m)."""
        due = _due(np.atleast_2d(self.prices))[self.units.stages]
        worths: Floats = means.rewards[self.units.segments]
        worths -= np.einsum("uj,uji->ui", due, means.costs[self.units.segments])
        return worths


def best_plan(
    means: Means,
    budgets: ArrayLike,
    *,
    ends: Sequence[int] = (),
    tolerance: float = 1e-9,
    questions: int = 5000,
) -> Plan:
    """LP(T), from both sides, and a plan that reaches it.

    Parameters
    ----------
    means : Means
        Of the whole run.
    budgets : ArrayLike
        What may be spent of each resource; with `ends`, a row for each of them: what may have been spent by then.
    ends : Sequence[int]
        Numbers of rounds, rising to the horizon.
    tolerance : float
        The gap at which to stop.
    questions : int
        The number of prices to ask before stopping in any case; `gap` then says how far it got.

    Examples
    --------
    One arm that costs 1 and pays 1 in the first half of 100 rounds, 2 in the second. There is enough for 60 rounds; and
    then there is enough for 5 at first, and for 45 in all.

    >>> means = Means.of([[1.0], [2.0]], [[[1.0]], [[1.0]]], rows=[0] * 50 + [1] * 50)
    >>> plan = best_plan(means, [60.0])
    >>> round(plan.value, 9), plan.rewards.round(9), plan.prices
    (110.0, array([0.2, 2. ]), array([1.]))
    >>> round(best_plan(means, [[5.0], [45.0]], ends=[50, 100]).value, 9)
    90.0
    """
    means = Means.of(*means)
    limits, staged = _limits(means, budgets, ends)
    number("tolerance", tolerance, above=0.0, below=1.0)
    search = _Search(means, limits, _units(means, ends if staged else ()))
    for _ in range(whole("questions", questions)):
        search.ask()
        if search.bound - search.value <= tolerance * search.bound:
            break
    return search.plan(staged)


class _Search:
    """Questions asked and plans found, and what follows from them."""

    def __init__(self, means: Means, limits: Floats, units: Units) -> None:
        self.means, self.limits, self.units = means, limits, units
        self.prices_tried: list[Floats] = []
        self.lottery = Lottery(limits.size)
        self.unit = means.horizon * max(float(means.rewards.max()), np.finfo(float).tiny)  # nobody earns more
        self.value, self.bound, self.caution = 0.0, np.inf, CAUTION
        self.best = self.lowest = np.zeros_like(limits)
        self.weights = np.zeros(0)

    def ask(self) -> None:
        """One more plan, and the best lottery with it."""
        prices = between(self.best, self.lowest, self.caution) if self.prices_tried else self.lowest
        reward, costs = self.at(prices)
        ceiling = reward + float((prices * (self.limits - costs)).sum())
        if self.prices_tried:
            self.caution = next_caution(self.caution, ceiling < self.bound)
        if ceiling < self.bound:
            self.bound, self.best = ceiling, prices
        self.prices_tried.append(prices)
        self.lottery.add(reward / self.unit, (costs / self.limits).ravel())
        value, self.weights, shares = self.lottery.best()
        self.value, self.lowest = self.unit * value, self.unit * shares.reshape(self.limits.shape) / self.limits

    def at(self, prices: Floats, arms: Arms = UNHEARD) -> tuple[float, Floats]:
        """What the plan made at these prices earns, and what it has spent by each end."""
        costs, worth = np.empty_like(self.limits), np.empty(self.means.n_arms)
        return _take(self.means, self.units, _due(prices), worth, costs, arms), np.cumsum(costs, axis=0)

    def plan(self, staged: bool) -> Plan:
        """The lottery as a plan. The model's own prices are often exact: they are asked last of all."""
        reward, costs = self.at(self.lowest)
        ceiling = reward + float((self.lowest * (self.limits - costs)).sum())
        prices = self.lowest if ceiling <= self.bound else self.best
        drawn = np.flatnonzero(self.weights)
        choices = np.empty((len(drawn), len(self.units.counts)), np.int32)
        total, rewards = np.zeros_like(self.limits), np.zeros(len(self.units.counts))
        for arms, which in zip(choices, drawn, strict=True):
            total += self.weights[which] * self.at(self.prices_tried[which], arms)[1]
            earned = self.means.rewards[self.units.segments, arms]
            rewards += self.weights[which] * np.where(arms >= 0, earned, 0.0)
        value = float(self.units.counts @ rewards)
        shape = self.limits.shape if staged else self.limits.shape[1:]
        prices, total = prices.reshape(shape), total.reshape(shape)
        return Plan(value, min(ceiling, self.bound), prices, total, self.weights[drawn], choices, rewards, self.units)


@kernel
def _take(means: Means, units: Units, due: Floats, worth: Floats, costs: Floats, arms: Arms) -> float:
    """Let every unit take the arm that is worth most at the prices `due` in its stage; return what that earns.

    `costs` gets what it costs in each stage, and `arms`, if it has room, the arms.
    """
    earned = 0.0
    costs[:] = 0.0
    for unit in range(len(units.counts)):
        segment, stage, count = units.segments[unit], units.stages[unit], units.counts[unit]
        for arm in range(len(worth)):
            worth[arm] = means.rewards[segment, arm]
        for resource in range(due.shape[1]):
            price = due[stage, resource]
            if price != 0.0:
                for arm in range(len(worth)):
                    worth[arm] -= price * means.costs[segment, resource, arm]
        best, top = -1, 0.0
        for arm in range(len(worth)):
            if worth[arm] > top:
                best, top = arm, worth[arm]
        if len(arms):
            arms[unit] = best
        if best >= 0:
            earned += count * means.rewards[segment, best]
            for resource in range(due.shape[1]):
                costs[stage, resource] += count * means.costs[segment, resource, best]
    return earned


def _due(prices: Floats) -> Floats:
    """What a round of each stage pays: the prices of its own end and of all later ones."""
    return np.ascontiguousarray(np.cumsum(prices[::-1], axis=0)[::-1])


def _limits(means: Means, budgets: ArrayLike, ends: Sequence[int]) -> tuple[Floats, bool]:
    """What may have been spent by each end, and whether there is more to it than one budget for the whole run."""
    if not len(ends):
        return amounts(means, budgets)[None, :], False
    limits = np.ascontiguousarray(budgets, np.float64)
    if limits.shape != (len(ends), means.n_resources):
        fit = f"{len(ends)} ends and {means.n_resources} resources"
        raise ParameterError(f"budgets of shape {limits.shape} do not fit {fit}")
    marks = np.asarray(ends)
    rising = np.issubdtype(marks.dtype, np.integer) and (np.diff(marks, prepend=0) > 0).all()
    if not rising or marks[-1] != means.horizon:
        rule = f"numbers of rounds that rise to the horizon {means.horizon}"
        raise ParameterError(f"ends={marks.tolist()} are not {rule}")
    if (np.diff(limits, axis=0) < 0.0).any():
        raise ParameterError("budgets fall from one end to the next: what may have been spent can only grow")
    return positive(limits), True


def _units(means: Means, ends: Sequence[int]) -> Units:
    """Segments, cut at the ends."""
    segments = len(means.rewards)
    if not len(ends):
        numbers = np.arange(segments, dtype=np.int32)
        return Units(numbers, np.zeros(segments, np.int32), means.counts, means.rows)
    stages = np.searchsorted(np.asarray(ends), np.arange(means.horizon), side="right")
    cells, rows, counts = np.unique(stages * segments + means.rows, return_inverse=True, return_counts=True)
    named, staged = (cells % segments).astype(np.int32), (cells // segments).astype(np.int32)
    return Units(named, staged, counts.astype(np.float64), rows.astype(np.int32))


def plan_of(world: KnapsackGroundTruth, horizon: int, seed: int) -> tuple[Plan, Any]:
    """The best plan for one run of a world, and the means it is made from."""
    stages, means = world.stages(horizon), world.means(horizon, seed)
    if len(stages.starts) == 1:
        return best_plan(means, stages.there[0], tolerance=GAP), means
    return best_plan(means, stages.there, ends=[*stages.starts[1:].tolist(), horizon], tolerance=GAP), means
