"""Unrest, prices and the chain from even spending to the best plan: by definition, by HiGHS, and where a paper errs.

The inequalities are theorems: one violation among the random runs would be a mistake of ours, whatever the seed.
"""

import math
from typing import Any

import numpy as np
import pytest

from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.hindsight.minimal_spread import nearest_centres
from driftwise.families.knapsack.hindsight.path_length import Unrest, distances, spread, steps, unrest
from driftwise.families.knapsack.hindsight.regret_bound import knapsack_bound
from driftwise.families.knapsack.hindsight.resource_prices import even_plan, mean_program, prices
from driftwise.families.knapsack.hindsight.sandwich import Chain, chain
from driftwise.families.knapsack.means import Means
from tests.fixtures.knapsack_runs import KINDS, full_spread, random_run, random_runs, step_value

CLOSE = 1e-9
TRUE = ("even", "by_mean", "mean_by_even", "outer", "any_centre", "printed_last", "printed_outer")

# ---- unrest ----


def by_definition(means: Means, rewards_centre: Floats, costs_centre: Floats) -> Unrest:
    """All four, round by round."""
    rewards, costs = means.rewards[means.rows], means.costs[means.rows]
    rounds = range(means.horizon)
    pairs, resources = range(means.horizon - 1), range(means.n_resources)
    return Unrest(
        sum(max(abs(rewards[t + 1] - rewards[t])) for t in pairs),
        np.array([sum(max(abs(costs[t + 1, j] - costs[t, j])) for t in pairs) for j in resources], float),
        sum(max(abs(rewards[t] - rewards_centre)) for t in rounds),
        sum(max(abs(costs[t] - costs_centre).sum(axis=0)) for t in rounds),
    )


def same(ours: Unrest, theirs: Unrest) -> None:
    np.testing.assert_allclose(np.hstack(ours), np.hstack(theirs), atol=CLOSE)


def test_unrest_is_what_it_says() -> None:
    luck = np.random.default_rng(0)
    for means, _ in random_runs(1, 60):
        over_time = means.rewards[means.rows].mean(axis=0), means.costs[means.rows].mean(axis=0)
        same(unrest(means), by_definition(means, *over_time))
        centres = luck.normal(size=over_time[0].shape), luck.normal(size=over_time[1].shape)
        np.testing.assert_allclose(spread(means, *centres), by_definition(means, *centres)[2:], atol=CLOSE)


