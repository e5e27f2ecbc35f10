"""Contextual knapsacks: policies beside their slow twins, the world beside HiGHS, and agents at work."""

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import driftwise as dw
from driftwise.core.pinned import pin
from driftwise.core.protocols import Policy
from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Floats, Problem, Spent
from driftwise.core.validation import cast
from driftwise.core.verbs import appraise, observe, respond
from driftwise.errors import ArmError, BudgetError, DriftwiseError, FeatureError, ParameterError
from driftwise.families import (
    POLICIES,
    ArmPacing,
    CustomerKinds,
    LinPacing,
    PrequentialPacing,
    SwitchingCustomers,
    UnpacedLinUCB,
)
from driftwise.families.contextual_knapsack.worlds.base import CustomerWorld
from driftwise.families.knapsack.hindsight.hindsight_lp import plan_of
from driftwise.families.knapsack.problem import Budgets
from driftwise.study.run import run
from driftwise.study.study import Study
from tests.families.contextual_knapsack.twins.lin_pacing import FeaturedBill, LinPacingTwin, UnpacedLinUCBTwin
from tests.fixtures.everyday import deep_unless
from tests.fixtures.knapsack_runs import highs
from tests.fixtures.patience import HANG_S
from tests.fixtures.service_process import Service
from tests.fixtures.verbs import advance, pend, select, settle, update

TWINS: dict[str, Any] = {"lin-pacing": LinPacingTwin, "unpaced-lin-ucb": UnpacedLinUCBTwin}
CLOSE = 1e-9
DIM, RESOURCES, HORIZON = 5, 2, 300
PROBLEM = Problem(
    4,
    0.0,
    5.0,
    horizon=HORIZON,
    dim=DIM,
    structure=Budgets(np.array([40.0, 90.0])),
    family="contextual-knapsack",
)


def matrix(luck: np.random.Generator, rates: Floats) -> Floats:
    rows = luck.standard_normal((4, DIM)) / np.sqrt(DIM)
    return np.hstack([rows, np.broadcast_to(rates, (4, RESOURCES))])


# ---- twins ----


@pytest.mark.parametrize("gamma", [0.97, 1.0])
@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("name", TWINS)
def test_a_policy_chooses_as_its_twin_does(name: str, delay: int, gamma: float) -> None:
    policy = cast(POLICIES[name](gamma=gamma, rho=0.3))
    state, twin, luck, rng = policy.init(PROBLEM), TWINS[name](policy, PROBLEM), np.random.default_rng(3), key(4)
    due: dict[int, list[tuple[Decision, FeaturedBill]]] = {}
    for t in range(120):
        own, rates = at(rng, t), luck.uniform(0.1, 0.4, RESOURCES)
        context = matrix(luck, rates)
        advance(policy, state, t, own)
        chosen, _ = select(policy, state, t, context, own)
        worths = twin.worths(t, context[:, :DIM], rates)
        if name == "lin-pacing":
            prices = np.zeros(RESOURCES)
            appraise(policy, state, t, context, prices)
            np.testing.assert_allclose(prices, 5.0 * twin.charges(t, rates), rtol=CLOSE, atol=CLOSE)
            worths = np.append(worths, 0.0)
        assert worths[chosen] >= worths.max() - CLOSE
        action = chosen if luck.random() < 0.5 else int(luck.integers(-1, 4))
        decision = Decision(t, action, 1.0, context[action].copy(), own)
        bill = FeaturedBill(
            t, action, context[action, :DIM], rates, 5.0 * luck.random(), luck.random(RESOURCES), t + delay
        )
        if action < 0:
            bill = bill._replace(reward=0.0, costs=np.zeros(RESOURCES))
        if delay:
            pend(policy, state, decision)
            twin.pending[t] = bill
        due.setdefault(t + delay, []).append((decision, bill))
        for late, told in due.pop(t, []):
            if delay:
                settle(policy, state, late)
                del twin.pending[late.t]
            if luck.random() < 0.9:  # the others are lost
                update(policy, state, late, Spent(told.reward, told.costs), t)
                twin.log.append(told._replace(arrival=t))


