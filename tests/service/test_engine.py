"""Deployments decide, learn, change and come back: in one process, on a clock that the test moves."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Literal

import msgspec
import numpy as np
import pytest

from driftwise.core.serialization import seal, unseal
from driftwise.errors import DriftwiseError, RewardError
from driftwise.families import Contextual, Knapsack, MultiArmed, Slate
from driftwise.service.deployments import admin, decisions, queries
from driftwise.service.deployments.background_tasks import TASKS
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.export import rows
from driftwise.service.deployments.fold import fold, replay
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.http.errors import (
    Conflict,
    IdempotencyKeyReused,
    LimitReached,
    NotFound,
    NotRunning,
    RequestInProgress,
    Unavailable,
)
from driftwise.service.http.schemas.requests import ChangeRequest, DecideRequest, LearnRequest
from driftwise.service.store.journal import Event, JournalError, open_journal
from tests.fixtures.engine import Clock, create, decide, deployment_spec, learn, running
from tests.fixtures.patience import until_so

COLOURS = ["red", "blue", "green"]
TWO_EUROS = Knapsack(COLOURS, budgets={"euros": 2.0}, horizon=100)


def together(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test, on every kind of store."""

    def run(store: str) -> None:
        asyncio.run(test(store))  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def refused(kind: type[DriftwiseError], work: Awaitable[Any], words: str | None = None) -> None:
    with pytest.raises(kind, match=words):
        await work


async def live(engine: Engine, seed: int = 0, rounds: int = 60, name: str = "shop", **asked: Any) -> None:
    """Decide and learn for a while: late, out of order, and sometimes never."""
    luck = np.random.default_rng(seed)
    waiting: list[int] = []
    for _ in range(rounds):
        waiting.append((await decide(engine, name, **asked))["id"])
        while waiting and luck.random() < 0.6:
            await learn(engine, waiting.pop(luck.integers(len(waiting))), name, reward=float(luck.integers(2)))


def state(engine: Engine, name: str = "shop") -> bytes:
    found = engine.entry(name).live
    assert found is not None
    return found.snapshot().body


async def quiet(engine: Engine) -> None:
    """Until nothing is done beside requests any more, but to tend to time."""
    while len(engine._tasks) >= len(TASKS):  # all but the first go on for ever
        await asyncio.sleep(0.01)
    await engine.commit()


@together
async def test_a_decision_has_an_id_an_action_a_propensity_and_a_time(store: str) -> None:
    async with running(store) as engine:
        await create(engine, policy="epsilon-greedy")
        decision = await decide(engine)
        assert decision["action"] in ("red", "blue", "green") and 0 < decision["propensity"] <= 1
        assert decision["id"] == 0 and decision["decided_at"] == "2023-11-14T22:13:20Z"
        assert await learn(engine, 0) == "learned"