def test_the_slope_of_a_distance_supports_it() -> None:
    """A plane through one centre lies below the distance from every other, and touches it there."""
    luck = np.random.default_rng(2)
    for means, _ in random_runs(3, 30):
        cuts = np.array([0, len(means.costs) // 2, len(means.costs)])
        at, other = luck.random((2, *means.costs.shape[1:]))
        here, there = (np.empty(2), np.empty((2, *at.shape))), (np.empty(2), np.empty((2, *at.shape)))
        distances(means.costs, means.counts, cuts, at, np.empty(means.n_arms), *here)
        distances(means.costs, means.counts, cuts, other, np.empty(means.n_arms), *there)
        assert here[0].sum() == pytest.approx(spread(means, costs_centre=at)[1])
        assert (there[0] >= here[0] + (here[1] * (other - at)).sum(axis=(1, 2)) - CLOSE).all()


@pytest.mark.parametrize("ones", [1, 10, 50, 70, 99])
def test_one_arm_that_pays_for_a_while(ones: int) -> None:
    """The mean is the worst of centres here by a factor of up to two."""
    horizon = 100
    means = Means.of([[1.0], [0.0]], [[[0.5]], [[0.5]]], rows=[0] * ones + [1] * (horizon - ones))
    assert unrest(means).reward_spread == pytest.approx(2 * ones * (horizon - ones) / horizon)
    nearest = nearest_centres(means)
    assert nearest.rewards.value == pytest.approx(min(ones, horizon - ones), rel=1e-6)
    assert nearest.rewards.bound <= min(ones, horizon - ones) + CLOSE
    assert (nearest.costs.point.tolist(), nearest.costs.value, nearest.costs.bound) == ([[0.5]], 0.0, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_centre_is_the_full_program(kind: str) -> None:
    luck = np.random.default_rng(10 + KINDS.index(kind))
    for _ in range(8):
        means, _ = random_run(luck, kind, most=(8, 4, 3))
        nearest = nearest_centres(means, tolerance=1e-8)
        for centre, table in zip(nearest, (means.rewards[:, None, :], means.costs), strict=True):
            exact = full_spread(table, means.counts)
            assert centre.value == pytest.approx(exact, rel=2e-8, abs=CLOSE)
            assert centre.bound == pytest.approx(exact, rel=2e-8, abs=CLOSE)
            assert centre.bound <= exact + CLOSE
        found = spread(means, nearest.rewards.point, nearest.costs.point)
        np.testing.assert_allclose(found, [nearest.rewards.value, nearest.costs.value], atol=CLOSE)


def test_the_nearest_centre_where_every_round_is_different() -> None:
    luck = np.random.default_rng(4)
    means = Means.of(luck.random((2000, 6)), luck.random((2000, 2, 6)))
    nearest = nearest_centres(means)
    for centre in nearest:
        assert centre.gap <= 1e-6
        assert 0.0 < centre.bound <= centre.value
    w1, w2 = spread(means)
    assert nearest.rewards.value < w1
    assert nearest.costs.value < w2
    assert nearest_centres(means, questions=3).costs.gap > 1e-4


def test_segments_that_no_round_is_in_count_for_nothing() -> None:
    means = Means.of([[0.2], [0.4], [5.0]], [[[0.1]], [[0.1]], [[9.0]]], rows=[0, 1, 1, 1])
    without = Means.of(means.rewards[:2], means.costs[:2], means.rows)
    same(unrest(means), unrest(without))
    assert nearest_centres(means) == nearest_centres(without)
    assert even_plan(means, [0.1]).prices == pytest.approx(even_plan(without, [0.1]).prices)
    assert best_plan(means, [0.1]).value == pytest.approx(best_plan(without, [0.1]).value)


# ---- prices ----


def test_even_spending_is_a_program_for_every_round() -> None:
    for means, budgets in random_runs(21, 30):
        even, rates = even_plan(means, budgets), budgets / means.horizon
        exact = [step_value(means.rewards[s], means.costs[s], rates) for s in range(len(means.rewards))]
        np.testing.assert_allclose(even.rewards, exact, atol=CLOSE)
        assert even.value == pytest.approx(float(means.counts @ exact), abs=1e-8)


def test_prices_prove_what_they_belong_to() -> None:
    for means, budgets in random_runs(22, 60):
        rates, plan = budgets / means.horizon, best_plan(means, budgets)
        found = prices(means, budgets, plan=plan)
        value, mean_prices = mean_program(means, budgets)
        rewards, costs = means.rewards[means.rows].mean(axis=0), means.costs[means.rows].mean(axis=0)
        assert value == pytest.approx(step_value(rewards, costs, rates), abs=CLOSE)
        proof = rates @ mean_prices + max(0.0, (rewards - mean_prices @ costs).max())
        assert proof == pytest.approx(value, abs=CLOSE)
        np.testing.assert_array_equal(found.whole, plan.prices)
        np.testing.assert_array_equal(found.mean, mean_prices)
        for each in found:
            assert (each >= 0.0).all()
            assert (each <= 1.0 / rates + CLOSE).all()


# ---- the chain ----


@pytest.mark.parametrize("count", [60, pytest.param(330, marks=pytest.mark.deep)])
def test_the_chain_holds_without_exception(count: int) -> None:
    """And what holds for the nearest centres holds for any. Ten runs of each kind, or many."""
    luck = np.random.default_rng(30)
    for means, budgets in random_runs(31, count, most=(8, 5, 3)):
        (w1, w2), (v1, v2), nearest = spread(means), steps(means), nearest_centres(means)
        plan, (rewards, costs) = best_plan(means, budgets), nearest
        lines = chain(means, budgets, plan=plan, rewards_centre=rewards.point, costs_centre=costs.point)
        for name in TRUE:
            assert getattr(lines, name).slack >= -1e-7, (name, lines)
        assert v1 <= 2.0 * nearest.rewards.value + CLOSE
        assert v2.max() <= 2.0 * nearest.costs.value + CLOSE
        assert nearest.rewards.value <= w1 + CLOSE
        assert nearest.costs.value <= w2 + CLOSE
        elsewhere = chain(
            means,
            budgets,
            plan=plan,
            rewards_centre=luck.random(means.n_arms),
            costs_centre=luck.random((means.n_resources, means.n_arms)),
        )
        assert elsewhere.any_centre.slack >= -1e-7


def test_the_second_inequality_as_printed_fails() -> None:
    """Two arms that pay alike and take turns in being cheap. Neither rounds nor run have a price, but the mean has."""
    means = Means.of([[1.0, 1.0]] * 2, [[[0.4, 1.0]], [[1.0, 0.4]]], rows=[0] * 50 + [1] * 50)
    lines, found, drift = chain(means, [50.0]), prices(means, [50.0]), unrest(means)
    np.testing.assert_allclose(drift[2:], [0.0, 30.0])
    np.testing.assert_allclose([each[0] for each in found], [0.0, 0.0, 1 / 0.7])
    np.testing.assert_allclose(lines.printed_middle, [100.0, 71.43], atol=0.01)
    np.testing.assert_allclose(lines.by_mean, [100.0, 100 * 0.5 / 0.7 + 30 / 0.7])
    assert lines.printed_middle.slack < -28.0
    assert all(getattr(lines, name).slack >= -CLOSE for name in TRUE)


def test_prices_of_a_mean_can_exceed_those_of_what_it_is_the_mean_of() -> None:
    """Claim 2 of the paper says they cannot."""
    means = Means.of([[1.0], [0.0]], [[[0.4]], [[1.0]]])
    rounds, _, mean = prices(means, [1.0])
    assert rounds.tolist() == [0.0]
    assert mean[0] == pytest.approx(0.714, abs=1e-3)


def test_the_nearest_centre_can_lie_outside_the_hull() -> None:
    """Claim 1 of the paper says it cannot; the nearest point of the hull is the mean, by symmetry and convexity."""
    means = Means.of(np.eye(3), np.zeros((3, 1, 3)))
    nearest = nearest_centres(means).rewards
    assert nearest.value == pytest.approx(1.5)
    np.testing.assert_allclose(nearest.point, 0.5, atol=1e-6)
    assert spread(means)[0] == pytest.approx(2.0)
    luck = np.random.default_rng(40)
    for weights in luck.dirichlet(np.ones(3), 200):
        assert spread(means, rewards_centre=weights)[0] >= 2.0 - CLOSE


def test_a_budget_that_binds_in_every_round_but_not_over_the_run() -> None:
    means = Means.of([[1.0], [1.0]], [[[1.0], [0.0]], [[0.0], [1.0]]], rows=[0] * 450 + [1] * 450)
    budgets = [600.0, 600.0]
    drift, found, lines = unrest(means), prices(means, budgets), chain(means, budgets)
    np.testing.assert_allclose([drift.reward_steps, drift.reward_spread], 0.0)
    np.testing.assert_allclose([drift.cost_steps.max(), drift.cost_spread], [1.0, 900.0])
    np.testing.assert_allclose(lines.even, [600.0, 900.0])
    assert lines.mean_by_even.left == pytest.approx(900.0)
    np.testing.assert_allclose([found.rounds.max(), found.whole.max()], [1.0, 0.0])


# ---- the bound ----


def theorem_one(T: int, m: int, d: int, b: float, v1: float, v2: float, w1: float, w2: float, q: float) -> Any:  # noqa: N803
    """The proof's terms, written out."""
    l1, l2 = math.log(12 * m * T**3), math.log(12 * m * d * T**3)
    early = 4 * math.sqrt(T) * l2 + 8 * math.sqrt(2 * m * T) * math.sqrt(l2) + 1
    early += (14 + 2 * d) * m ** (1 / 3) * v2 ** (1 / 3) * T ** (2 / 3) * l2 ** (1 / 3)
    unknown = 4 * math.sqrt(T) * l1 + 8 * math.sqrt(2 * m * T) * math.sqrt(l1)
    unknown += 16 * m ** (1 / 3) * v1 ** (1 / 3) * T ** (2 / 3) * l1 ** (1 / 3)
    return early / b + unknown + 2 * (w1 + q * w2) + 1


def test_the_bound_is_theorem_one_by_its_proof() -> None:
    drift = Unrest(3.0, np.array([0.5, 2.0]), 700.0, 90.0)
    ours = knapsack_bound(drift, [0.3, 0.2], horizon=10_000, n_arms=7, price=2.5)
    assert ours == pytest.approx(theorem_one(10_000, 7, 2, 0.2, 3.0, 2.0, 700.0, 90.0, 2.5))


def test_the_bound_promises_something_only_after_millions_of_rounds() -> None:
    still, moving = Unrest(0.0, np.zeros(1), 0.0, 0.0), Unrest(1.0, np.ones(1), 0.0, 0.0)
    for drift, silent, telling in [(still, 10**6, 10**7), (moving, 10**8, 10**9)]:
        assert knapsack_bound(drift, [0.25], horizon=silent, n_arms=10, price=4.0) > silent
        assert knapsack_bound(drift, [0.25], horizon=telling, n_arms=10, price=4.0) < telling


# ---- what is refused ----

ONE: Any = Means.of([[1.0]], [[[1.0]]], [0, 0])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: even_plan(ONE, [-1.0]), "budget=-1 is not a finite number above 0"),
        (lambda: chain(ONE, [[1.0]]), r"budgets of shape \(1, 1\) are not one amount for each resource, .*"),
        (lambda: spread(ONE, [1.0, 2.0]), r"rewards_centre has shape \(2,\), the means it stands for \(1,\)"),
        (lambda: spread(ONE, [np.nan]), "rewards_centre has a number that is not finite"),
        (lambda: nearest_centres(ONE, tolerance=0.0), r"tolerance=0.0 is outside \(0, 1\)"),
        (lambda: nearest_centres(ONE, questions=0), "questions=0 is not a whole number of at least 1"),
        (lambda: unrest(ONE._replace(rows=np.array([7]))), "rows from 7 to 7 do not fit 1 segments"),
        (
            lambda: knapsack_bound(unrest(ONE), [0.5, 0.5], horizon=2, n_arms=1, price=1.0),
            r"rates of shape \(2,\) do not fit 1 resources",
        ),
        (
            lambda: knapsack_bound(unrest(ONE), [0.5], horizon=2, n_arms=1, price=-1.0),
            r"price=-1.0 is outside \[0, inf\)",
        ),
    ],
)
def test_one_sentence_says_what_is_wrong(call: Any, sentence: str) -> None:
    with pytest.raises(ParameterError, match=f"^{sentence}$"):
        call()


def test_every_line_says_how_much_room_it_has() -> None:
    lines = chain(ONE, [1.0])
    assert isinstance(lines, Chain)
    assert all(line.slack == line.right - line.left for line in lines)