def test_arm_pacing_is_prequential_pacing_without_features() -> None:
    blind, plain = cast(ArmPacing()), cast(PrequentialPacing())
    one, other, luck, rng = blind.init(PROBLEM), plain.init(PROBLEM), np.random.default_rng(3), key(4)
    for t in range(200):
        own, rates = at(rng, t), luck.uniform(0.1, 0.4, RESOURCES)
        context = matrix(luck, rates)
        for policy, state in (blind, one), (plain, other):
            advance(policy, state, t, own)
        arm, _ = select(blind, one, t, context, own)
        assert arm == select(plain, other, t, rates, own)[0]
        outcome = Spent(5.0 * luck.random() * (arm >= 0), luck.random(RESOURCES) * (arm >= 0))
        for policy, state, row in (blind, one, context[arm].copy()), (plain, other, rates):
            decision = Decision(t, arm, 1.0, row, own)
            pend(policy, state, decision)
            settle(policy, state, decision)
            update(policy, state, decision, outcome, t)


@pytest.mark.parametrize(
    "policy",
    [LinPacing(), deep_unless(False, UnpacedLinUCB()), deep_unless(False, ArmPacing())],
    ids=str,
)
def test_summaries_are_in_the_units_of_rewards_and_costs(policy: Any) -> None:
    problem = dw.ContextualKnapsack(
        {"a": [1.0, 0.0], "b": [0.0, 1.0]},
        budgets={"units": 2000.0},
        max_cost={"units": 20.0},
        horizon=300,
        reward_range=(0.0, 10.0),
    )
    agent = dw.Agent(policy, problem)
    made = {"a": 0, "b": 0}
    for i in range(40):
        decision = agent.decide(override=("ab"[i % 2], 0.5))
        made[decision.action] += 1
        agent.learn(decision, reward=5.0, costs={"units": 4.0})
    before = agent.dumps()
    for each in agent.summary():
        assert each.estimate is not None and each.low is not None and each.high is not None
        assert 0.0 <= each.low <= each.estimate <= each.high <= 10.0 and each.low <= 5.0 <= each.high
        assert each.count == pytest.approx(made[each.arm], rel=0.05)  # type: ignore[index]
        assert each.estimate == pytest.approx(5.0, rel=1.5 / (1 + made[each.arm]))  # type: ignore[index]
        if not isinstance(policy, UnpacedLinUCB):
            assert each.costs and each.costs["units"] == pytest.approx(4.0, rel=1.5 / (1 + made[each.arm]))  # type: ignore[index]
    assert agent.dumps() == before


# ---- the world ----