@together
async def test_propensities_are_counted_where_samples_are_asked_for(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        assert (await decide(engine))["propensity"] is None
        await admin.change(engine, "shop", ChangeRequest(propensity_samples=50))
        await live(engine)
        assert 0 < (await decide(engine))["propensity"] <= 1
        assert (await queries.verify(engine, "shop")).identical
        before = state(engine)
        await refused(
            DriftwiseError,
            create(engine, name="many", problem=MultiArmed(1000), propensity_samples=1001),
            "limit of 1000",
        )
    async with running(store) as engine:
        await queries.describe(engine, "shop")
        assert state(engine) == before


@together
async def test_every_kind_of_outcome_has_its_answer(store: str) -> None:
    clock = Clock()
    async with running(store, clock) as engine:
        await create(engine, policy="sliding-thompson:window=2", reward_window=60)
        first, second, third, fourth = [(await decide(engine))["id"] for _ in range(4)]
        assert await learn(engine, fourth) == "learned"
        assert await learn(engine, first) == "stale"  # out of order, and its round has left the window of 2
        assert await learn(engine, fourth) == "duplicate"
        await refused(Conflict, learn(engine, fourth, reward=0.0), "another outcome")
        await refused(NotFound, learn(engine, 99), "decision 99 does not exist")
        await refused(NotFound, learn(engine, 4), "decision 4 does not exist")  # an event, but no decision
        await refused(RewardError, learn(engine, second, reward=1.5), "outside")
        clock.wait(61)
        assert await learn(engine, second) == "late"
        assert await learn(engine, third) == "late"
        assert (await queries.get_decision(engine, "shop", third)).status == "defaulted"
        again = (await decide(engine))["id"]
        await decisions.cancel(engine, "shop", again)
        await decisions.cancel(engine, "shop", again)
        await refused(Conflict, learn(engine, again), "cancelled")
        await refused(Conflict, decisions.cancel(engine, "shop", fourth))
        await refused(NotFound, decisions.cancel(engine, "shop", 99))


@together
async def test_a_batch_of_outcomes_answers_each(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        _, body = await decisions.decide(engine, "shop", [DecideRequest()] * 3, many=True)
        ids = [each["id"] for each in json.loads(body)["decisions"]]
        told = [
            LearnRequest(id=ids[0], reward=1.0),
            LearnRequest(id=ids[0], reward=1.0),
            LearnRequest(id=ids[1], reward=7.0),
            LearnRequest(id=50, reward=1.0),
            LearnRequest(id=ids[0], reward=0.0),
        ]
        _, body = await decisions.learn(engine, "shop", told, many=True)
        statuses = [each["status"] for each in json.loads(body)["outcomes"]]
        assert statuses == ["learned", "duplicate", "invalid", "not-found", "conflict"]
        assert (await queries.verify(engine, "shop")).identical


@together
async def test_a_batch_of_decisions_is_made_whole_or_not_at_all(store: str) -> None:
    async with running(store) as engine:
        await create(engine, policy="sliding-lin-ucb:window=50", problem=Contextual(["a", "b"], context_dim=2))
        good, bad = DecideRequest(context=[1.0, 0.0]), DecideRequest(context=[1.0])
        await decisions.decide(engine, "shop", [good, good], many=True)
        before = state(engine)
        for asks in ([bad], [good, bad], [good, good, DecideRequest()]):
            await refused(DriftwiseError, decisions.decide(engine, "shop", asks, many=True))
            assert state(engine) == before
        assert (await queries.verify(engine, "shop")).n_events == 2


@together
async def test_a_key_answers_the_same_request_alike_and_refuses_another(store: str) -> None:
    key = IdempotencyKey("me", "k1", b"decide")
    async with running(store) as engine:
        await create(engine)
        first = await decide(engine, key=key)
        assert await decide(engine, key=key) == first
        await refused(IdempotencyKeyReused, decide(engine, key=IdempotencyKey("me", "k1", b"other")))
        assert (await decide(engine, key=IdempotencyKey("you", "k1", b"other")))[
            "id"
        ] == 1  # keys belong to their caller
        results = await asyncio.gather(
            *(decide(engine, key=IdempotencyKey("me", "k2", b"")) for _ in range(5)), return_exceptions=True
        )
        assert sum(isinstance(each, RequestInProgress) for each in results) == 4
    async with running(store) as engine:
        assert await decide(engine, key=key) == first
        assert engine.entry("shop").live is None or (await queries.describe(engine, "shop"))["n_events"] == 3


@together
async def test_a_restart_goes_on_bit_for_bit(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        await live(engine)
        before = state(engine)
    async with running(store) as engine:
        await queries.describe(engine, "shop")
        assert state(engine) == before
        assert (await queries.verify(engine, "shop")).identical
        continued = [(await decide(engine))["action"] for _ in range(30)]
    journal = open_journal(store)
    straight = fold(journal, 1, deployment_spec(), cached=False, upto=len([*journal.read(1)]) - 31)
    assert [straight.decide({}, None, 0)[1].action for _ in range(30)] == continued
    journal.close()


@together
async def test_a_snapshot_of_other_code_is_not_believed(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        await live(engine)
    journal = open_journal(store)
    snapshot = journal.latest(1)
    assert snapshot is not None
    paper = msgspec.msgpack.decode(unseal(snapshot.body))
    paper[1] = "0123456789abcdef"
    journal.save(snapshot._replace(body=seal(msgspec.msgpack.encode(paper))))
    fresh, cached = fold(journal, 1, deployment_spec(), cached=False), fold(journal, 1, deployment_spec())
    assert fresh.snapshot() == cached.snapshot() == snapshot
    journal.save(snapshot._replace(body=b"rubbish"))
    assert fold(journal, 1, deployment_spec()).snapshot() == snapshot
    journal.close()


@together
async def test_a_fold_reads_every_event_once(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        await live(engine)
        await admin.change(engine, "shop", ChangeRequest(policy="ucb1"))
        n_events = engine.journal.last(1) + 1
    journal: Any = open_journal(store)
    read, numbers = journal.read, []

    def counted(*args: Any) -> Iterator[Event]:
        for event in read(*args):
            numbers.append(event.number)
            yield event

    journal.read = counted
    assert fold(journal, 1, deployment_spec(), cached=False).spec.policy == "ucb1"
    assert numbers == [*range(n_events)]
    journal.close()


@together
async def test_crash_after_crash_there_is_never_much_to_replay(store: str) -> None:
    """What was replayed counts towards the next snapshot, however short the lives between crashes are."""
    for crash in range(12):
        engine = Engine(open_journal(store), clock=Clock())
        await engine.start()
        if not crash:
            await create(engine)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("driftwise.service.deployments.engine.SNAPSHOT_EVERY", 50)
            await live(engine, seed=crash, rounds=10)  # about 16 events
        entry = engine.entry("shop")
        for task in engine._tasks:
            task.cancel()
        await engine.writer.close()
        snapshot, number = engine.journal.latest(1), entry.live.number if entry.live else 0
        engine.journal.close()
    assert snapshot is not None and number - snapshot.number < 100 < number


@together
async def test_a_large_snapshot_is_that_of_its_moment(store: str) -> None:
    """It is made in a thread while decisions go on; and one that holds what was never committed is not kept."""
    journal = Broken(open_journal(store))
    engine = Engine(journal, clock=Clock())
    await engine.start()
    await create(engine, sticky=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("driftwise.service.deployments.engine.MANY", 0)
        patch.setattr("driftwise.service.deployments.engine.SNAPSHOT_EVERY", 10)
        await live(engine, rounds=60, unit="me")
        await quiet(engine)
        kept = journal.latest(1)
        entry = engine.entry("shop")
        assert kept is not None and entry.live is not None
        assert fold(journal, 1, entry.initial, cached=False, upto=kept.number).snapshot() == kept
        journal.failing = True
        entry.unsaved = 10**6  # a snapshot is due, with a decision that will not be committed
        await refused(Unavailable, decide(engine))
        journal.failing = False
        await quiet(engine)
        assert journal.latest(1) == kept
        assert (await queries.verify(engine, "shop")).identical
    await engine.close()


@together
async def test_a_lost_event_is_noticed(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        await live(engine, rounds=5)
    journal = open_journal(store)
    events = [event for event in journal.read(1) if event.number != 2]
    with pytest.raises(JournalError, match="lost event 2"):
        replay(Deployment(1, deployment_spec()), events)
    journal.close()


@together
async def test_the_journal_is_replayed_into_another_policy(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        await live(engine, rounds=100)
        _, body = await admin.change(engine, "shop", ChangeRequest(policy="sliding-ucb", parameters={"window": 80}))
        assert json.loads(body)["policy"] == "sliding-ucb:window=80"
        found = engine.entry("shop").live
        assert found is not None and found.agent.t == 100 and found.agent.state.window.counts.sum() > 20
        await live(engine, seed=1)
        assert (await queries.verify(engine, "shop")).identical
        before = state(engine)
        await refused(DriftwiseError, admin.change(engine, "shop", ChangeRequest(policy="lin-ucb")), "features")
        await refused(DriftwiseError, admin.change(engine, "shop", ChangeRequest(parameters={"windw": 3.0})), "windw")
        assert state(engine) == before
    async with running(store) as engine:
        await queries.describe(engine, "shop")
        assert state(engine) == before
        assert (await queries.explain(engine, "shop", 0)).policy == "sliding-thompson:window=100"


@together
async def test_arms_come_and_go(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        await live(engine)
        await admin.add_arm(engine, "shop", "violet")
        await admin.retire_arm(engine, "shop", "red")
        await live(engine, seed=2)
        assert (await queries.describe(engine, "shop"))["arms"] == ["blue", "green", "violet"]
        before = state(engine)
        await refused(DriftwiseError, admin.add_arm(engine, "shop", "blue"), "already")
        await refused(DriftwiseError, admin.retire_arm(engine, "shop", "red"), "no arm")
        assert (await queries.verify(engine, "shop")).identical
        assert state(engine) == before


@together
async def test_deployments_pause_resume_and_retire(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        id = (await decide(engine))["id"]
        await refused(Conflict, create(engine), "already")
        await admin.set_status(engine, "shop", "paused")
        await refused(NotRunning, decide(engine), "paused")
        assert await learn(engine, id) == "learned"
    async with running(store) as engine:
        await refused(NotRunning, decide(engine), "paused")
        await admin.set_status(engine, "shop", "running")
        await decide(engine)
        await admin.set_status(engine, "shop", "retired")
        await refused(NotRunning, learn(engine, 2), "retired")
        await refused(NotRunning, admin.set_status(engine, "shop", "running"), "cannot be undone")
        assert queries.list_deployments(engine, "", 10, None)["deployments"][0]["status"] == "retired"


@together
async def test_a_unit_keeps_its_arm_while_there_is_such_an_arm(store: str) -> None:
    async with running(store) as engine:
        await create(engine, policy="uniform", sticky=True)
        first = {unit: (await decide(engine, unit=unit))["action"] for unit in map(str, range(20))}
        assert len(set(first.values())) > 1
        for unit, arm in first.items():
            again = await decide(engine, unit=unit)
            assert (
                again["action"] == arm
                and again["sticky"]
                and not again.get("override")
                and again["propensity"] == pytest.approx(1 / 3)
            )
        await admin.retire_arm(engine, "shop", first["0"])
        moved = await decide(engine, unit="0")
        assert moved["action"] != first["0"] and not moved.get("sticky")
        assert (await queries.verify(engine, "shop")).identical
    async with running(store) as engine:
        assert (await decide(engine, unit="0"))["action"] == moved["action"]


@together
async def test_the_log_tells_what_a_unit_kept_from_what_was_chosen_outside(store: str) -> None:
    async with running(store) as engine:
        await create(engine, policy="uniform", sticky=True)
        first = await decide(engine, unit="ana")
        await decide(engine, unit="ana")
        override = {"action": "blue", "propensity": 0.25}
        await decide(engine, unit="ana", override=override)
        kept = await decide(engine, unit="ana")  # what was done to it last
        await engine.commit()
        log = [*rows(engine.journal, 1, -1, 10)]
        assert [(row["sticky"], row["override"]) for row in log] == [
            (False, False),
            (True, False),
            (False, True),
            (True, False),
        ]
        assert log[1]["action"] == first["action"] and log[1]["propensity"] == first["propensity"]
        assert kept["action"] == "blue" and kept["propensity"] == 0.25
        assert (await queries.verify(engine, "shop")).identical


@together
async def test_a_window_by_the_clock_forgets_by_the_clock(store: str) -> None:
    clock = Clock()
    async with running(store, clock) as engine:
        await create(engine, policy="sliding-ucb", window={"seconds": 3600, "rounds": 360})
        for _ in range(50):
            clock.wait(20)
            await learn(engine, (await decide(engine))["id"])
        found = engine.entry("shop").live
        assert found is not None
        window = found.agent.state.window
        assert window.counts.sum() == 50
        clock.wait(3600 - 20 * 20)
        await decide(engine)
        assert abs(int(found.agent.state.window.counts.sum()) - 20) <= 1
        clock.wait(10 * 365 * 86400)
        await decide(engine)
        assert found.agent.state.window.counts.sum() == 0
        assert (await queries.verify(engine, "shop")).identical
        for _ in range(10):
            clock.wait(20)
            await learn(engine, (await decide(engine))["id"])
        assert found.agent.state.window.counts.sum() == 10
        assert (await queries.verify(engine, "shop")).identical


@together
async def test_outcomes_default_while_nobody_asks(store: str) -> None:
    clock = Clock()
    async with running(store, clock) as engine:
        await create(engine, reward_window=5, default_outcome={"reward": 0.25})
        id = (await decide(engine))["id"]
        clock.wait(6)

        async def defaulted() -> bool:
            return (await queries.get_decision(engine, "shop", id)).status == "defaulted"

        await until_so(defaulted, "the default")
        assert (await queries.get_decision(engine, "shop", id)).outcome == {"reward": 0.25}


@together
async def test_pending_decisions_are_bounded_and_none_is_forgotten(store: str) -> None:
    async with running(store) as engine:
        await create(engine, max_pending=3)
        ids = [(await decide(engine))["id"] for _ in range(3)]
        await refused(LimitReached, decide(engine), "3 decisions are pending")
        await learn(engine, ids[0])
        await decide(engine)
        await refused(LimitReached, decisions.decide(engine, "shop", [DecideRequest()], many=True))


@together
async def test_a_horizon_can_be_changed_without_budgets(store: str) -> None:
    async with running(store) as engine:
        await create(engine, policy="exp3", problem=MultiArmed(3, horizon=1000))
        await live(engine, rounds=50)
        found = engine.entry("shop").live
        assert found is not None
        rate = float(found.agent.state.rates[0])
        await admin.change(engine, "shop", ChangeRequest(problem={"horizon": 4000}))
        assert found.agent.state.rates[0] == pytest.approx(rate / 2)
        await live(engine, seed=1)
        assert (await queries.verify(engine, "shop")).identical
        await refused(
            DriftwiseError,
            admin.change(engine, "shop", ChangeRequest(problem={"horizon": 50})),
            "horizon=50 has passed",
        )
        await refused(
            DriftwiseError,
            admin.change(engine, "shop", ChangeRequest(problem={"budgets": {"euros": 5.0}})),
            "has no 'budgets'",
        )


@together
async def test_budgets_are_told_and_never_overspent(store: str) -> None:
    async with running(store) as engine:
        await create(engine, policy="sliding-ucb:window=50", problem=TWO_EUROS)
        first = await decide(engine)
        assert first["remaining"] == {"euros": 2.0}
        second = await decide(engine)
        assert (await decide(engine))["action"] is None  # both euros are reserved
        await learn(engine, first["id"], reward=1.0, costs={"euros": 0.5})
        await learn(engine, second["id"], reward=1.0, costs=0.25)
        assert (await queries.describe(engine, "shop"))["details"]["budgets"]["remaining"] == {"euros": 1.25}
        await admin.change(engine, "shop", ChangeRequest(problem={"budgets": {"euros": 5.0}}))
        assert (await queries.statistics(engine, "shop")).details["budgets"] == {
            "total": {"euros": 5.0},
            "remaining": {"euros": 4.25},
            "reserved": {"euros": 0.0},
        }
        await live_with_costs(engine)
        assert (await queries.verify(engine, "shop")).identical
        await refused(
            DriftwiseError, admin.change(engine, "shop", ChangeRequest(problem={"budgets": {"euros": 0.1}})), "below"
        )
        assert (await queries.verify(engine, "shop")).identical


@together
async def test_a_unit_keeps_its_arm_only_while_it_can_be_paid_for(store: str) -> None:
    async with running(store) as engine:
        await create(engine, policy="ucb1", sticky=True, problem=TWO_EUROS)
        first = await decide(engine, unit="me")
        assert (await decide(engine, unit="me"))["action"] == first["action"]
        refused = await decide(engine, unit="me")
        assert refused["action"] is None  # both euros are reserved
        await learn(engine, first["id"], reward=1.0, costs={"euros": 0.0})
        again = await decide(engine, unit="me")
        assert again["action"] == first["action"] and again["sticky"]
        assert (await queries.verify(engine, "shop")).identical


@together
async def test_reservations_are_restored_bit_for_bit(store: str) -> None:
    """Late costs, some never told, arms and budgets that change: from a snapshot and from the journal alike."""
    ways: tuple[Literal["maximum", "estimate"], ...] = ("maximum", "estimate")
    waiting: dict[str, list[int]] = {how: [] for how in ways}
    before: dict[str, Any] = {}
    async with running(store) as engine:
        for how in ways:
            problem = Knapsack(COLOURS, budgets={"euros": 60.0}, horizon=400, reserve=how)
            await create(engine, name=how, policy="prequential-pacing", problem=problem)
            await spend(engine, how, 0, waiting[how])
            await admin.retire_arm(engine, how, "red")
            await admin.change(engine, how, ChangeRequest(problem={"budgets": {"euros": 90.0}, "horizon": 500}))
            await spend(engine, how, 1, waiting[how])
            await queries.take_snapshot(engine, how)
            await spend(engine, how, 2, waiting[how])
            before[how] = state(engine, how), (await queries.statistics(engine, how)).details["budgets"]
            assert before[how][1]["reserved"]["euros"] > 0.0
            assert (await queries.verify(engine, how)).identical
    async with running(store) as engine:
        for how in ways:
            await queries.describe(engine, how)
            assert (state(engine, how), (await queries.statistics(engine, how)).details["budgets"]) == before[how]
            await spend(engine, how, 3, waiting[how])
            assert (await queries.verify(engine, how)).identical
            told: Any = (await queries.statistics(engine, how)).details["budgets"]
            assert told["remaining"]["euros"] >= told["reserved"]["euros"]


async def spend(engine: Engine, name: str, seed: int, waiting: list[int]) -> None:
    """Some rounds whose costs come late and out of order; what was `waiting` before is told of too."""
    luck = np.random.default_rng(seed)
    for _ in range(60):
        decision = await decide(engine, name)
        waiting += [decision["id"]] if decision["action"] is not None else []
        while waiting and luck.random() < 0.4:
            late, costs = waiting.pop(luck.integers(len(waiting))), {"euros": float(luck.random() < 0.2)}
            if luck.random() < 0.1:
                await decisions.cancel(engine, name, late)
            else:
                await learn(engine, late, name, reward=float(luck.random()), costs=costs)


async def live_with_costs(engine: Engine) -> None:
    for _ in range(20):
        decision = await decide(engine)
        if decision["action"] is not None:
            await learn(engine, decision["id"], reward=1.0, costs={"euros": 0.1})


@together
async def test_features_contexts_and_slates_are_served(store: str) -> None:
    async with running(store) as engine:
        await create(engine, name="rows", policy="sliding-lin-ucb:window=50", problem=Contextual(n_features=2))
        await create(
            engine, name="named", policy="sliding-lin-ucb:window=50", problem=Contextual({"a": [1, 0], "b": [0, 1]})
        )
        await create(engine, name="page", policy="sliding-slate-ucb:window=50", problem=Slate(3, slate_size=2))
        rows = await decide(engine, "rows", actions=[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        assert rows["action"] in (0, 1, 2)
        await learn(engine, rows["id"], "rows", reward=0.5)
        assert (await decide(engine, "named"))["action"] in ("a", "b")
        page = await decide(engine, "page")
        assert len(page["action"]) == 2
        await refused(RewardError, learn(engine, page["id"], "page", rewards={"0": 0.0, "1": 1.0}), "not a list of 2")
        await learn(engine, page["id"], "page", rewards=[0.0, 1.0])
        for name in ("rows", "named", "page"):
            assert (await queries.verify(engine, name)).identical
        assert (await queries.explain(engine, "page", 0)).reproduced
        assert (await queries.explain(engine, "rows", 0)).reproduced


@together
async def test_points_are_served(store: str) -> None:
    async with running(store) as engine:
        domain = [{"kind": "box", "low": [0], "high": [1]}, {"kind": "simplex", "size": 2}]
        problem = {"kind": "convex", "domain": domain, "n_constraints": 1, "horizon": 100}
        await create(engine, policy="virtual-queue", problem=problem)
        for _ in range(10):
            point = await decide(engine)
            assert len(point["action"]) == 3 and sum(point["action"][1:]) == pytest.approx(1.0)
            told: dict[str, Any] = {
                "gradient": [1.0, 0.5, -0.5],
                "values": [0.1],
                "jacobian": [[1.0, 0.0, 0.0]],
                "loss": 2.0,
            }
            assert await learn(engine, point["id"], **told) == "learned"
        assert (await queries.explain(engine, "shop", 0)).reproduced
        assert (await queries.verify(engine, "shop")).identical
        await refused(
            DriftwiseError,
            create(engine, policy="virtual-queue", problem=problem, name="x", reward_window=5),
            "no default",
        )


@together
async def test_a_decision_is_explained(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        await live(engine)
        told = await queries.explain(engine, "shop", (await decide(engine))["id"])
        assert told.reproduced and told.window == {"rounds": 100, "from_round": 0, "to_round": 59}
        assert sum(arm["share"] for arm in told.arms) == pytest.approx(1.0)
        assert [arm["chosen"] for arm in told.arms].count(True) == 1
        for arm in told.arms:
            assert 0.0 <= arm["low"] <= arm["estimate"] <= arm["high"] <= 1.0 and arm["index"] is None
        assert sum(arm["count"] + arm["pending"] for arm in told.arms) == 60
        await admin.change(engine, "shop", ChangeRequest(policy="sliding-ucb:window=50"))
        await live(engine)
        told = await queries.explain(engine, "shop", (await decide(engine))["id"])
        assert told.reproduced
        for arm in told.arms:
            assert arm["low"] < arm["estimate"] < arm["high"] == arm["index"]
        await refused(NotFound, queries.explain(engine, "shop", 10**6))


@together
async def test_an_explanation_is_in_the_units_of_rewards(store: str) -> None:
    async with running(store) as engine:
        for policy, has in (("kl-ucb", True), ("practical-ad-switch", True), ("epsilon-greedy", True), ("exp3", False)):
            problem = MultiArmed(COLOURS, reward_range=(0.0, 10.0), horizon=1000)
            await create(engine, name=policy, policy=policy, problem=problem)
            for _ in range(9):
                await learn(engine, (await decide(engine, policy))["id"], policy, reward=5.0)
            told = await queries.explain(engine, policy, (await decide(engine, policy))["id"])
            assert {arm["estimate"] for arm in told.arms} == {5.0 if has else None}
            assert sum(arm["pending"] for arm in told.arms) == 0 and told.reproduced
        await create(engine, name="rows", policy="sliding-lin-ucb:window=50", problem=Contextual(n_features=2))
        rows = await decide(engine, "rows", actions=[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        told = await queries.explain(engine, "rows", rows["id"])
        assert [arm["arm"] for arm in told.arms if arm["chosen"]] == [rows["action"]] and len(told.arms) == 3


class Broken:
    """A journal that fails when told to."""

    def __init__(self, journal: Any) -> None:
        self._journal, self.failing = journal, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append(self, *args: Any) -> None:
        if self.failing:
            raise JournalError("disk full")
        self._journal.append(*args)


@together
async def test_what_was_not_committed_never_happened(store: str) -> None:
    journal = Broken(open_journal(store))
    engine = Engine(journal, clock=Clock())
    await engine.start()
    await create(engine)
    await live(engine, rounds=20)
    before = state(engine)
    journal.failing = True
    results = await asyncio.gather(*(decide(engine) for _ in range(10)), return_exceptions=True)
    assert all(isinstance(each, Unavailable) for each in results)
    await refused(Unavailable, create(engine, name="other"))
    journal.failing = False
    await queries.describe(engine, "shop")
    assert state(engine) == before
    await live(engine, seed=3, rounds=20)
    assert (await queries.verify(engine, "shop")).identical
    await create(engine, name="other")
    await decide(engine, "other")
    await engine.close()


@together
async def test_many_at_once_are_decided_one_after_another(store: str) -> None:
    async with running(store) as engine:
        await create(engine)
        decisions = await asyncio.gather(*(decide(engine) for _ in range(200)))
        assert sorted(each["id"] for each in decisions) == list(range(200))
        statuses = await asyncio.gather(*(learn(engine, each["id"]) for each in decisions for _ in range(2)))
        assert statuses.count("duplicate") == 200
        assert engine.writer.commits < 60  # they shared commits
        assert (await queries.verify(engine, "shop")).identical


@together
async def test_errors_of_auto_name_what_was_written_also_from_a_snapshot_and_after_a_change(store: str) -> None:
    async with running(store) as engine:
        await create(engine, policy="auto")
        words = r"auto \(here FilterBankUCB\) does not accept `context`"
        await refused(DriftwiseError, decide(engine, context=[1.0]), words)
        await live(engine, rounds=3)
    async with running(store) as engine:
        await decide(engine)
        entry = engine.entry("shop")
        assert entry.live is not None and entry.live.saved
        await refused(DriftwiseError, decide(engine, context=[1.0]), words)
        await admin.change(engine, "shop", ChangeRequest(policy="sliding-ucb"))
        await refused(DriftwiseError, decide(engine, context=[1.0]), "^SlidingUCB does not accept `context`")


@together
async def test_what_a_deployment_cannot_be_is_refused(store: str) -> None:
    async with running(store) as engine:
        for words, rule in (
            ({"policy": "sliding-tompson"}, "did you mean sliding-thompson"),
            ({"policy": "thompson", "window": {"seconds": 60}}, "no window"),
            ({"policy": "sliding-ucb", "window": {"seconds": 60}, "problem": TWO_EUROS}, "cannot be used with budgets"),
            ({"policy": "sliding-ucb:window=1e9"}, "exceeds the limit"),
            ({"policy": "lin-ucb"}, "features"),
            ({"problem": MultiArmed(["red", "red"])}, "twice"),
            ({"problem": MultiArmed(["bell\x07", "b"])}, "printable"),
            ({"reward_window": 5, "default_outcome": {"reward": 9}}, "outside"),
            ({"default_outcome": {"reward": 0, "costs": {"a": 1}}}, "does not accept `costs`"),
            ({"default_outcome": {"reward": 9}}, "outside"),
        ):
            await refused(DriftwiseError, create(engine, **words), rule)
        assert queries.list_deployments(engine, "", 10, None)["deployments"] == []
