"""Arms that move on their own, served: asked with states, answered with indices, replayed bit for bit."""

import asyncio
import csv
import io
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pytest

from driftwise import Agent
from driftwise.errors import ArmError, DriftwiseError, MoveError, ParameterError, RewardError
from driftwise.families import WIQL, Convex, Knapsack, Restless
from driftwise.families.convex.problem import Box
from driftwise.service.client import calls as requests
from driftwise.service.client.client import AsyncClient, Client
from driftwise.service.deployments import admin, decisions, queries
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.export import export
from driftwise.service.deployments.spec import agent_of
from driftwise.service.http.schemas.requests import ChangeRequest, DecideRequest, LearnRequest
from tests.fixtures.engine import Clock, create, decide, deployment_spec, learn, running
from tests.fixtures.patience import PATIENT, get, patient, post
from tests.fixtures.service_process import Service

NAMES = ["ana", "bea", "cleo", "dina"]
LEVELS = ["lapsed", "wavering", "engaged"]
CALLS = Restless(NAMES, n_active=2, states=LEVELS, state_rewards=[0.0, 0.5, 1.0])


def calls(*, problem: Mapping[str, Any] = MappingProxyType({}), **fields: Any) -> dict[str, Any]:
    """The deployment `calls`, with other fields in place of its own; those of `problem` in place of the problem's."""
    own = {"name": "calls", "policy": "wiql", "problem": msgspec.to_builtins(CALLS) | problem}
    return own | fields


