"""Where events were dropped, a new policy or shadow may begin with those that are kept: exactly, and for good."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

import driftwise as dw
from driftwise.agent import Agent
from driftwise.agent.serialization import AgentBytes
from driftwise.cli import main
from driftwise.core.serialization import equal, seal, unseal
from driftwise.errors import ParameterError
from driftwise.service.deployments import admin, erasure, promotion, queries
from driftwise.service.deployments.background_tasks import tend_once
from driftwise.service.deployments.deployment import Deployment, DeploymentSnapshot
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.fold import begin
from driftwise.service.deployments.spec import policy_of
from driftwise.service.http.errors import Damaged, EventsDropped
from driftwise.service.http.schemas.requests import ChangeRequest, PromoteRequest
from driftwise.service.store.events import Decided, Learned, body_of
from tests.fixtures.engine import Clock, create, decide, learn, running
from tests.fixtures.everyday import deep_unless
from tests.service.test_retention import KEEP, play, play_and_tend
from tests.service.test_shadows import fed

POLICY, UCB, OTHER = "sliding-thompson:window=100", "sliding-ucb:window=60", "sliding-kl-ucb:window=80"


async def change(engine: Engine, *, allow: bool = True, **changes: Any) -> None:
    request = msgspec.convert(changes | {"allow_partial_replay": allow}, ChangeRequest)
    await admin.change(engine, "shop", request)


async def identical(engine: Engine) -> bool:
    return (await queries.verify(engine, "shop")).identical


async def dropped(engine: Engine, n_rounds: int = 250, **fields: Any) -> int:
    """A deployment that has dropped events, and kept some; the last event that is gone."""
    await create(engine, **{"retention": {"events": KEEP}} | fields)
    await play_and_tend(engine, n_rounds)
    origin = engine.journal.origin(1)
    assert origin is not None and len(kept(engine)) >= KEEP
    return origin.number


def kept(engine: Engine) -> list[int]:
    return [event.number for event in engine.journal.read(1)]


def live(engine: Engine) -> Deployment:
    found = engine.entry("shop").live
    assert found is not None
    return found


def by_hand(engine: Engine) -> Agent:
    """An agent of the policy in force: what pends at the origin is decided for it, then all that follows."""
    origin = engine.journal.origin(1)
    assert origin is not None
    before, spec = begin(origin, {"policy": "uniform", "parameters": {}, "window": None}), live(engine).spec
    agent = Agent(policy_of(spec), list(before.agent.arms), seed=spec.seed, max_pending=10**9)
    for id, (t, uid, propensity, _, _) in before.agent._pending.items():
        agent.decide(override=(before.agent.arms[uid], propensity), at=t, id=id)
    agent.t = before.agent.t
    for event in engine.journal.read(1, origin.number):
        body = body_of(event)
        if isinstance(body, Decided):
            propensity = math.nan if body.propensity is None else body.propensity
            agent.decide(override=(body.action, propensity), id=event.number)
        elif isinstance(body, Learned):
            agent.learn(event.ref, **body.outcome)
    return agent


def of_other_code(engine: Engine) -> None:
    """Let the origin be of a version of the policy that has other arrays; no snapshot is left."""
    journal: Any = engine.journal
    origin = journal.origin(1)
    body = msgspec.msgpack.decode(unseal(origin.body), type=DeploymentSnapshot)
    agent = msgspec.msgpack.decode(unseal(body.agent), type=AgentBytes)
    agent.state = [msgspec.structs.replace(each, path=f"former_{each.path}") for each in agent.state]
    body.agent = seal(msgspec.msgpack.encode(agent))
    journal.rebase(origin._replace(body=seal(msgspec.msgpack.encode(body))))
    journal.drop_snapshots(1, journal.snapshot_numbers(1))
    engine.entry("shop").discard("its origin is of other code")


CANNOT = "cannot be restored .*: change its policy with allow_partial_replay, .*repair --begin-anew shop STORE"


def test_another_policy_needs_nothing_of_a_state_that_cannot_be_restored(store: str) -> None:
    async def test() -> None:
        async with running(store) as engine:
            first = await dropped(engine)
            pending = [id for id in live(engine).pending if id < first]
            await engine.commit()
            of_other_code(engine)
            with pytest.raises(Damaged, match=CANNOT):
                await decide(engine)
            with pytest.raises(Damaged, match=CANNOT):
                await change(engine, policy=UCB, allow=False)
            with pytest.raises(ParameterError):
                await change(engine, policy="sliding-ucb:window=0")
            await change(engine, policy=UCB)
            assert engine.damaged_names == [] and await identical(engine)
            assert await learn(engine, pending[0]) in ("learned", "stale")
            await play(engine, 10)
            assert await identical(engine)
            state = live(engine).snapshot()
        async with running(store) as engine:
            await engine.live("shop")
            assert live(engine).snapshot() == state and await identical(engine)

    asyncio.run(test())
    assert CliRunner().invoke(main, ["store", "check", store]).exit_code == 0


def test_the_same_policy_begins_anew_where_a_command_says_so(store: str) -> None:
    command = ["store", "repair", "--begin-anew", "shop", store]

    async def test() -> int:
        async with running(store) as engine:
            await dropped(engine)
            await engine.commit()
            n_events = engine.journal.last(1) - engine.journal.origin(1).number  # type: ignore[union-attr]
        for name, sentence in (("shop", "can be restored"), ("shops", "there is no deployment 'shops'")):
            refused = CliRunner().invoke(main, [*command[:3], name, store])
            assert refused.exit_code == 2 and sentence in refused.output, refused.output
        async with running(store) as engine:
            of_other_code(engine)
        return n_events

    async def go_on() -> None:
        async with running(store) as engine:
            await engine.live("shop")
            assert (await queries.describe(engine, "shop"))["policy"] == POLICY and await identical(engine)
            assert equal(live(engine).agent.state, by_hand(engine).state)
            await play(engine, 10)
            assert await identical(engine)

    n_events = asyncio.run(test())
    done = CliRunner().invoke(main, [*command, "--dry-run"])
    assert "would begin anew" in done.output
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0 and f"learns from the {n_events} events after it" in done.output, done.output
    asyncio.run(go_on())


@pytest.mark.system
@pytest.mark.parametrize(
    "policy", [UCB, "auto", *(deep_unless(False, name) for name in ("thompson", "exp3:gamma=0.2", "glr-kl-ucb"))]
)
def test_a_new_policy_begins_with_the_events_that_are_kept(store: str, policy: str) -> None:
    clock = Clock()

    async def test() -> None:
        async with running(store, clock) as engine:
            first = await dropped(engine)
            pending = [id for id in live(engine).pending if id < first]
            assert len(pending) > 3
            sentence = (
                f"up to {first}: a new policy .* the {live(engine).number - 1 - first} events .* allow_partial_replay"
            )
            with pytest.raises(EventsDropped, match=sentence):
                await change(engine, policy=policy, allow=False)
            await change(engine, policy=policy)
            assert live(engine).number - 1 == kept(engine)[-1] and engine.journal.origin(1).number == first  # type: ignore[union-attr]
            assert equal(live(engine).agent.state, by_hand(engine).state)
            assert await identical(engine)
            for id in pending[:2]:
                assert await learn(engine, id) in ("learned", "stale")
                assert await learn(engine, id) == "duplicate"
            await play(engine, 20)
            assert await identical(engine)
            state = live(engine).snapshot()
        async with running(store, clock) as engine:
            await engine.live("shop")
            assert live(engine).snapshot() == state
            journal: Any = engine.journal
            journal.drop_snapshots(1, journal.snapshot_numbers(1))
            engine.entry("shop").discard("to fold it from the origin")
            await engine.live("shop")
            assert live(engine).snapshot() == state
            engine.long_replay = 0  # in a process of its own
            if journal.url is not None:
                assert await identical(engine)
            assert await learn(engine, pending[2]) in ("learned", "stale")
            assert await learn(engine, pending[0]) == "duplicate"

    asyncio.run(test())
    assert CliRunner().invoke(main, ["store", "check", store]).exit_code == 0


def test_the_window_tells_which_late_rewards_count(tmp_path: Path) -> None:
    """A reward counts for the new policy if its decision is in the window, by rounds or by the clock."""

    async def test(window: dict[str, Any], expected: list[str]) -> None:
        clock = Clock()
        async with running(tmp_path / f"{len(window)}-{window.get('rounds')}.db", clock) as engine:
            await create(engine, retention={"events": KEEP})
            old = (await decide(engine))["id"]
            clock.wait(1000)
            await play(engine, 60, late=1)
            young = (await decide(engine))["id"]
            engine.save(engine.entry("shop"))
            await engine.commit()
            await play(engine, 120)
            await tend_once(engine)
            assert engine.journal.origin(1) is not None and kept(engine)[0] > young
            await change(engine, policy="sliding-ucb", window=window)
            assert [await learn(engine, id) for id in (old, young)] == expected
            assert await identical(engine)

    asyncio.run(test({"rounds": 1000}, ["learned", "learned"]))
    asyncio.run(test({"rounds": 150}, ["stale", "learned"]))
    asyncio.run(test({"rounds": 500, "seconds": 500}, ["stale", "learned"]))


def test_changes_can_follow_each_other_and_cuts_too(store: str) -> None:
    """Back to the former policy it is not what it was; a cut takes no state from before the change."""

    async def test() -> None:
        async with running(store) as engine:
            first = await dropped(engine)
            before = live(engine).snapshot()
            await change(engine, policy=UCB)
            await admin.add_arm(engine, "shop", "white")
            await play(engine, 10)
            await change(engine, policy=POLICY)
            assert engine.journal.origin(1).number == first  # type: ignore[union-attr]
            assert live(engine).snapshot().body != before.body and await identical(engine)
            await tend_once(engine)
            assert engine.journal.origin(1).number == first  # type: ignore[union-attr]
            await play_and_tend(engine, 200)
            assert engine.journal.origin(1).number > first and await identical(engine)  # type: ignore[union-attr]
            await change(engine, parameters={"window": 30})
            assert await identical(engine)
        async with running(store) as engine:
            await engine.live("shop")
            assert live(engine).agent.policy.window == 30 and await identical(engine)

    asyncio.run(test())


def test_what_cannot_decide_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path / "store.db") as engine:
            await dropped(engine)
            before = live(engine).snapshot()
            for policy in ("lin-ucb", "sliding-ucb:window=0", "nobody"):
                with pytest.raises(ParameterError):
                    await change(engine, policy=policy)
            assert live(engine).snapshot() == before and await identical(engine)
            with pytest.raises(Exception, match="changes nothing"):
                await change(engine)

    asyncio.run(test())


def test_a_shadow_begins_there_too_and_its_promotion_is_the_change(store: str, tmp_path: Path) -> None:
    """The shadow is in the state that a change of policy reaches, bit for bit, also after restarts and cuts."""
    clock = Clock()

    async def test() -> None:
        async with running(store, clock) as engine, running(tmp_path / "twin.db", clock) as twin:
            for each in (engine, twin):
                first = await dropped(each)
            with pytest.raises(
                EventsDropped, match=r"a new shadow cannot be fed the whole journal.*allow_partial_replay=true"
            ):
                await change(engine, shadows=[UCB], allow=False)
            for each in (engine, twin):
                await change(each, shadows=[UCB, OTHER], retention=None)  # no cut meanwhile
                await play(each, 30)
            found = await fed(engine)
            assert found[UCB].state.since == first + 1 and found[UCB].state.n_decisions > 30
            assert await identical(engine)
        async with running(store, clock) as engine, running(tmp_path / "twin.db", clock) as twin:
            assert await fed(engine) == found
            journal: Any = engine.journal
            journal.drop(-2)  # what shadows have saved
            engine.entry("shop").shadows = None
            assert await fed(engine) == found
            await change(twin, policy=UCB, shadows=[OTHER])
            await promotion.promote(engine, "shop", PromoteRequest(UCB))
            assert live(engine).snapshot() == live(twin).snapshot()
            assert await identical(engine) and await identical(twin)
            for each in (engine, twin):
                await change(each, retention={"events": KEEP})
            assert await play_and_tend(engine, 200) == await play_and_tend(twin, 200)
            assert (await fed(engine))[OTHER].deployment == (await fed(twin))[OTHER].deployment
            await promotion.promote(engine, "shop", PromoteRequest(OTHER, keep=True))
            assert await identical(engine)
        async with running(store, clock) as engine:
            await play(engine, 20)
            assert {*await fed(engine)} == {UCB} and await identical(engine)

    asyncio.run(test())


def test_a_shadow_that_was_lost_begins_anew_only_where_a_change_names_it(tmp_path: Path) -> None:
    async def reloaded(engine: Engine) -> tuple[set[str], set[str]]:
        """Shadows that are fed, and those that are lost, when what was saved of them is gone."""
        await engine.commit()
        journal: Any = engine.journal
        journal.drop(-2)
        engine.entry("shop").shadows = None
        fed_ones, shadows = {*await fed(engine)}, engine.entry("shop").shadows
        assert shadows is not None
        return fed_ones, {*shadows.lost}

    async def test() -> None:
        async with running(tmp_path / "store.db") as engine:
            await create(engine, shadows=[UCB])
            await play(engine, 200)
            engine.save(engine.entry("shop"))
            await fed(engine)
            await change(engine, retention={"events": KEEP}, allow=False)
            await play_and_tend(engine, 100)
            assert engine.journal.origin(1) is not None
            await change(engine, retention=None, allow=False)
            assert await reloaded(engine) == (set(), {UCB})
            await change(engine, policy="ucb1")
            assert await reloaded(engine) == (set(), {UCB})  # that the policy may begin anew says nothing of shadows
            await change(engine, shadows=[UCB, OTHER])
            assert await reloaded(engine) == ({OTHER}, {UCB})
            await change(engine, shadows=[OTHER])
            await change(engine, shadows=[UCB, OTHER])
            assert await reloaded(engine) == ({OTHER, UCB}, set())
            with pytest.raises(EventsDropped):
                await change(engine, shadows=["kl-ucb", OTHER], allow=False)

    asyncio.run(test())


def test_samples_of_propensities_can_change_with_shadows(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path / "store.db") as engine:
            await dropped(engine)
            await change(engine, shadows=[UCB])
            await change(engine, propensity_samples=20)
            assert live(engine).agent.propensity_samples == 20 and await identical(engine)
            assert {*await fed(engine)} == {UCB}

    asyncio.run(test())


def test_a_unit_can_be_erased_before_and_after(store: str) -> None:
    async def test() -> None:
        async with running(store) as engine:
            await create(engine, sticky=True, retention={"events": KEEP})
            for n in range(200):
                decision = await decide(engine, unit=f"person-{n % 7}")
                await learn(engine, decision["id"])
                if n % 40 == 39:
                    engine.save(engine.entry("shop"))
                    await tend_once(engine)
            await erasure.erase_unit(engine, "shop", "person-3")
            await change(engine, policy=UCB)
            assert await identical(engine)
            assert (await decide(engine, unit="person-4"))["sticky"]
            await play(engine, 10, late=100)
            await erasure.erase_unit(engine, "shop", "person-5")
            assert await identical(engine)
        async with running(store) as engine:
            await change(engine, policy=POLICY)
            assert not (await decide(engine, unit="person-3")).get("sticky") and await identical(engine)

    asyncio.run(test())


PROBLEMS: dict[str, Any] = {
    "contextual": (
        dw.Contextual({"low": [1.0, 0.0], "high": [0.5, 1.0]}, context_dim=2),
        ("lin-ucb", "discounted-lin-ucb", "auto"),
        lambda n: {"context": [1.0, (n % 5) / 5]},
        lambda n: {"reward": float(n % 2)},
    ),
    "disjoint": (
        dw.Contextual(["low", "high"], context_dim=2),
        ("lin-ucb", "discounted-lin-ucb"),
        lambda n: {"context": [1.0, (n % 5) / 5]},
        lambda n: {"reward": float(n % 2)},
    ),
    "knapsack": (
        dw.Knapsack(["cheap", "dear"], budgets={"euros": 300.0}, horizon=2000),
        ("sliding-knapsack-ucb:window=100", "primal-dual-bwk", "auto"),
        lambda n: {},
        lambda n: {"reward": float(n % 2), "costs": {"euros": 0.5 * (n % 2)}},
    ),
    "slate": (
        dw.Slate(["a", "b", "c", "d"], slate_size=2),
        ("sliding-slate-ucb:window=50", "auto"),
        lambda n: {},
        lambda n: {"rewards": [float(n % 2), 0.0]},
    ),
    "restless": (
        dw.Restless(["ana", "bea", "cleo"], n_active=1, states=2, state_rewards=[0.0, 1.0]),
        ("wiql", "myopic", "round-robin"),
        lambda n: {"states": [n % 2, 0, 1]},
        lambda n: {"states": [0, n % 2, 1]},
    ),
}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_kind_of_problem_can(kind: str, tmp_path: Path) -> None:
    problem, policies, request, outcome = PROBLEMS[kind]

    async def rounds(engine: Engine, n_rounds: int) -> None:
        for n in range(n_rounds):
            decision = await decide(engine, **request(n))
            if n % 7 and decision["action"] is not None:
                await learn(engine, decision["id"], **outcome(n))
            if n % 50 == 49:
                engine.save(engine.entry("shop"))
                await tend_once(engine)

    async def test() -> None:
        store = tmp_path / "store.db"
        async with running(store) as engine:
            await create(engine, policy=policies[0], problem=problem, retention={"events": KEEP})
            await rounds(engine, 200)
            first = engine.journal.origin(1).number  # type: ignore[union-attr]
            for policy in policies[1:]:
                details = queries.details_of(live(engine))
                await change(engine, policy=policy)
                assert queries.details_of(live(engine)) == details  # what was spent is spent
                assert await identical(engine)
                late = [id for id in live(engine).pending if id < first]
                assert late and await learn(engine, late[0], **outcome(1)) in ("learned", "stale")
                await rounds(engine, 20)
                assert await identical(engine)
            state = live(engine).snapshot()
        async with running(store) as engine:
            await engine.live("shop")
            assert live(engine).snapshot() == state and await identical(engine)
            rows = b"".join([chunk async for chunk in await queries.export_log(engine, "shop", "jsonl", -1, 2**53)])
            assert all(np.isfinite(json.loads(row)["id"]) for row in rows.splitlines())

    asyncio.run(test())


def test_a_promotion_and_the_origin_of_replays_are_one_commit(store: str) -> None:
    """If the store fails in between, neither is there."""

    async def test() -> None:
        async with running(store) as engine:
            await create(engine, policy="uniform", shadows=[UCB], retention={"events": KEEP})
            for _ in range(5):
                await play(engine, 50)
                engine.save(engine.entry("shop"))
                await fed(engine)
                await tend_once(engine)
            origin, journal = engine.journal.origin(1), engine.journal
            assert origin is not None
            rebase = journal._rebase  # type: ignore[attr-defined]

            def fail(*arguments: object) -> None:
                rebase(*arguments)
                raise OSError("the disk is gone")

            journal._rebase = fail  # type: ignore[attr-defined]
            with pytest.raises(Exception, match="cannot be written now"):
                await promotion.promote(engine, "shop", PromoteRequest(UCB))
            journal._rebase = rebase  # type: ignore[attr-defined]
            assert (await queries.describe(engine, "shop"))["policy"] == "uniform" and journal.origin(1) == origin
            assert await identical(engine)
            await promotion.promote(engine, "shop", PromoteRequest(UCB))
            after = journal.origin(1)
            assert after is not None and after.number == live(engine).number - 1 and await identical(engine)

    asyncio.run(test())
