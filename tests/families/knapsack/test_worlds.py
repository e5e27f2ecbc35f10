"""Worlds with budgets: they pay and cost what they say, and close when they must.

Statistical tests have fixed seeds and a false-alarm rate of ALARM = 1e-5 each; there are fewer than 100.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from driftwise.core.spec import describe, parse
from driftwise.core.types import Floats
from driftwise.core.verbs import observe, respond
from driftwise.errors import ParameterError
from driftwise.families import (
    WORLDS,
    AdPacing,
    BudgetRotating,
    BudgetSinusoidal,
    BudgetStationary,
    BudgetSwitching,
    KnapsackExample,
    NetworkPricing,
)
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.hindsight.minimal_spread import nearest_centres
from driftwise.families.knapsack.hindsight.path_length import unrest
from driftwise.families.knapsack.hindsight.resource_prices import even_plan
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.families.knapsack.worlds.glide import STEPS
from driftwise.families.knapsack.worlds.knapsack_example import KINDS
from tests.fixtures.by_family import BUDGETED_WORLDS

ALARM = 1e-5
ROUNDS = 3000
EVERY_WORLD: dict[str, Any] = {name: kind() for name, kind in BUDGETED_WORLDS.items()} | {
    kind: KnapsackExample(kind=kind, delta2=0.1) for kind in KINDS
}
RANDOM = {name: world for name, world in EVERY_WORLD.items() if name not in ("knapsack-example", *KINDS)}
RANDOM |= {name: EVERY_WORLD[name] for name in ("lower-bound-1", "lower-bound-2")}


@dataclass(frozen=True, kw_only=True)
class Exact(BudgetWorld):
    """One arm that always pays 1 and costs the same; there is `budget` of each resource."""

    costs: tuple[float, ...] = (1.0,)
    budget: tuple[float, ...] = (5.0,)

    law: ClassVar[str] = "exact"

    @property
    def arms(self) -> int:
        return 1

    def rates(self, horizon: int) -> Floats:
        return np.array(self.budget) / horizon

    def means(self, horizon: int, seed: int) -> Means:
        return Means.of([[1.0]], np.array(self.costs)[None, :, None], np.zeros(horizon, np.int64))


def without_limit(tape: Any) -> Any:
    """The same tape with budgets that never end."""
    return tape._replace(stages=tape.stages._replace(there=np.full_like(tape.stages.there, np.inf)))


def told(world: Any, arm: int, seed: int, rounds: int = ROUNDS) -> tuple[Floats, Floats]:
    """What an arm pays, and costs, in every round."""
    tape, nature = world.draw(rounds, seed)
    tape = without_limit(tape)
    rewards, costs = np.zeros(rounds), np.zeros((rounds, len(nature.costs)))
    for t in range(rounds):
        outcome = respond(tape, nature, t, arm)
        rewards[t], costs[t] = outcome.reward, outcome.costs
    return rewards, costs


def assert_mean(values: Floats, means: Floats) -> None:
    """What was drawn round by round has the means it was drawn with; what is certain is what it should be."""
    gaps = values - means
    error = np.sqrt((gaps**2).sum())
    assert abs(gaps.sum()) <= stats.norm.isf(ALARM / 2.0) * error + 1e-9


# ---- what is paid and what it costs ----


@pytest.mark.parametrize("name", RANDOM)
def test_rewards_and_costs_have_their_means(name: str) -> None:
    world, seed = RANDOM[name], 3
    means = world.means(ROUNDS, seed)
    for arm in (0, world.arms - 1):
        rewards, costs = told(world, arm, seed)
        assert_mean(rewards, means.rewards[means.rows, arm])
        for resource in range(costs.shape[1]):
            assert_mean(costs[:, resource], means.costs[means.rows, resource, arm])


@pytest.mark.parametrize("kind", ["motivating", "figure1", "c2", "lower-bound-3"])
def test_nothing_is_left_to_chance_where_the_paper_leaves_nothing(kind: str) -> None:
    world = EVERY_WORLD[kind]
    means = world.means(200, 0)
    rewards, costs = told(world, 0, 0, 200)
    np.testing.assert_array_equal(rewards, means.rewards[means.rows, 0])
    np.testing.assert_array_equal(costs, means.costs[means.rows, :, 0])


def test_reward_and_costs_are_independent_or_one() -> None:
    """By a noise each they are not correlated; by one noise the likelier always comes with the less likely."""
    world = BudgetStationary(n_arms=2)
    means, (rewards, costs) = world.means(ROUNDS, 1), told(world, 0, 1)
    products = (rewards - means.rewards[0, 0]) * (costs[:, 0] - means.costs[0, 0, 0])
    assert_mean(products, np.zeros(ROUNDS))
    ads = AdPacing()
    drawn, (clicks, paid) = ads.means(ROUNDS, 1), told(ads, 0, 1)
    for resource in range(2):
        dearer = drawn.costs[drawn.rows, resource, 0] >= drawn.rewards[drawn.rows, 0]
        assert (paid[dearer, resource] >= clicks[dearer]).all() and (paid[~dearer, resource] <= clicks[~dearer]).all()


def test_a_customer_buys_one_product_or_none() -> None:
    world, arm = NetworkPricing(season=0.0, trend=0.0), 6  # prices 4 and 6.5
    rewards, costs = told(world, arm, 0)
    bought = {0.0: (0.0, 0.0, 0.0), 4.0 / 6.5: (1.0, 1.0, 0.0), 1.0: (1.0, 1.0 / 3.0, 1.0)}
    for reward, cost in zip(rewards.tolist(), costs.tolist(), strict=True):
        assert cost == pytest.approx(bought[reward])
    chances = np.array([(8.0 - 1.5 * 4.0) / 30.0, max(0.0, 9.0 - 1.5 * 6.5) / 30.0])
    counts = [(rewards == 4.0 / 6.5).sum(), (rewards == 1.0).sum()]
    assert counts[1] == 0 and stats.binomtest(int(counts[0]), ROUNDS, chances[0]).pvalue > ALARM


def test_everybody_meets_the_same_customers() -> None:
    """The noise of a round does not depend on what was chosen before."""
    world = BudgetStationary(n_arms=3)
    tape, nature = world.draw(200, 0)
    tape, luck = without_limit(tape), np.random.default_rng(0)
    rewards, _ = told(world, 1, 0, 200)
    for t in range(200):
        arm = int(luck.integers(-1, 3))
        outcome = respond(tape, nature, t, arm)
        assert arm != 1 or outcome.reward == rewards[t]


# ---- the hard stop ----


def run(world: Any, horizon: int, choices: list[int], seed: int = 0) -> tuple[list[float], list[float], int, Any]:
    """Rewards, what was spent of the first resource, the rounds in which the world was open, and the till."""
    tape, nature = world.draw(horizon, seed)
    rewards: list[float] = []
    spent: list[float] = []
    for t, arm in enumerate(choices):
        if not observe(tape, nature, t)[1]:
            return rewards, spent, t, nature
        rewards.append(respond(tape, nature, t, arm).reward)
        spent.append(float(nature.spent[0]))
    return rewards, spent, len(choices), nature


def test_the_reward_of_the_round_that_would_spend_too_much_does_not_count() -> None:
    rewards, spent, rounds, nature = run(Exact(costs=(2.0 / 3.0,)), 20, [0] * 20)
    assert rewards == [1.0] * 7 + [0.0] and rounds == 8, "the eighth would have spent 5 1/3"
    assert spent[-1] == spent[-2] == pytest.approx(14.0 / 3.0), "and it is not spent"
    assert not nature.costs.any()


def test_a_budget_spent_to_the_last_cent_closes_nothing() -> None:
    rewards, spent, rounds, _ = run(Exact(), 20, [0] * 5 + [-1] * 15)
    assert sum(rewards) == spent[-1] == 5.0 and rounds == 20
    assert run(Exact(), 20, [0] * 5 + [-1] * 3 + [0] * 12)[2] == 9, "only the next purchase does"


def test_sums_of_cents_are_not_held_to_their_last_bit() -> None:
    world = Exact(costs=(0.1,), budget=(0.3,))
    assert 0.1 + 0.1 + 0.1 > 0.3
    assert run(world, 10, [0] * 10)[0] == [1.0] * 3 + [0.0]


def test_one_resource_that_is_gone_is_enough_and_the_others_are_not_charged() -> None:
    world = Exact(costs=(0.5, 1.0), budget=(100.0, 3.0))
    rewards, _, rounds, nature = run(world, 200, [0] * 200)
    assert sum(rewards) == 3.0 and rounds == 4
    np.testing.assert_array_equal(nature.spent, [1.5, 3.0])


def test_a_world_whose_budget_lasts_stays_open_to_the_end() -> None:
    assert run(Exact(budget=(50.0,)), 30, [0] * 30)[:3:2] == ([1.0] * 30, 30)


@pytest.mark.parametrize("more", [{}, {"portions": 4}, {"surprise": 0.3}, {"portions": 3, "surprise": 0.2}], ids=str)
@pytest.mark.parametrize("kind", [BudgetSwitching, AdPacing, NetworkPricing])
def test_nobody_spends_more_than_there_is(kind: Any, more: dict[str, Any]) -> None:
    world, horizon = kind(**more), 400
    tape, nature = world.draw(horizon, 5)
    luck, stages = np.random.default_rng(5), world.stages(horizon)
    for t in range(horizon):
        if not observe(tape, nature, t)[1]:
            break
        respond(tape, nature, t, int(luck.integers(world.arms)))
        stage = np.flatnonzero(stages.starts <= t)[-1]
        assert (nature.spent <= stages.there[stage] + 1e-6).all()
    assert t < horizon - 1, "it was spent in vain"


# ---- rates, portions, surprises ----


def rates_of(world: Any, horizon: int, choices: list[int]) -> list[float]:
    """What may be spent of the first resource, as it is shown round by round."""
    tape, nature = world.draw(horizon, 0)
    shown = []
    for t, arm in enumerate(choices):
        shown.append(float(observe(tape, nature, t)[0][0]))
        respond(tape, nature, t, arm)
    return shown


def test_rates_are_what_is_left_by_the_rounds_left() -> None:
    shown = rates_of(Exact(), 10, [0, -1, 0, 0, -1, -1, 0, 0, -1, -1])
    left, chosen = [5, 4, 4, 3, 2, 2, 2, 1, 0, 0], range(10, 0, -1)
    np.testing.assert_allclose(shown, [a / b for a, b in zip(left, chosen, strict=True)])


def test_portions_are_foreseen_and_a_purchase_that_fails_waits_for_the_next() -> None:
    world = Exact(portions=2, budget=(6.0,))
    np.testing.assert_array_equal(world.stages(10).there[:, 0], [3.0, 6.0])
    shown = rates_of(world, 10, [0] * 10)
    assert shown[0] == 0.6 and shown[4] == pytest.approx(3.0 / 6.0), "planned with what will come"
    rewards, spent, rounds, _ = run(world, 10, [0] * 10)
    assert rewards == [1, 1, 1, 0, 0, 1, 1, 1, 0] and rounds == 9
    assert spent == [1, 2, 3, 3, 3, 4, 5, 6, 6]
    cheap = run(Exact(portions=2, budget=(6.0,), costs=(0.4,)), 20, [0] * 20)
    assert cheap[0] == [1] * 7 + [0] * 3 + [1] * 8 + [0], "after it, even what could be paid for fails till then"


def test_a_surprise_is_not_planned_with_before_it_comes() -> None:
    world = Exact(surprise=1.0, budget=(4.0,))
    assert world.problem(8).structure.amounts == [4.0], "nobody is told"
    shown = rates_of(world, 8, [-1] * 8)
    np.testing.assert_allclose(shown, [4 / 8, 4 / 7, 4 / 6, 4 / 5, 8 / 4, 8 / 3, 8 / 2, 8 / 1])
    assert sum(run(world, 8, [0] * 8)[0]) == 8.0
    early = run(Exact(surprise=1.0, budget=(2.0,)), 8, [0] * 8)
    assert early[0] == [1, 1, 0, 0, 1, 1, 0], "one that was spent early opens again"


def test_portions_and_a_surprise_may_come_together() -> None:
    stages = Exact(portions=3, surprise=0.5, budget=(6.0,)).stages(12)
    np.testing.assert_array_equal(stages.starts, [0, 4, 6, 8])
    np.testing.assert_allclose(stages.there[:, 0], [2.0, 4.0, 7.0, 9.0])
    np.testing.assert_allclose(stages.known[:, 0], [6.0, 6.0, 9.0, 9.0])


@pytest.mark.parametrize(
    "more", [{"portions": 0}, {"portions": 1.5}, {"surprise": -0.1}, {"surprise": np.nan}], ids=str
)
def test_stages_that_cannot_be_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        BudgetStationary(**more)


# ---- what drifts ----


@pytest.mark.parametrize("name", EVERY_WORLD)
def test_means_are_shares_and_a_function_of_the_seed(name: str) -> None:
    world = EVERY_WORLD[name]
    for horizon in (1, 2, 37, 5000):
        if horizon < len(world.changes(5000, 0)) + 1:
            continue
        means, again = world.means(horizon, 4), world.means(horizon, 4)
        assert means.horizon == horizon and means.n_arms == world.arms == world.problem(horizon).n_arms
        assert means.n_resources == len(world.rates(horizon))
        assert 0.0 <= means.rewards.min() <= means.rewards.max() <= 1.0
        assert 0.0 <= means.costs.min() <= means.costs.max() <= 1.0
        np.testing.assert_array_equal(means.rewards, again.rewards)
        np.testing.assert_array_equal(means.costs, again.costs)


def test_switching_draws_every_phase_anew_and_standing_still_draws_once() -> None:
    still, switching = BudgetStationary().means(100, 7), BudgetSwitching(phases=4).means(100, 7)
    assert still.counts.tolist() == [100] and switching.counts.tolist() == [25] * 4
    assert len(np.unique(switching.rewards)) == 4 * 8


def test_rotating_moves_arms_around_and_leaves_what_can_be_earned() -> None:
    world, horizon = BudgetRotating(n_arms=4, resources=2, phases=7), 700
    means = world.means(horizon, 3)
    for phase in range(7):
        row = means.rows[100 * phase]
        np.testing.assert_array_equal(means.rewards[row], np.roll(means.rewards[0], -phase))
        np.testing.assert_array_equal(means.costs[row], np.roll(means.costs[0], -phase, axis=1))
    budgets = world.problem(horizon).structure.amounts
    even = even_plan(means, budgets)
    assert best_plan(means, budgets).value == pytest.approx(even.value, rel=1e-8), "saving for later gains nothing"


def test_waves_are_waves_and_more_cycles_only_lengthen_the_path() -> None:
    horizon, seed = 8000, 2
    slow, fast = (BudgetSinusoidal(amp=0.3, cycles=cycles).means(horizon, seed) for cycles in (1, 8))
    wave = slow.rewards[slow.rows, 0]
    centre = (wave.max() + wave.min()) / 2.0
    assert wave.max() - centre == pytest.approx(0.3, abs=1e-4)
    spectrum = np.abs(np.fft.rfft(wave - wave.mean()))
    assert np.argmax(spectrum) == 1 and np.argmax(np.abs(np.fft.rfft(fast.rewards[fast.rows, 0] - wave.mean()))) == 8
    one, eight = unrest(slow), unrest(fast)
    assert (eight.reward_spread, eight.cost_spread) == pytest.approx((one.reward_spread, one.cost_spread))
    assert eight.reward_steps == pytest.approx(8.0 * one.reward_steps, rel=0.01)
    still = unrest(BudgetSinusoidal(amp=0.0).means(horizon, seed))
    assert still.reward_steps == 0.0 and still.cost_spread == pytest.approx(0.0, abs=1e-9)


def test_demand_follows_season_and_trend() -> None:
    """Against the formulas, written once more, for a run with a step per round."""
    horizon, uses = 500, [[1.0, 1.0], [1.0, 1.0 / 3.0], [0.0, 1.0]]
    means = NetworkPricing().means(horizon, 0)
    prices = [(1, 1.5), (1, 2), (2, 3), (2, 4), (3, 3), (4, 4), (4, 6.5), (3, 5)]
    for t in (0, 100, 499):
        when = (t + 0.5) / horizon
        size, deters = 1.0 + 0.35 * np.sin(4.0 * np.pi * when), 1.0 - 0.35 * when
        for arm, (p1, p2) in enumerate(prices):
            first = size * max(0.0, 8.0 - 1.5 * deters * p1) / 30.0
            second = size * max(0.0, 9.0 - 1.5 * deters * p2) / 30.0
            assert first + second <= 1.0
            row = means.rows[t]
            assert means.rewards[row, arm] == pytest.approx((p1 * first + p2 * second) / 6.5)
            np.testing.assert_allclose(means.costs[row, :, arm], [a * first + b * second for a, b in uses])
    np.testing.assert_allclose(NetworkPricing(load=0.3).rates(horizon), 0.3 * means.costs.mean(axis=(0, 2)))


def test_advertisements_tire_and_the_market_rises() -> None:
    horizon = 2000
    means = AdPacing(days=10).means(horizon, 1)
    clicks, spend = means.rewards[means.rows], means.costs[means.rows, 0]
    days = clicks.reshape(10, 200, 10).mean(axis=1)
    assert (np.diff(days, axis=0) <= 1e-12).all() and (days[-1] < 0.9 * days[0]).any()
    paid = spend.reshape(10, 200, 10).mean(axis=1)
    np.testing.assert_allclose(paid[-1] / paid[0], (1 + 0.4 * 0.95) / (1 + 0.4 * 0.05), rtol=0.01)
    spectrum = np.abs(np.fft.rfft(clicks[:, 0] / np.convolve(clicks[:, 0], np.ones(200) / 200, "same") - 1.0))
    assert np.argmax(spectrum[3:100]) + 3 == 10
    assert (means.costs[:, 1] == means.costs[0, 1]).all(), "the audience stays"


def test_what_glides_is_kept_in_steps_however_long_the_run() -> None:
    for world in (NetworkPricing(), AdPacing(), BudgetSinusoidal()):
        short, long = world.means(STEPS, 0), world.means(10 * STEPS, 0)
        assert len(long.rewards) <= STEPS
        values = [best_plan(each, world.problem(each.horizon).structure.amounts).value for each in (short, long)]
        assert values[1] == pytest.approx(10.0 * values[0], rel=1e-3)


# ---- the paper's constructions ----


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("delta", [0.0, 0.1, 0.8])
def test_motivating_example(delta: float, sign: int) -> None:
    """LP(T) = T / 2 max(1, 1 + sign delta), and rewards are divided by 1 + delta."""
    world, horizon = KnapsackExample(delta=delta, sign=sign), 1000
    means, budgets = world.means(horizon, 0), world.problem(horizon).structure.amounts
    np.testing.assert_allclose(means.rewards.ravel() * (1.0 + delta), [1.0, 1.0 + sign * delta])
    assert (means.costs == 1.0).all() and budgets == [500.0]
    assert best_plan(means, budgets).value * (1.0 + delta) == pytest.approx(500.0 * max(1.0, 1.0 + sign * delta))
    assert world.changes(horizon, 0) == ([500] if delta else [])


@pytest.mark.parametrize("k", [1, 200, 500, 900])
def test_figure_one(k: int) -> None:
    """W1 = 2 k (T - k) / T around the mean, min(k, T - k) around the nearest centre."""
    horizon = 1000
    means = KnapsackExample(kind="figure1", k=k).means(horizon, 0)
    assert means.rewards[means.rows, 0].sum() == k
    assert unrest(means).reward_spread == pytest.approx(2.0 * k * (horizon - k) / horizon)
    assert nearest_centres(means).rewards.value == pytest.approx(min(k, horizon - k))


def test_appendix_c2() -> None:
    world = KnapsackExample(kind="c2")
    means, budgets = world.means(900, 0), world.problem(900).structure.amounts
    np.testing.assert_allclose(budgets, [600.0, 600.0])
    v1, v2, w1, w2 = unrest(means)
    assert (v1, v2.tolist(), w1, w2) == (0.0, [1.0, 1.0], 0.0, 900.0)
    assert even_plan(means, budgets).value == pytest.approx(600.0)
    assert best_plan(means, budgets).value == pytest.approx(900.0)


@pytest.mark.parametrize("n_arms", [2, 10])
@pytest.mark.parametrize("variation", [1.0, 8.0])
def test_first_lower_bound(n_arms: int, variation: float) -> None:
    """Stretches as long as V asks for; the best arm is drawn anew, so V1 is right on average (a z-test)."""
    world, horizon = KnapsackExample(kind="lower-bound-1", n_arms=n_arms, variation=variation), 20_000
    share = 1.0 - 1.0 / n_arms
    length = int(np.ceil((np.sqrt(n_arms) / 4.0 * share * horizon / variation) ** (2.0 / 3.0)))
    better = min(0.5, np.sqrt(n_arms / length) / 4.0)
    steps, turns = [], int(np.ceil(horizon / length)) - 1
    for seed in range(20):
        means = world.means(horizon, seed)
        np.testing.assert_allclose(means.rewards, 0.5 + better * np.eye(n_arms))
        assert not means.costs.any()
        assert all(change % length == 0 for change in world.changes(horizon, seed))
        steps.append(unrest(means).reward_steps / better)
    error = np.sqrt(20 * turns * share * (1.0 - share))
    assert abs(sum(steps) - 20 * turns * share) < stats.norm.isf(ALARM / 2.0) * error
    assert variation / 1.5 < better * turns * share < 1.5 * variation


def test_second_lower_bound() -> None:
    world, horizon = KnapsackExample(kind="lower-bound-2", n_arms=5, stretch=100, rate=0.2), 2001
    means = world.means(horizon, 1)
    dearer = np.sqrt(5 / 100) / 4.0
    costs = means.costs[means.rows, 0]
    assert (means.rewards == 1.0).all() and (costs[1000:] == 0.2).all()
    np.testing.assert_allclose(np.sort(costs[:1000], axis=1), [[0.2, *[0.2 + dearer] * 4]] * 1000)
    assert (costs[:1000].reshape(10, 100, 5) == costs[:1000:100, None]).all(), "the best arm is that of its stretch"
    np.testing.assert_allclose(world.problem(horizon).structure.amounts, [0.2 * horizon])
    assert KnapsackExample(kind="lower-bound-2", stretch=1, rate=0.5).means(100, 0).costs.max() == 1.0


@pytest.mark.parametrize("delta2", [0.0, 0.1])
@pytest.mark.parametrize("delta1", [0.1, 0.4])
def test_third_lower_bound(delta1: float, delta2: float) -> None:
    """LP+ = T / 2 (r + delta1) + T delta2 r / (4 b), LP- = T r / 2 where the second half is no better for its cost."""
    horizon, b, r = 1000, 0.25, 0.5
    better, worse = (
        KnapsackExample(kind="lower-bound-3", rate=b, reward=r, delta1=delta1, delta2=delta2, sign=sign)
        for sign in (1, -1)
    )
    values = [
        best_plan(each.means(horizon, 0), each.problem(horizon).structure.amounts).value for each in (better, worse)
    ]
    rich = horizon / 2.0 * (r + delta1) + horizon * delta2 * r / (4.0 * b)
    assert values == pytest.approx([rich, horizon * r / 2.0])


BAD = [
    {"kind": "figure2"},
    {"sign": 0},
    {"delta": 1.5},
    {"k": -1},
    {"n_arms": 1},
    {"stretch": -1},
    {"variation": 0.0},
    {"rate": 0.6},
    {"kind": "lower-bound-3", "delta1": 0.6},
    {"kind": "lower-bound-3", "rate": 0.5, "delta2": 0.1},
]


@pytest.mark.parametrize("more", BAD, ids=str)
def test_constructions_that_cannot_be_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        KnapsackExample(**more)


def test_a_horizon_too_short_is_refused() -> None:
    with pytest.raises(ParameterError, match="k=30 does not fit the horizon 20"):
        KnapsackExample(kind="figure1", k=30).means(20, 0)


WRONG: list[tuple[Any, dict[str, Any]]] = [
    (BudgetStationary, {"n_arms": 0}),
    (BudgetStationary, {"resources": 0}),
    (BudgetStationary, {"rate": 0.0}),
    (BudgetStationary, {"rate": 1.1}),
    (BudgetSinusoidal, {"amp": 0.6}),
    (BudgetSinusoidal, {"cycles": 0}),
    (BudgetRotating, {"n_arms": 1}),
    (BudgetRotating, {"phases": 0}),
    (NetworkPricing, {"load": 0.0}),
    (NetworkPricing, {"season": 0.8}),
    (NetworkPricing, {"trend": 1.1}),
    (AdPacing, {"days": 101}),
    (AdPacing, {"spend": 0.0}),
    (AdPacing, {"impressions": 2.0}),
]


@pytest.mark.parametrize(("kind", "more"), WRONG, ids=str)
def test_parameters_out_of_range_are_refused(kind: Any, more: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        kind(**more)


def test_they_are_made_from_text() -> None:
    world = parse("knapsack-example:kind=lower-bound-3,delta1=0.1,sign=-1", WORLDS, "world")
    assert world == KnapsackExample(kind="lower-bound-3", delta1=0.1, sign=-1)
    assert describe(world, WORLDS) == "knapsack-example:kind=lower-bound-3,sign=-1,delta1=0.1"
    assert parse("budget-rotating:phases=3,rate=0.2", WORLDS, "world") == BudgetRotating(phases=3, rate=0.2)