@pytest.mark.parametrize("world", [CustomerKinds(), SwitchingCustomers()], ids=str)
def test_rows_say_what_a_price_earns_and_costs_on_average(world: CustomerWorld) -> None:
    tape, _ = world.draw(400, seed=1)
    last = len(tape.levels.table) // world.kinds - 1
    for stretch in (0, last // 2, last):
        for kind in range(world.kinds):
            table = stretch * world.kinds + kind
            for numbers in (tape.levels.table[table], *tape.costs[table]):
                theta = np.linalg.lstsq(tape.sets[kind], numbers, rcond=None)[0]
                np.testing.assert_allclose(tape.sets[kind] @ theta, numbers, atol=1e-12)


@pytest.mark.parametrize("kind", [CustomerKinds, SwitchingCustomers])
def test_sales_are_as_frequent_as_the_world_says(kind: type[CustomerWorld]) -> None:
    world, horizon = kind(units=1.0, money=1.0), 20_000
    tape, nature = world.draw(horizon, seed=2)
    sold, expected, variance = np.zeros(2), np.zeros(2), np.zeros(2)
    pinned = pin(tape), pin(nature)
    for t in range(horizon):
        observe(*pinned, t)
        arm = t % world.prices
        means, takes = tape.costs[tape.levels.rows[t], :, arm], tape.takes[tape.which[t]]
        sold += respond(*pinned, t, arm).costs
        expected, variance = expected + means, variance + means[0] * (1.0 - means[0]) * takes**2
    assert (np.abs(sold - expected) < 5.0 * np.sqrt(variance)).all()


def test_demand_jumps_between_phases_and_nowhere_else() -> None:
    world = SwitchingCustomers(phases=3)
    (course,) = world.courses(1000, seed=4)
    moves = np.flatnonzero(np.abs(np.diff(course.parameters.table[course.parameters.rows], axis=0)).max(axis=1))
    assert (moves + 1).tolist() == world.changes(1000, seed=4) == [333, 666]
    assert np.abs(np.diff(course.parameters.table, axis=0)).mean() > 0.1


@pytest.mark.parametrize("kind", [CustomerKinds, SwitchingCustomers])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_plan_is_the_linear_program_over_steps_kinds_and_prices(kind: type[CustomerWorld], seed: int) -> None:
    world, horizon = kind(kinds=3, prices=4), 60
    plan, means = plan_of(world, horizon, seed)
    counts, (segments, arms) = means.counts, means.rewards.shape
    spent = [(counts[:, None] * means.costs[:, j]).ravel() for j in range(means.n_resources)]
    rows = np.vstack([*spent, np.repeat(np.eye(segments), arms, axis=1)])
    right = np.append(world.problem(horizon).structure.amounts, np.ones(segments))
    best = -highs(c=-(counts[:, None] * means.rewards).ravel(), A_ub=rows, b_ub=right, bounds=(0.0, None)).fun
    assert plan.value == pytest.approx(best, rel=1e-6)


@pytest.mark.deep
@pytest.mark.parametrize("delay", [0, 100])
def test_features_and_pacing_are_each_worth_something(delay: int) -> None:
    world: Any = CustomerKinds()
    world = dw.worlds.Delayed(world=world, delay=delay) if delay else world
    policies: dict[str, Policy] = {"lin": LinPacing(), "blind": ArmPacing(), "unpaced": UnpacedLinUCB()}
    study = Study(name="kinds", worlds={"kinds": world}, policies=policies, horizon=6000, runs=8)
    results = run(study)
    share, spent = {}, {}
    for name in policies:
        cells = study.cells_of("kinds", name)
        share[name] = results.column(cells, "reward") / results.column(cells, "benchmark")
        spent[name] = results.column(cells, "spent")
    for other in ("blind", "unpaced"):
        lead = share["lin"] - share[other]
        assert lead.mean() - 3.0 * lead.std(ddof=1) / np.sqrt(len(lead)) > 0.0
    assert (spent["lin"] <= 1.0 + 1e-9).all() and spent["lin"].mean() > 0.9


# ---- agents ----

BUDGETS = {"units": 60.0, "money": 40.0}
SOURCES: dict[str, dict[str, Any]] = {
    "rows": {"n_features": 3},
    "arms with rows": {"arms": {"a": [1.0, 0.0, 0.2], "b": [0.0, 1.0, 0.5], "c": [0.5, 0.5, 0.1]}},
    "arms and a context": {"arms": ["a", "b", "c"], "context_dim": 2},
}


def problem_of(source: str, **options: Any) -> dw.ContextualKnapsack:
    return dw.ContextualKnapsack(**(SOURCES[source] | {"budgets": BUDGETS, "horizon": 500} | options))


def request(source: str, luck: np.random.Generator) -> dict[str, Any]:
    if source == "rows":
        return {"actions": luck.uniform(0.1, 1.0, (int(luck.integers(1, 6)), 3))}
    return {"context": luck.uniform(0.1, 1.0, 2)} if source == "arms and a context" else {}


def outcome(luck: np.random.Generator) -> dict[str, Any]:
    return {"reward": luck.random(), "costs": {"units": luck.random(), "money": luck.random()}}


@pytest.mark.parametrize("policy", [LinPacing(), UnpacedLinUCB()], ids=["paced", "unpaced"])
@pytest.mark.parametrize("source", SOURCES)
def test_late_lost_and_cancelled_outcomes_overspend_nothing_and_resume_exactly(source: str, policy: Any) -> None:
    agent, luck = dw.Agent(policy, problem_of(source), seed=5), np.random.default_rng(6)
    waiting: list[Decision] = []
    for t in range(300):
        if t == 150:
            agent = dw.Agent.loads(agent.dumps())
        again = dw.Agent.loads(agent.dumps()) if t % 50 == 0 else None
        asked = request(source, luck)
        decision = agent.decide(**asked)
        assert again is None or again.decide(**asked) == decision
        if decision.action is not None:
            waiting.append(decision)
        assert all(left >= -1e-9 for left in agent.remaining.values())
        if waiting and luck.random() < 0.8:
            late = waiting.pop(int(luck.integers(len(waiting))))
            if luck.random() < 0.2:
                agent.cancel(late)
            else:
                agent.learn(late, **outcome(luck))
    assert agent.remaining["units"] < BUDGETS["units"]
    for late in waiting:
        agent.cancel(late)
    assert agent.reserved == {"units": 0.0, "money": 0.0}
    ridge = agent.state.ridge
    assert ridge.waiting[0] == 0 and not ridge.awaited.any() and not ridge.pending.pairs.any()


@pytest.mark.parametrize("source", ["arms with rows", "arms and a context"])
def test_arms_come_and_go_while_decisions_pend(source: str) -> None:
    agent, luck = dw.Agent(LinPacing(), problem_of(source), seed=5), np.random.default_rng(7)
    waiting = [agent.decide(**request(source, luck)) for _ in range(20)]
    waiting = [each for each in waiting if each.action is not None]
    gone = waiting[0].action
    agent.retire_arm(gone)
    agent.add_arm("d", **({"features": [0.3, 0.3, 0.9]} if source == "arms with rows" else {}))
    for late in waiting:
        assert agent.learn(late, reward=0.4, costs={"units": 0.5, "money": 0.1}) == "learned"
    assert agent.remaining["units"] == pytest.approx(60.0 - 0.5 * len(waiting))
    assert agent.state.ridge.waiting[0] == 0
    chosen = set()
    for _ in range(150):
        decision = agent.decide(**request(source, luck))
        chosen.add(decision.action)
        if decision.action is not None:
            agent.learn(decision, reward=0.9 if decision.action == "d" else 0.1, costs={"units": 0.1, "money": 0.1})
    assert gone not in chosen and "d" in chosen


def test_the_oldest_of_too_many_is_given_up_and_paid_for() -> None:
    agent = dw.Agent(LinPacing(), problem_of("arms with rows"), max_pending=3)
    made = sum(agent.decide().action is not None for _ in range(10))
    assert len(agent.pending) == 3 and agent.forgotten == made - 3
    assert agent.remaining["units"] == 60.0 - agent.forgotten
    assert agent.state.ridge.waiting[0] == 3


def test_budgets_and_horizon_change_on_the_way() -> None:
    agent, luck = dw.Agent(LinPacing(), problem_of("rows", horizon=20)), np.random.default_rng(8)
    for _ in range(20):
        decision = agent.decide(**request("rows", luck))
        agent.learn(decision, **outcome(luck))
    with pytest.raises(BudgetError, match="all 20 rounds"):
        agent.decide(**request("rows", luck))
    agent.change(horizon=40, budgets={"units": 100.0})
    assert agent.decide(**request("rows", luck)).t == 20
    assert agent.problem.dim == 3


def test_an_action_from_outside_is_learned_from() -> None:
    agent = dw.Agent(LinPacing(), problem_of("rows"))
    decision = agent.decide([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], override=(1, 0.5))
    assert (decision.action, decision.context, decision.propensity) == (1, (0.0, 1.0, 0.0), 0.5)
    assert agent.decide([[1.0, 0.0, 0.0]], override=(None, 1.0)).action is None
    with pytest.raises(ArmError, match="no row 3"):
        agent.decide([[1.0, 0.0, 0.0]], override=(3, 0.5))


BAD: list[tuple[type[DriftwiseError], dict[str, Any]]] = [
    (ParameterError, {"policy": dw.SlidingLinUCB()}),
    (ParameterError, {"policy": dw.PrequentialPacing()}),
    (ParameterError, {"horizon": 0}),
    (BudgetError, {"budgets": {"units": -1.0}}),
    (BudgetError, {"max_cost": {"gold": 1.0}}),
    (ParameterError, {"reserve": "none"}),
    (ParameterError, {"reward_range": (-1.0, 1.0)}),
    (ParameterError, {"n_features": None}),
    (ParameterError, {"policy": ArmPacing()}),
]


@pytest.mark.parametrize(("error", "options"), BAD)
def test_what_does_not_fit_is_refused(error: type[DriftwiseError], options: dict[str, Any]) -> None:
    policy = options.get("policy", LinPacing())
    with pytest.raises(error):
        dw.Agent(policy, problem_of("rows", **{name: each for name, each in options.items() if name != "policy"}))


def test_bad_features_and_costs_are_refused_and_change_nothing() -> None:
    agent = dw.Agent(LinPacing(), problem_of("rows"))
    decision = agent.decide([[1.0, 0.0, 0.0]])
    before = agent.dumps()
    for bad in ([], [[1.0]], [[np.nan, 0.0, 0.0]], None):
        with pytest.raises(FeatureError):
            agent.decide(bad)
    for costs in (None, {"units": 0.5}, {"units": 2.0, "money": 0.0}):
        with pytest.raises(BudgetError):
            agent.learn(decision, reward=0.5, costs=costs)
    assert agent.dumps() == before


@pytest.mark.parametrize("factor", [1e-3, 10.0])
def test_neither_rewards_nor_costs_have_a_unit(factor: float) -> None:
    def choices(rewards: float, costs: float) -> list[Any]:
        luck, made = np.random.default_rng(9), []
        options = {"budgets": {name: costs * amount for name, amount in BUDGETS.items()}, "reward_range": (0, rewards)}
        agent = dw.Agent(LinPacing(), problem_of("rows", max_cost=dict.fromkeys(BUDGETS, costs), **options))
        for _ in range(200):
            decision = agent.decide(luck.uniform(0.1, 1.0, (4, 3)))
            made.append(decision.action)
            told = {"units": 0.4 * luck.random(), "money": 0.3 * luck.random()}
            if decision.action is not None:
                spent = {name: costs * cost for name, cost in told.items()}
                agent.learn(decision, reward=rewards * luck.random(), costs=spent)
        return made

    plain = choices(1.0, 1.0)
    assert plain == choices(factor, 1.0) == choices(1.0, factor)
    assert len(set(plain)) > 2


# ---- the service ----


@pytest.mark.system
def test_a_deployment_decides_by_context_and_keeps_within_its_budget(tmp_path: Path) -> None:
    with Service(tmp_path / "shop.db") as service, httpx.Client(base_url=service.url, timeout=HANG_S) as client:
        problem = {"kind": "contextual-knapsack", "arms": ["19", "29"], "context_dim": 2, "budgets": {"units": 8.0}}
        shop = {"name": "shop", "policy": "lin-pacing", "problem": problem | {"horizon": 60, "reward_range": [0, 29]}}
        assert client.post("/v1/deployments", json=shop).status_code == 201
        sold, pending = 0, []
        for i in range(50):
            made = client.post("/v1/deployments/shop/decide", json={"context": [i % 2, 1 - i % 2]}).json()
            assert made["remaining"] == {"units": 8.0 - sold}
            if made["action"] is None:
                continue
            if i % 5 == 4:
                pending.append(made["id"])
                continue
            told = {"id": made["id"], "reward": float(made["action"]) * (i % 2), "costs": {"units": i % 2}}
            assert client.post("/v1/deployments/shop/learn", json=told).json()["status"] == "learned"
            sold += i % 2
        assert 0 < sold <= 8 and pending
        assert client.post("/v1/deployments/shop/cancel", json={"id": pending[0]}).json()["status"] == "cancelled"
        why = client.get(f"/v1/deployments/shop/decisions/{pending[-1]}/explain").json()
        assert why["reproduced"] and all("units" in arm["costs"] for arm in why["arms"])
        changed = client.patch("/v1/deployments/shop", json={"problem": {"budgets": {"units": 20.0}}}).json()
        assert changed["details"]["budgets"]["total"] == {"units": 20.0}
        assert client.post("/v1/deployments/shop/verify").json()["identical"]
        for bad in ({}, {"context": [1]}, {"actions": [[1, 0]]}):
            assert client.post("/v1/deployments/shop/decide", json=bad).status_code == 422
        budgets = client.get("/v1/deployments/shop/statistics").json()["monitor"]["tracks"]["budgets"]
        assert budgets == ["units"]