def together(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test."""

    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path / "store.db"))  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def refused(kind: type[DriftwiseError], work: Awaitable[Any], words: str) -> None:
    with pytest.raises(kind, match=words):
        await work


async def live(engine: Engine, rounds: int, seed: int = 0, clock: Clock | None = None) -> None:
    """Weeks in which everybody goes anywhere; told by name or in order, some late, some not at all."""
    luck = np.random.default_rng(seed)
    waiting: list[int] = []
    found = engine.entry("calls").live
    for _ in range(rounds):
        if clock is not None:
            clock.wait(60)
        arms = [] if found is None else list(found.agent.arms)
        drawn = [LEVELS[place] for place in luck.integers(3, size=len(arms))]
        asked: Any = drawn if luck.random() < 0.5 else dict(zip(map(str, arms), drawn, strict=True))
        waiting.append((await decide(engine, "calls", states=asked))["id"])
        while waiting and luck.random() < 0.6:
            went: dict[Any, Any] = {str(arm): LEVELS[luck.integers(3)] for arm in arms if luck.random() < 0.9}
            await learn(engine, waiting.pop(luck.integers(len(waiting))), "calls", states=went)


def state(engine: Engine) -> bytes:
    found = engine.entry("calls").live
    assert found is not None
    return found.snapshot().body


@together
async def test_a_decision_names_whom_to_activate_and_says_why(store: Path) -> None:
    async with running(store) as engine:
        made = await create(engine, **calls())
        assert made["spec"]["problem"]["states"] == LEVELS and made["arms"] == NAMES
        agent = Agent(WIQL(), CALLS)
        for week in range(30):
            states = [LEVELS[(week * place + week) % 3] for place in range(4)]
            told, own = await decide(engine, "calls", states=states), agent.decide(states=states)
            assert told["action"] == list(own.action)
            assert [row["arm"] for row in told["ranking"] if row["chosen"]] == [
                row.arm for row in agent.ranking if row.chosen
            ]
            assert {row["arm"]: row["index"] for row in told["ranking"]} == agent.indices
            assert {row["arm"]: row["state"] for row in told["ranking"]} == dict(zip(NAMES, states, strict=True))
            assert {row["why"] for row in told["ranking"]} == {row.why for row in agent.ranking}
            after = dict(zip(NAMES, reversed(states), strict=True))
            assert await learn(engine, told["id"], "calls", states=after) == "learned"
            agent.learn(own, states=after)
        assert (await queries.verify(engine, "calls")).identical


@together
async def test_the_ranking_is_bounded_and_tells_of_all_that_are_chosen(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, **calls(problem={"arms": 40, "n_active": 3, "states": 3}))
        told = await decide(engine, "calls", states={str(arm): arm % 3 for arm in range(40)})
        assert len(told["ranking"]) == 3 + 10
        assert [row["chosen"] for row in told["ranking"]] == [True] * 3 + [False] * 10
        assert sorted(row["arm"] for row in told["ranking"][:3]) == told["action"]
        assert await learn(engine, told["id"], "calls", states={"7": 2, "8": None}, rewards={"7": 0.5}) == "learned"
        assert await learn(engine, told["id"], "calls", states={"7": 2, "8": None}, rewards={"7": 0.5}) == "duplicate"
        goes_by_none = await create(engine, **calls(name="turns", policy="round-robin"))
        assert goes_by_none["parameters"] == {}
        rows = (await decide(engine, "turns", states=["lapsed"] * 4))["ranking"]
        assert {(row["index"], row["why"]) for row in rows} == {(None, "this policy has no index")}


@together
async def test_a_restart_goes_on_bit_for_bit(store: Path) -> None:
    async with running(store) as engine:
        await create(
            engine, **calls(problem={"arm_types": {"ana": "old", "bea": "old", "cleo": "young", "dina": "young"}})
        )
        await live(engine, 20)
        await admin.add_arm(engine, "calls", "emma", {"arm_type": "young", "activation_cost": 0.2})
        await admin.retire_arm(engine, "calls", "ana")
        await admin.change(engine, "calls", ChangeRequest(problem={"n_active": 3}))
        await live(engine, 20, seed=1)
        assert len((await decide(engine, "calls", states=["lapsed"] * 4))["action"]) == 3
        before = state(engine)
        assert (await queries.verify(engine, "calls")).identical
    async with running(store) as engine:
        told = await queries.describe(engine, "calls")
        assert told["arms"] == ["bea", "cleo", "dina", "emma"] and told["spec"]["problem"]["n_active"] == 3
        assert state(engine) == before
        await live(engine, 5, seed=2)
        assert (await queries.verify(engine, "calls")).identical


@together
async def test_what_is_told_of_arms_that_left_is_still_the_same(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, **calls(problem={"arms": 4, "states": 3}))
        first = (await decide(engine, "calls", states=[0, 1, 2, 0]))["id"]
        second = (await decide(engine, "calls", states=[0, 1, 2, 0]))["id"]
        went = {"0": 1, "3": 2}
        assert await learn(engine, first, "calls", states=went) == "learned"
        await admin.retire_arm(engine, "calls", 3)
        assert await learn(engine, first, "calls", states=went) == "duplicate"
        assert await learn(engine, second, "calls", states=went) == "learned"
        assert (await queries.verify(engine, "calls")).identical


@pytest.mark.system  # two index policies take long to compile
@together
async def test_the_journal_is_replayed_into_another_policy(store: Path) -> None:
    """Kernels of two index policies: the second knows all that the first was told, and is warmed at the next start."""
    async with running(store) as engine:
        await create(engine, **calls(policy="sliding-whittle:window=3,every=5,conf=certain,pooled=1"))
        await live(engine, 30)
        found = engine.entry("calls").live
        assert found is not None
        told = await queries.explain(engine, "calls", (await decide(engine, "calls", states=["lapsed"] * 4))["id"])
        assert told.reproduced and told.window == {"episodes": 3, "rounds": 15, "from_round": 15, "to_round": 29}
        arm = told.arms[0]
        assert arm["state"] == "lapsed" and arm["indices"]["lapsed"] == arm["index"] and arm["activation_cost"] == 0.0
        assert set(arm["transitions"]) == {"passive", "active"} and set(arm["indices"]) == set(LEVELS)
        assert sum(each["chosen"] for each in told.arms) == 2 and {"why", "share", "arm_type"} <= set(arm)
        await admin.change(engine, "calls", ChangeRequest(policy="adaptive-whittle", parameters={"every": 1.0}))
        assert found is not engine.entry("calls").live
        found = engine.entry("calls").live
        assert found is not None and found.agent.t == 31 and found.agent.state.counts.views.sum() > 0
        await live(engine, 10, seed=1)
        assert (await queries.verify(engine, "calls")).identical
        assert (await queries.explain(engine, "calls", 0)).policy.startswith("sliding-whittle")
        before = state(engine)
        await refused(DriftwiseError, admin.change(engine, "calls", ChangeRequest(policy="ucb1")), "arms that move")
        assert state(engine) == before
    async with running(store) as engine:
        assert engine.entry("calls").policy == "adaptive-whittle:every=1"
        assert queries.list_deployments(engine, "", 10, None)["deployments"][0]["policy"] == "adaptive-whittle:every=1"


@together
async def test_what_nobody_told_in_time_teaches_nothing(store: Path) -> None:
    clock = Clock()
    async with running(store, clock) as engine:
        await create(engine, **calls(reward_window=60))
        id = (await decide(engine, "calls", states=["lapsed"] * 4))["id"]
        clock.wait(61)
        assert await learn(engine, id, "calls", states=["engaged"] * 4) == "late"
        found = await queries.get_decision(engine, "calls", id)
        assert (found.status, found.outcome) == ("defaulted", {"states": {}})
        agent = engine.entry("calls").live
        assert agent is not None and not agent.agent.state.counts.any() and agent.agent.pending == ()
        assert (await queries.verify(engine, "calls")).identical


@together
async def test_batches_are_whole_or_answer_each(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, **calls())
        good, bad = DecideRequest(states=["lapsed"] * 4), DecideRequest(states=["lapsed"] * 3)
        before = (await queries.describe(engine, "calls"))["n_events"]
        await refused(MoveError, decisions.decide(engine, "calls", [good, bad], many=True), "3 entries for the 4 arms")
        assert (await queries.describe(engine, "calls"))["n_events"] == before
        _, body = await decisions.decide(engine, "calls", [good, good], many=True)
        first, second = (each["id"] for each in json.loads(body)["decisions"])
        told = [
            LearnRequest(id=first, states=["engaged"] * 4),
            LearnRequest(id=first, states=["engaged"] * 4),
            LearnRequest(id=first, states=["lapsed"] * 4),
            LearnRequest(id=second, states={"eve": "lapsed"}),
            LearnRequest(id=second, reward=1.0),
            LearnRequest(id=second, states=[None] * 4, rewards=[0.5, None, None, None]),
        ]
        _, body = await decisions.learn(engine, "calls", told, many=True)
        statuses = [each["status"] for each in json.loads(body)["outcomes"]]
        assert statuses == ["learned", "duplicate", "conflict", "invalid", "invalid", "learned"]
        assert (await queries.verify(engine, "calls")).identical


@pytest.mark.parametrize(
    ("problem", "fields", "sentence"),
    [
        ({"n_active": 5}, {}, "n_active=5 is not a whole number of at least 1 and at most 4"),
        ({"state_rewards": [0.0, 1.0]}, {}, "is not a number for each of 3 states"),
        ({"state_rewards": {"gone": 1.0}}, {}, "rewards names the state 'gone'"),
        ({"arm_types": {"ana": "old"}}, {}, "arm_types says nothing of the arm 'bea'"),
        ({"transitions": {"idle": []}}, {}, "does not map passive, active, still and drift"),
        ({"transitions": {"passive": {"lapsed": {"lapsed": 0.4}}}}, {}, "sums to 0.4, not to one"),
        ({"transitions": {"active": [[0.5, 0.5, 0.0]]}}, {}, "not a matrix with a row for each of 3 states"),
        ({"activation_cost": [1.0]}, {}, "activation_cost has 1 entries for 4 arms"),
        ({}, {"sticky": True}, "sticky=true is not possible in a restless problem"),
        ({}, {"default_outcome": {"reward": 0.5}, "reward_window": 60}, "reward"),
        ({}, {"policy": "sliding-whittle", "window": {"rounds": 5}}, "window counts rounds"),
        ({}, {"policy": "sliding-whittle", "window": {"seconds": 5}}, "window counts rounds"),
        ({"states": 100, "state_rewards": [0.0] * 100}, {"policy": "sliding-whittle:window=9999"}, "exceed the limit"),
        (
            {"states": 100, "state_rewards": [0.0] * 100, "transitions": {"drift": 1e-9}},
            {"policy": "sliding-whittle:window=0"},
            "exceed the limit",
        ),
        ({}, {"policy": "ucb1"}, "UCB1"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    problem: dict[str, Any], fields: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    async def ask() -> None:
        async with running(tmp_path / "store.db") as engine:
            await refused(DriftwiseError, create(engine, **calls(problem=problem, **fields)), sentence)
            assert not engine.catalogue.entries

    asyncio.run(ask())


def test_every_way_to_say_what_is_known_can_be_sent() -> None:
    """As text and back; counted states and arms are named by their numbers."""
    steps = {"0": [0, 1], "1": {"0": 0.5, "1": 0.5}}
    ways: list[dict[str, Any]] = [
        {"transitions": {"passive": steps, "active": [[1, 0], [0.25, 0.75]], "still": ["active", ["passive", 0]]}},
        {"transitions": {"old": {"passive": steps}, "1": {"still": ["passive"]}}},
        {"state_rewards": {"old": [0, 1], "1": {"0": 0.5, "1": 2}}},
        {"state_rewards": {"0": 0, "1": 1}, "activation_cost": {"0": 0.1, "1": 0.2, "2": 0.3}},
    ]
    for fields in ways:
        plain = {"kind": "restless", "arms": 3, "n_active": 1, "states": 2, "state_rewards": [0, 1]}
        problem = plain | {"arm_types": {"0": "old", "1": "1", "2": "old"}} | fields
        made = deployment_spec(policy="myopic", problem=problem)
        again = msgspec.json.decode(msgspec.json.encode(made), type=type(made))
        assert again == made
        structure = agent_of(again).problem.structure
        assert structure.classes.tolist() == [0, 1, 0]
        if "old" in fields.get("state_rewards", ()):
            assert structure.rewards.tolist() == [[0.0, 1.0], [0.5, 2.0]]
        if "activation_cost" in fields:
            assert structure.costs.tolist() == [0.1, 0.2, 0.3]
        if "active" in fields.get("transitions", ()):
            assert structure.known[0, 1].tolist() == [[1.0, 0.0], [0.25, 0.75]]


@together
async def test_what_means_nothing_is_refused_while_it_works_and_changes_nothing(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, **calls())
        await create(engine)
        await live(engine, 3)
        before = state(engine)
        for work, words in (
            (decide(engine, "calls"), "must know the states"),
            (decide(engine, "calls", states=["gone"] * 4), "state 'gone' is not one of those there are"),
            (decide(engine, "calls", states=["lapsed"] * 4, unit="u"), "sticky"),
            (decide(engine, "calls", states=["lapsed"] * 4, context=[1.0]), "WIQL does not accept `context`"),
            (decide(engine, "shop", states=["lapsed"] * 4), "SlidingThompson does not accept `states`"),
            (admin.change(engine, "calls", ChangeRequest(problem={"n_active": 9})), "n_active=9"),
            (admin.change(engine, "calls", ChangeRequest(sticky=True)), "sticky"),
            (admin.change(engine, "shop", ChangeRequest(problem={"n_active": 1})), "has no 'n_active'"),
            (admin.add_arm(engine, "calls", "fay", {"arm_type": "old"}), "all arms of this agent are of one type"),
            (admin.add_arm(engine, "shop", "fay", {"activation_cost": 0.5}), "cannot bring `activation_cost`"),
        ):
            await refused(DriftwiseError, work, words)
        await queries.describe(engine, "calls")
        assert state(engine) == before
        assert (await queries.verify(engine, "calls")).identical
    assert issubclass(ArmError, DriftwiseError) and issubclass(ParameterError, DriftwiseError)


@together
async def test_rewards_that_a_policy_would_not_learn_are_refused_and_nothing_is_lost(store: Path) -> None:
    went: dict[str, Any] = {"states": ["engaged"] * 4, "rewards": [0.5] * 4}
    async with running(store) as engine:
        await create(engine, **calls(policy="round-robin"))
        first, second = [(await decide(engine, "calls", states=["lapsed"] * 4))["id"] for _ in range(2)]
        before = state(engine)
        await refused(RewardError, learn(engine, first, "calls", **went), "RoundRobin does not learn from rewards")
        _, body = await decisions.learn(
            engine, "calls", [LearnRequest(id=first, **went), LearnRequest(id=second, **went)], many=True
        )
        assert [each["status"] for each in json.loads(body)["outcomes"]] == ["invalid", "invalid"]
        assert state(engine) == before
        assert await learn(engine, first, "calls", states=["engaged"] * 4) == "learned"
        await admin.change(engine, "calls", ChangeRequest(policy="wiql"))
        assert await learn(engine, second, "calls", **went) == "learned"
        before = state(engine)
        back = admin.change(engine, "calls", ChangeRequest(policy="round-robin"))  # its replay would ignore the rewards
        await refused(RewardError, back, "RoundRobin does not learn from rewards")
        assert state(engine) == before
        assert (await queries.verify(engine, "calls")).identical


@together
async def test_the_log_holds_states(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, **calls())
        id = (await decide(engine, "calls", states=["lapsed", "engaged", "lapsed", "wavering"]))["id"]
        await learn(engine, id, "calls", states={"ana": "wavering"}, rewards={"ana": 0.25})
        await engine.commit()

        async def text(kind: str) -> bytes:
            return b"".join([each async for each in export(engine.journal, 1, kind, -1, 100)])

        row = json.loads(await text("jsonl"))
        assert row["request"] == {"states": ["lapsed", "engaged", "lapsed", "wavering"]}
        assert row["states"] == {"ana": "wavering"} and row["rewards"] == {"ana": 0.25}
        (line,) = csv.DictReader(io.StringIO((await text("csv")).decode()))
        assert json.loads(line["states"]) == {"ana": "wavering"} and json.loads(line["request"]) == row["request"]
        parquet = pytest.importorskip("pyarrow.parquet")
        (kept,) = parquet.read_table(io.BytesIO(await text("parquet"))).to_pylist()
        assert json.loads(kept["states"]) == {"ana": "wavering"} and kept["loss"] is None


@together
async def test_points_are_exported_as_csv_too(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, policy="virtual-queue", problem=Convex([Box([0.0], [1.0])]))
        id = (await decide(engine))["id"]
        await learn(engine, id, gradient=[1.0], loss=2.0)
        await engine.commit()
        lines = b"".join([each async for each in export(engine.journal, 1, "csv", -1, 100)]).decode()
        (line,) = csv.DictReader(io.StringIO(lines))
        assert line["gradient"] == "[1.0]" and line["loss"] == "2.0"


@together
async def test_the_report_tells_where_arms_are_and_what_they_earn(store: Path) -> None:
    clock = Clock()
    async with running(store, clock) as engine:
        await create(engine, **calls(policy="round-robin", problem={"activation_cost": 0.1}))
        for _ in range(250):  # more bins than are kept
            clock.wait(7)
            id = (await decide(engine, "calls", states=["lapsed", "lapsed", "wavering", "engaged"]))["id"]
            await learn(engine, id, "calls", states=["engaged", "engaged", "lapsed", "lapsed"])
        told = (await queries.statistics(engine, "calls")).monitor
        assert told.tracks["states"] == LEVELS and len(told.bins) <= 96
        assert np.sum([each.tracks["states"] or [] for each in told.bins], axis=0).tolist() == [500, 250, 250]
        assert np.sum([each.n_chosen for each in told.bins], axis=0).tolist() == [125] * 4
        worth = (2.0 - 2 * 0.1) / 4
        assert told.total_reward == pytest.approx(250 * worth)
        last = told.bins[-1].tracks["slot_reward"]
        assert last is not None and last[1:] == pytest.approx((worth, worth, worth))
        assert told.changes == [] and told.n_learned == 250
        before = state(engine)
        assert (await queries.verify(engine, "calls")).identical
    async with running(store, clock) as engine:
        assert (await queries.statistics(engine, "calls")).monitor == told
        assert state(engine) == before


@together
async def test_the_report_tells_what_is_left_of_each_budget_over_time(store: Path) -> None:
    clock = Clock()
    async with running(store, clock) as engine:
        problem = Knapsack(3, budgets={"euros": 100.0, "hours": 50.0}, horizon=1000)
        await create(engine, policy="sliding-ucb:window=50", problem=problem)
        left = {"euros": 100.0, "hours": 50.0}
        for turn in range(300):
            clock.wait(3)
            decision = await decide(engine)
            if decision["action"] is not None:
                await learn(engine, decision["id"], reward=1.0, costs={"euros": 0.25, "hours": 0.125})
                left = {"euros": left["euros"] - 0.25, "hours": left["hours"] - 0.125}
            if turn == 150:
                await admin.change(engine, "shop", ChangeRequest(problem={"budgets": {"euros": 200.0}}))
                left["euros"] += 100.0
        told = (await queries.statistics(engine, "shop")).monitor
        assert told.tracks == {"budgets": ["euros", "hours"]} and len(told.bins) <= 96
        rows = [each.tracks["budgets"] or [] for each in told.bins]
        assert {len(row) for row in rows} == {5}
        rounds, euros, all_euros, hours, all_hours = zip(*rows, strict=True)
        assert (euros[-1], hours[-1]) == pytest.approx((left["euros"], left["hours"]))
        assert rounds[-1] == pytest.approx(0.7)
        assert list(all_euros) == sorted(all_euros) and {*all_euros} == {100.0, 200.0} and {*all_hours} == {50.0}
        assert list(hours) == sorted(hours, reverse=True) and hours[0] > hours[-1]
        before = engine.entry("shop").live
        assert before is not None
        assert (await queries.verify(engine, "shop")).identical
        paper = before.snapshot().body
    async with running(store, clock) as engine:
        assert (await queries.statistics(engine, "shop")).monitor == told
        after = engine.entry("shop").live
        assert after is not None and after.snapshot().body == paper


@together
async def test_readiness_waits_for_the_policies_in_force(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, policy="ucb1")
        await create(engine, name="other", policy="ucb1")
        await admin.change(engine, "other", ChangeRequest(policy="epsilon-greedy:epsilon=0.2"))
        assert engine.entry("other").policy.startswith("epsilon-greedy:")
    async with running(store) as engine:
        while not engine.ready:
            await asyncio.sleep(0.01)
        assert engine.entry("shop").live is not None and engine.entry("other").live is not None


# ---- over HTTP ----


@pytest.mark.system
def test_arms_that_move_over_http_with_both_clients(tmp_path: Path) -> None:
    with Service(tmp_path / "store.db") as service:
        with patient(service.url) as client:
            client.create("calls", "wiql", CALLS, seed=1)
            first = client.decide("calls", states=["lapsed"] * 4)
            assert len(first.action) == 2 and first.ranking and {row.state for row in first.ranking} == {"lapsed"}
            assert client.learn("calls", first.id, states={"ana": "engaged"}, rewards={"ana": 0.5}).status == "learned"
            assert client.add_arm("calls", "emma", activation_cost=0.5).arms == [*NAMES, "emma"]
            assert client.change("calls", problem={"n_active": 3}).spec["problem"]["n_active"] == 3
            monitor = client.statistics("calls").monitor
            assert monitor.tracks["states"] == LEVELS and monitor.n_learned == 1
            assert client.explain("calls", first.id).arms[0]["why"]
            assert client.verify("calls").identical

        async def again() -> None:
            async with AsyncClient(service.url, **PATIENT) as client:
                told = await client.decide("calls", states=dict.fromkeys([*NAMES, "emma"], "wavering"))
                assert len(told.action) == 3
                assert (await client.learn("calls", told.id, states=["engaged"] * 5)).status == "learned"
                assert (await client.verify("calls")).identical
                lines = b"".join([chunk async for chunk in client.export("calls")]).splitlines()
                assert [json.loads(line)["status"] for line in lines] == ["learned", "learned"]

        asyncio.run(again())
        for body, code in (
            ({"states": [None] * 5}, 422),
            ({"states": "lapsed"}, 400),
            ({"states": ["gone"] * 5}, 422),
            ({"states": {}}, 422),
        ):
            answer = post(f"{service.url}/v1/deployments/calls/decide", json=body)
            assert answer.status_code == code and len(answer.json()["detail"].splitlines()) == 1
        post(f"{service.url}/v1/deployments", json=calls(name="turns", policy="round-robin"))
        post(f"{service.url}/v1/deployments/turns/decide", json={"states": ["lapsed"] * 4})
        told: dict[str, Any] = {"id": 0, "states": ["engaged"] * 4}
        answer = post(f"{service.url}/v1/deployments/turns/learn", json=told | {"rewards": [1.0] * 4})
        assert answer.status_code == 422 and "does not learn from rewards" in answer.json()["detail"]
        assert post(f"{service.url}/v1/deployments/turns/learn", json=told).json()["status"] == "learned"
        schemas = get(f"{service.url}/openapi.json").json()["components"]["schemas"]
        assert {"StatsView", "TimeBinView", "RankedArm", "ErrorBody"} <= set(schemas)
        assert {"states", "n_active", "transitions"} <= set(schemas["Restless"]["properties"])


def test_both_clients_have_every_verb() -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    own = {name for name, each in vars(requests).items() if getattr(each, "__module__", "") == requests.__name__}
    described = {name for name in own if not name.startswith("_")}
    others = {
        "Attempt",
        "T",
        "ApiCall",
        "RequestError",
        "OutcomeUnknown",
        "ServiceUnreachable",
        "error_body",
        "request_error",
        "log_path",
        "without_none",
        "list_page",
    }
    assert verbs(Client) == verbs(AsyncClient) == (described - others) | {"list", "send", "close", "export"}
