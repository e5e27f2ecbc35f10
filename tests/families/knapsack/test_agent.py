"""An agent with budgets: nothing is spent that is not there, whatever comes late, and everything can be read."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import BudgetError, DecisionError, DriftwiseError, ParameterError, RewardError

POLICY = dw.PrequentialPacing()
PROBLEM: dict[str, Any] = {"arms": ["low", "middle", "high"], "budgets": {"euros": 40.0, "units": 30.0}, "horizon": 200}


def agent(policy: Any = POLICY, *, max_pending: int = 100, **options: Any) -> dw.Agent:
    problem = dw.Knapsack(**PROBLEM | {"max_cost": {"euros": 2.0}} | options)
    return dw.Agent(policy, problem, max_pending=max_pending)


def chosen(agent: dw.Agent) -> dw.Decision:
    """The next decision that chooses something."""
    for _ in range(50):
        decision = agent.decide()
        if decision.action is not None:
            return decision
    raise AssertionError("nothing was chosen in 50 rounds")


# ---- what is spent, reserved and left ----


def test_a_decision_reserves_the_most_it_can_cost_until_its_cost_is_known() -> None:
    one = agent()
    decision = chosen(one)
    assert one.reserved == {"euros": 2.0, "units": 1.0}
    assert one.remaining == {"euros": 40.0, "units": 30.0}
    one.learn(decision, reward=1.0, costs={"euros": 0.5, "units": 1.0})
    assert one.reserved == {"euros": 0.0, "units": 0.0}
    assert one.remaining == {"euros": 39.5, "units": 29.0}


def test_a_decision_that_is_called_off_gives_back_what_it_reserved() -> None:
    one = agent()
    decision = chosen(one)
    one.cancel(decision)
    assert one.reserved == {"euros": 0.0, "units": 0.0}
    assert one.pending == ()
    with pytest.raises(DecisionError, match="answered already"):
        one.learn(decision, 1.0, costs={"euros": 0.0, "units": 0.0})


def test_pending_decisions_never_promise_more_than_there_is() -> None:
    one = agent(budgets={"euros": 7.0, "units": 30.0})
    waiting = [decision for _ in range(50) if (decision := one.decide()).action is not None]
    assert len(waiting) == 3  # 3 x 2 euros fit into 7
    one.learn(waiting[0], 0.0, costs={"euros": 0.0, "units": 0.0})
    assert chosen(one).action in PROBLEM["arms"]  # what was given back can be reserved anew


def test_who_allows_it_may_overspend_by_what_is_pending() -> None:
    one = agent(budgets={"euros": 7.0, "units": 30.0}, allow_overspend=True)
    waiting = [decision for _ in range(50) if (decision := one.decide()).action is not None]
    assert len(waiting) > 3
    for decision in waiting:
        one.learn(decision, 0.0, costs={"euros": 2.0, "units": 0.0})
    assert one.remaining["euros"] < 0.0
    assert one.decide().action is None


def test_a_decision_given_up_counts_as_having_cost_the_most() -> None:
    one = agent(max_pending=1)
    chosen(one)
    chosen(one)
    assert one.forgotten == 1
    assert one.remaining == {"euros": 38.0, "units": 29.0}


def test_nothing_comes_of_choosing_nothing() -> None:
    one = agent(budgets={"euros": 1.0, "units": 30.0})
    decision = one.decide()
    assert (decision.action, decision.propensity) == (None, 1.0)
    assert one.pending == ()
    with pytest.raises(DecisionError):
        one.learn(decision, 0.0, costs={"euros": 0.0, "units": 0.0})


def test_a_retired_arm_still_costs_what_it_cost() -> None:
    one = agent()
    decision = chosen(one)
    one.retire_arm(decision.action)
    one.learn(decision, 1.0, costs={"euros": 1.5, "units": 1.0})
    assert one.ignored == 1
    assert one.remaining == {"euros": 38.5, "units": 29.0}
    one.add_arm("other")
    assert chosen(one).action in one.arms


def test_a_policy_for_bare_arms_spends_without_looking_and_stops_in_time() -> None:
    one = agent(dw.UCB1(), budgets={"euros": 5.0, "units": 30.0})
    for _ in range(100):
        decision = one.decide()
        if decision.action is not None:
            one.learn(decision, 1.0, costs={"euros": 2.0, "units": 0.0})
    assert one.remaining == {"euros": 1.0, "units": 30.0}
    assert np.isnan(one.prices["euros"])


# ---- budgets and horizons that change ----


def test_budgets_and_horizon_can_be_changed_while_it_runs() -> None:
    one = agent(budgets={"euros": 2.0, "units": 30.0})
    one.learn(chosen(one), 1.0, costs={"euros": 2.0, "units": 0.0})
    assert one.decide().action is None
    one.change(budgets={"euros": 50.0})
    assert one.remaining == {"euros": 48.0, "units": 30.0}
    assert chosen(one).action is not None
    one.change(horizon=1000)
    assert one.problem.horizon == 1000
    # 46 euros and 29 units are left beside what is pending, for 997 rounds: the pace of a whole run, in units of `most`
    np.testing.assert_allclose(one.problem.structure.amounts, [23.0 * 1000 / 997, 29.0 * 1000 / 997])


def test_a_budget_cut_to_a_ninth_lasts_to_the_end() -> None:
    """Three arms, 0.9 a round, and from half-time on 0.1: prices could not rise above those of the old budget once."""
    pays, costs, horizon = np.array([0.9, 0.6, 0.3]), np.array([0.8, 0.3, 0.05]), 10_000
    best = 0.3 * 0.8 + 0.6 * 0.2  # of a round, with 0.1 to spend: the last arm in 0.8 of the rounds, the second in 0.2
    shares, ends = [], []
    for seed in range(3):
        luck = np.random.default_rng(seed)
        one = dw.Agent(
            dw.PrequentialPacing(), dw.Knapsack(3, budgets={"euros": 0.9 * horizon}, horizon=horizon), seed=seed
        )
        earned, last = 0.0, 0
        for t in range(horizon):
            if t == horizon // 2:
                one.change(budgets={"euros": 0.9 * horizon - one.remaining["euros"] + 0.1 * horizon / 2})
                earned = 0.0
            decision = one.decide()
            if decision.action is not None:
                reward, cost = (luck.random(2) < (pays[decision.action], costs[decision.action])).astype(float)
                one.learn(decision, reward, costs=cost)
                earned, last = earned + reward, t
        shares.append(earned / (best * horizon / 2))
        ends.append(last)
    assert np.mean(shares) > 0.93 and min(ends) > 0.97 * horizon  # seen: 0.95; with the limits of the start 0.70


def test_a_change_that_fails_changes_nothing() -> None:
    one = agent(dw.SlidingKnapsackUCB(window=50), horizon=100)
    chosen(one)
    before = one.dumps()
    with pytest.raises(ParameterError, match="window=50 does not fit the horizon 40"):
        one.change(budgets={"euros": 80.0}, horizon=40)
    assert one.dumps() == before
    one.change(budgets={"euros": 80.0}, horizon=60)
    assert dw.Agent.loads(one.dumps()).dumps() == one.dumps()


def test_nothing_left_can_be_planned_with() -> None:
    one = agent()
    one.learn(chosen(one), 1.0, costs={"euros": 2.0, "units": 0.5})
    one.change(budgets={"euros": 2.0, "units": 0.5})  # spent already: stop here
    assert one.remaining == {"euros": 0.0, "units": 0.0}
    assert one.decide().action is None
    one.change(budgets={"euros": 10.0, "units": 10.0})
    assert chosen(one).action is not None


@pytest.mark.parametrize("step", ["longer", "shorter", "more arms"])
def test_windows_follow_horizon_and_arms_and_lose_nothing_they_can_hold(step: str) -> None:
    """With another horizon all windows have other lengths, and with ten arms too: rounds move to another ring."""
    one = dw.Agent(dw.PrequentialPacing(), dw.Knapsack(3, budgets={"euros": 900.0}, horizon=3000))
    luck, log, sizes = np.random.default_rng(3), [], one.state.window.sizes
    for t in range(900):
        decision = one.decide(override=(int(luck.integers(3)), 1 / 3))
        log.append((t, decision.action, float(luck.random()), float(luck.random())))
        one.learn(decision, log[-1][2], costs=log[-1][3])
    if step == "more arms":
        for name in range(3, 10):
            one.add_arm(name)
    else:
        one.change(horizon={"longer": 9000, "shorter": 1000}[step])
    one.cancel(one.decide(override=(0, 1.0)))
    window = one.state.window
    assert not (window.sizes == sizes).all() and len(window.arms) == window.sizes.max()
    for view, size in enumerate(window.sizes):
        for arm in range(3):
            since = int(window.clock[0]) - size if size else 0
            seen = [(pays, cost) for t, chosen, pays, cost in log if chosen == arm and t >= since]
            assert window.counts[arm, view] == len(seen)
            np.testing.assert_allclose(window.sums[arm, view], sum(pays for pays, _ in seen), atol=1e-9)
            np.testing.assert_allclose(window.spent[arm, view, 0], sum(cost for _, cost in seen), atol=1e-9)


def test_the_horizon_ends_and_can_be_moved() -> None:
    one = agent(horizon=3)
    for _ in range(3):
        one.decide()
    before = one.dumps()
    with pytest.raises(BudgetError, match="all 3 rounds of the horizon are over"):
        one.decide()
    assert one.dumps() == before
    one.change(horizon=4)
    one.decide()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"horizon": 1}, "horizon=1 has passed: the next round is 1"),
        ({"horizon": 0}, "horizon=0 is not a whole number of at least 1"),
        ({"budgets": {"euros": 0.0}}, r"budgets\['euros'\]=0 is not a finite amount above 0"),
        ({"budgets": {"pounds": 3.0}}, "there is no resource 'pounds': there are 'euros', 'units'"),
        ({"budgets": {"euros": 1.0}}, r"budgets\['euros'\]=1 is below the 2 spent or reserved already"),
    ],
)
def test_changes_that_cannot_be(change: dict[str, Any], says: str) -> None:
    one = agent()
    chosen(one)
    before = one.dumps()
    with pytest.raises(DriftwiseError, match=says):
        one.change(**change)
    assert one.dumps() == before


# ---- prices ----


@pytest.mark.parametrize(
    "policy", [POLICY, dw.SlidingKnapsackUCB(window=100)], ids=lambda policy: type(policy).__name__
)
def test_a_resource_that_is_short_has_a_price(policy: Any) -> None:
    """All arms pay 0.8 and cost a euro and half a unit: 40 euros last 40 rounds of 200, units would last 60."""
    one = agent(policy, reward_range=(0.0, 10.0))
    for _ in range(150):
        decision = one.decide()
        if decision.action is not None:
            one.learn(decision, 8.0, costs={"euros": 1.0, "units": 0.5})
    prices = one.prices
    assert prices["euros"] > 1.0
    assert prices["units"] <= prices["euros"]


# ---- bad input ----


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budgets": None}, "budgets=None does not map resources to amounts"),
        ({"budgets": {}}, "does not map resources to amounts"),
        ({"budgets": [1.0]}, "does not map resources to amounts"),
        ({"budgets": {"euros": -5.0}}, r"budgets\['euros'\]=-5 is not a finite amount above 0"),
        ({"budgets": {"euros": 0}}, r"budgets\['euros'\]=0 is not a finite amount above 0"),
        ({"budgets": {"euros": float("nan")}}, r"budgets\['euros'\]=nan is not a finite amount above 0"),
        ({"budgets": {"euros": "lots"}}, r"budgets\['euros'\]='lots' is not a number"),
        ({"budgets": {3: 1.0}}, "resource 3 is not named by printable text"),
        ({"max_cost": {"pounds": 1.0}}, "there is no resource 'pounds'"),
        ({"max_cost": {"euros": 0.0}}, r"max_cost\['euros'\]=0 is not a finite amount above 0"),
        ({"reserve": "most"}, "reserve=most is not one of maximum, estimate"),
        ({"horizon": 0}, "must know for how many rounds its budgets are to last"),
        ({"reward_range": (-1.0, 1.0)}, r"reward_range=\(-1, 1\) does not start at 0"),
        ({"reward_range": None}, r"reward_range=\(-inf, inf\) does not start at 0"),
    ],
)
def test_agents_that_cannot_be_made(options: dict[str, Any], says: str) -> None:
    with pytest.raises(DriftwiseError, match=says):
        dw.Agent(POLICY, dw.Knapsack(**PROBLEM | options))


@pytest.mark.parametrize(
    ("costs", "says"),
    [
        (None, 'costs are missing: give an amount for each resource, {"euros": ..., "units": ...}'),
        (1.0, "costs=1.0 does not name the resources"),
        ({"euros": 1.0}, "costs lacks 'units': report 0 for what cost nothing"),
        ({"euros": 1.0, "units": 0.0, "pounds": 1.0}, "there is no resource 'pounds'"),
        ({"euros": 2.5, "units": 0.0}, r"costs\['euros'\]=2.5 is outside \[0, 2\], the most a decision can cost"),
        ({"euros": -0.1, "units": 0.0}, r"costs\['euros'\]=-0.1 is below 0: costs are at least 0"),
        ({"euros": float("nan"), "units": 0.0}, r"costs\['euros'\]=nan is outside"),
        ({"euros": "one", "units": 0.0}, r"costs\['euros'\]='one' is not a number"),
    ],
)
def test_costs_that_cannot_be(costs: Any, says: str) -> None:
    one = agent()
    decision = chosen(one)
    before = one.dumps()
    with pytest.raises(BudgetError, match=says):
        one.learn(decision, 1.0, costs=costs)
    assert one.dumps() == before


def test_costs_of_a_decision_that_was_never_made() -> None:
    one = agent()
    with pytest.raises(DecisionError, match="decision 7 was never made"):
        one.learn(7, 1.0, costs={"euros": 1.0, "units": 0.0})


def test_without_budgets_there_are_no_costs() -> None:
    one = dw.Agent(dw.UCB1(), 2)
    with pytest.raises(RewardError, match="UCB1 does not accept `costs`: call learn"):
        one.learn(one.decide(), 1.0, costs=1.0)
    for what in ("remaining", "reserved", "prices"):
        with pytest.raises(AttributeError, match=f"an agent of UCB1 has no `{what}`"):
            getattr(one, what)
    with pytest.raises(ParameterError, match="chooses one arm or none"):
        dw.Agent(POLICY, dw.Slate(2, slate_size=2))


def test_one_resource_needs_no_name_in_costs() -> None:
    one = dw.Agent(POLICY, dw.Knapsack(2, budgets={"units": 5.0}, horizon=20))
    one.learn(chosen(one), 1.0, costs=1.0)
    assert one.remaining == {"units": 4.0}
