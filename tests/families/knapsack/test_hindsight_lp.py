"""The best plan is the linear program written out in full, it can be played, and its prices prove it."""

from collections.abc import Sequence

import numpy as np
import pytest

from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.knapsack.hindsight.hindsight_lp import Plan, best_plan
from driftwise.families.knapsack.hindsight.master_lp import Lottery
from driftwise.families.knapsack.hindsight.resource_prices import even_plan
from driftwise.families.knapsack.means import Means
from tests.fixtures.knapsack_runs import KINDS, full_value, random_run, random_runs, step_value

CLOSE = 1e-9


def ceiling(means: Means, budgets: Floats, prices: Floats, ends: Sequence[int] = ()) -> float:
    """What nobody exceeds at these prices, round by round as the formula has it."""
    stops, budgets, prices = list(ends) or [means.horizon], np.atleast_2d(budgets), np.atleast_2d(prices)
    total = float((budgets * prices).sum())
    for t, row in enumerate(means.rows):
        due = sum(prices[k] for k, end in enumerate(stops) if t < end)
        total += max(0.0, max(means.rewards[row] - due @ means.costs[row]))
    return total


def check(plan: Plan, means: Means, budgets: Floats, ends: Sequence[int] = ()) -> None:
    """The plan keeps within the budgets and earns what it says; the prices prove the bound; both are the optimum."""
    rows, stops = plan.units.rows, list(ends) or [means.horizon]
    mixes = plan.mix(means.n_arms)[rows]
    assert mixes.min() >= 0.0
    assert mixes.sum(axis=1).max() <= 1.0 + CLOSE
    spent = np.cumsum(np.einsum("tji,ti->tj", means.costs[means.rows], mixes), axis=0)[np.array(stops) - 1]
    assert (spent <= np.atleast_2d(budgets) + CLOSE).all()
    np.testing.assert_allclose(np.atleast_2d(plan.spent), spent, atol=CLOSE)
    earned = (means.rewards[means.rows] * mixes).sum(axis=1)
    np.testing.assert_allclose(plan.rewards[rows], earned, atol=CLOSE)
    assert plan.value == pytest.approx(earned.sum(), abs=CLOSE)
    assert (plan.prices >= 0.0).all()
    assert plan.bound == pytest.approx(ceiling(means, budgets, plan.prices, ends), abs=CLOSE)
    assert plan.gap <= CLOSE
    assert len(plan.weights) <= plan.prices.size + 1
    worths = plan.worths(means)
    assert plan.bound == pytest.approx(
        (np.atleast_2d(budgets) * np.atleast_2d(plan.prices)).sum() + np.maximum(0.0, worths.max(axis=1))[rows].sum()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_is_the_full_program(kind: str) -> None:
    luck = np.random.default_rng(KINDS.index(kind))
    for _ in range(40):
        run = random_run(luck, kind)
        plan = best_plan(*run)
        check(plan, *run)
        exact = full_value(*run)
        assert plan.value == pytest.approx(exact, rel=1e-8, abs=CLOSE)
        assert plan.bound == pytest.approx(exact, rel=1e-8, abs=CLOSE)


@pytest.mark.parametrize("resources", [1, 2, 3, 4, 5])
def test_so_it_is_where_every_round_is_different(resources: int) -> None:
    luck = np.random.default_rng(resources)
    means = Means.of(luck.random((150, 8)), luck.random((150, resources, 8)))
    budgets = 150 * (0.1 + 0.4 * luck.random(resources))
    plan = best_plan(means, budgets)
    check(plan, means, budgets)
    assert plan.value == pytest.approx(full_value(means, budgets), rel=1e-8)


def test_budgets_that_arrive_in_portions() -> None:
    luck = np.random.default_rng(3)
    for run in random_runs(7, 90, most=(8, 4, 3)):
        horizon = run.means.horizon
        inner = luck.permutation(np.arange(1, horizon))[: luck.integers(0, 4)]
        ends = [*sorted(inner.tolist()), horizon]
        limits = np.cumsum(0.05 + luck.random((len(ends), 1)) * run.budgets / len(ends), axis=0)
        plan = best_plan(run.means, limits, ends=ends)
        assert plan.prices.shape == limits.shape
        check(plan, run.means, limits, ends)
        assert plan.value == pytest.approx(full_value(run.means, limits, ends), rel=1e-8, abs=CLOSE)
        assert plan.value <= best_plan(run.means, limits[-1]).bound + CLOSE


def test_an_end_that_binds_nothing_changes_nothing() -> None:
    for means, budgets in random_runs(11, 12):
        if means.horizon > 1:
            ends = [means.horizon // 2, means.horizon]
            both = best_plan(means, [budgets, budgets], ends=ends)
            assert both.value == pytest.approx(best_plan(means, budgets).value, rel=1e-8, abs=CLOSE)


def test_what_is_left_over_costs_nothing() -> None:
    """Two resources, each used in its own half, and enough of both; spending evenly earns two thirds."""
    means = Means.of([[1.0], [1.0]], [[[1.0], [0.0]], [[0.0], [1.0]]], rows=[0] * 450 + [1] * 450)
    plan, even = best_plan(means, [600.0, 600.0]), even_plan(means, [600.0, 600.0])
    assert plan.value == plan.bound == 900.0
    assert plan.prices.tolist() == [0.0, 0.0]
    assert even.value == pytest.approx(600.0)


@pytest.mark.parametrize("step", [-0.8, -0.1, 0.1, 0.8])
def test_half_of_the_rounds_can_be_played_and_the_second_half_pays_more_or_less(step: float) -> None:
    means = Means.of([[1.0], [1.0 + step]], [[[1.0]], [[1.0]]], rows=[0] * 200 + [1] * 200)
    assert best_plan(means, [200.0]).value == pytest.approx(200.0 * max(1.0, 1.0 + step))


def test_rewards_and_costs_that_turn_together_have_a_closed_form() -> None:
    horizon, b, r, first, second = 1000, 0.25, 0.5, 0.2, 0.1
    halves = np.repeat([0, 1], horizon // 2)
    better = Means.of([[r], [r + first]], [[[2 * b]], [[2 * b - second]]], halves)
    worse = Means.of([[r], [r - first]], [[[2 * b]], [[2 * b + second]]], halves)
    budget = [b * horizon]
    more = horizon / 2 * (r + first) + horizon * second * r / (4 * b)
    assert best_plan(better, budget).value == pytest.approx(more)
    assert best_plan(worse, budget).value == pytest.approx(horizon * r / 2)


def test_where_only_the_names_of_arms_change_even_spending_is_the_best_plan() -> None:
    luck = np.random.default_rng(5)
    rewards, costs = luck.random(6), luck.random((3, 6))
    turned = [np.roll(np.arange(6), phase) for phase in range(5)]
    means = Means.of(
        [rewards[turn] for turn in turned], [costs[:, turn] for turn in turned], np.repeat(np.arange(5), 40)
    )
    budgets = 200 * np.array([0.2, 0.3, 0.15])
    plan, even = best_plan(means, budgets), even_plan(means, budgets)
    assert plan.value == pytest.approx(even.value, rel=1e-8)
    assert plan.value == pytest.approx(200 * step_value(rewards, costs, budgets / 200), rel=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_are_a_matter_of_taste(scale: float) -> None:
    """Rewards in cents, costs in tons, budgets for less than a round or for more than all of them."""
    for means, budgets in random_runs(41, 24):
        plan = best_plan(means, budgets)
        dear = best_plan(means._replace(rewards=scale * means.rewards), budgets)
        heavy = best_plan(means._replace(costs=scale * means.costs), scale * budgets)
        assert dear.value == pytest.approx(scale * plan.value, rel=1e-8)
        assert heavy.value == pytest.approx(plan.value, rel=1e-8)
        other = best_plan(means, scale * budgets)
        assert other.gap <= CLOSE
        assert other.value == pytest.approx(full_value(means, scale * budgets), rel=1e-6, abs=1e-9)


def test_nothing_to_earn() -> None:
    plan = best_plan(Means.of([[0.0, -1.0]], [[[0.5, 0.5]]], [0, 0]), [1.0])
    assert (plan.value, plan.bound, plan.gap) == (0.0, 0.0, 0.0)


def test_a_search_cut_short_says_so() -> None:
    luck = np.random.default_rng(0)
    means, budgets = Means.of(luck.random((300, 8)), luck.random((300, 4, 8))), np.full(4, 60.0)
    plan, exact = best_plan(means, budgets, questions=6), best_plan(means, budgets)
    assert plan.gap > 1e-4
    assert plan.value < exact.value + CLOSE
    assert exact.bound < plan.bound + CLOSE
    assert (plan.spent <= budgets + CLOSE).all()
    assert best_plan(means, budgets, tolerance=0.01).gap <= 0.01


def test_a_lottery_over_plans_is_the_program_of_a_round() -> None:
    """With plans for arms; nearly equal plans, as they are found near an optimum, included."""
    luck = np.random.default_rng(1)
    for trial in range(60):
        resources, plans = int(luck.integers(1, 7)), int(luck.integers(1, 30))
        rewards, spent = luck.random(plans), 3.0 * luck.random((resources, plans))
        if trial % 2:
            rewards, spent = 0.5 + 1e-6 * rewards, 2.0 + 1e-6 * spent
        lottery = Lottery(resources)
        for reward, column in zip(rewards, spent.T, strict=True):
            lottery.add(reward, column)
            value, weights, prices = lottery.best()
        assert value == pytest.approx(step_value(rewards, spent, np.ones(resources)), abs=CLOSE)
        assert (spent @ weights <= 1.0 + 1e-12).all()
        assert weights.sum() <= 1.0 + 1e-12
        assert prices.sum() + max(0.0, (rewards - prices @ spent).max()) == pytest.approx(value, abs=CLOSE)


ONE = Means.of([[1.0]], [[[1.0]]], [0, 0])


@pytest.mark.parametrize(
    ("budgets", "ends", "sentence"),
    [
        ([1.0, 1.0], (), r"budgets of shape \(2,\) are not one amount for each resource, of which there are 1"),
        ([0.0], (), "budget=0 is not a finite number above 0"),
        ([float("nan")], (), "budget=nan is not a finite number above 0"),
        ([1.0], [1, 2], r"budgets of shape \(1,\) do not fit 2 ends and 1 resources"),
        ([[1.0], [2.0]], [2, 1], r"ends=\[2, 1\] are not numbers of rounds that rise to the horizon 2"),
        ([[1.0], [2.0]], [1, 3], r"ends=\[1, 3\] are not numbers of rounds that rise to the horizon 2"),
        ([[1.0]], [1], r"ends=\[1\] are not numbers of rounds that rise to the horizon 2"),
        ([[2.0], [1.0]], [1, 2], "budgets fall from one end to the next: what may have been spent can only grow"),
        ([[0.0], [1.0]], [1, 2], "budget=0 is not a finite number above 0"),
    ],
)
def test_budgets_that_cannot_be(budgets: Floats, ends: list[int], sentence: str) -> None:
    with pytest.raises(ParameterError, match=f"^{sentence}$"):
        best_plan(ONE, budgets, ends=ends)


@pytest.mark.parametrize(
    ("rewards", "costs", "rows", "sentence"),
    [
        ([1.0], [[[1.0]]], None, r"rewards of shape \(1,\) are not a row of arms for each segment"),
        ([[1.0]], [[1.0]], None, r"costs of shape \(1, 1\) do not fit rewards of shape \(1, 1\)"),
        ([[1.0, 1.0]], [[[1.0]]], None, r"costs of shape \(1, 1, 1\) do not fit rewards of shape \(1, 2\)"),
        ([[float("nan")]], [[[1.0]]], None, "a mean reward or cost is not a finite number"),
        ([[1.0]], [[[float("inf")]]], None, "a mean reward or cost is not a finite number"),
        ([[1.0]], [[[1.0]]], [0, 1], "rows from 0 to 1 do not fit 1 segments"),
        ([[1.0]], [[[1.0]]], [0.5], r"rows of shape \(1,\) and type float64 do not name a segment for each round"),
        ([[1.0]], [[[1.0]]], [], r"rows of shape \(0,\) and type float64 do not name a segment for each round"),
    ],
)
def test_means_that_cannot_be(rewards: Floats, costs: Floats, rows: list[int] | None, sentence: str) -> None:
    with pytest.raises(ParameterError, match=f"^{sentence}$"):
        Means.of(rewards, costs, rows)
