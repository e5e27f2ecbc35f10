"""Shadows of a deployment that serves: fed in the background, saved, kept through drops and erasures, promoted."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from driftwise.errors import ParameterError
from driftwise.families import MultiArmed
from driftwise.service.deployments import admin, erasure, promotion, queries, shadow_feed, shadows
from driftwise.service.deployments.background_tasks import tend_once
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.shadow import SavedShadow
from driftwise.service.http.errors import EventsDropped, NotFound
from driftwise.service.http.schemas.requests import ChangeRequest, PromoteRequest
from driftwise.service.store.journal import open_journal
from tests.fixtures.engine import Clock, create, decide, learn, running
from tests.service.test_service import SHOP, over_http, web

POLICY, UCB, UNIFORM = "epsilon-greedy:epsilon=0.3", "sliding-ucb:window=50", "uniform"


def with_store(test: Callable[[Path], Awaitable[None]]) -> Callable[..., None]:
    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path / "store.db"))  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def play(engine: Engine, n_rounds: int, seed: int = 0, **request: Any) -> list[Any]:
    """Decide and learn; every seventh outcome is missing."""
    rng, actions = random.Random(seed), []
    for n in range(n_rounds):
        decision = await decide(engine, **request)
        actions.append(decision["action"])
        if n % 7:
            await learn(engine, decision["id"], reward=float(rng.random() < 0.5))
    return actions


async def fed(engine: Engine) -> dict[str, SavedShadow]:
    """All shadows as they would be saved, after all events."""
    entry, _ = await engine.live("shop")
    await engine.commit()
    found = await shadow_feed.catch_up(engine, entry)
    assert found is not None and not found.lag(entry.live.number)  # type: ignore[union-attr]
    return {name: each.freeze(0)() for name, each in found.members.items()}


async def change(engine: Engine, **changes: Any) -> None:
    await admin.change(engine, "shop", msgspec.convert(changes, ChangeRequest))


async def promote(engine: Engine, policy: str, **options: Any) -> Any:
    return msgspec.json.decode((await promotion.promote(engine, "shop", PromoteRequest(policy, **options)))[1])


def test_saved_or_replayed_it_is_the_same(store: str) -> None:
    async def test() -> None:
        async with running(store) as engine:
            await create(engine, policy=POLICY, shadows=[UCB, UNIFORM])
            await play(engine, 120)
            before = await fed(engine)
        async with running(store) as engine:  # from what was saved
            assert shadows.saved_upto(engine.journal, 1) == {UCB: before[UCB].number, UNIFORM: before[UNIFORM].number}
            assert await fed(engine) == before
            await play(engine, 30, seed=1)
            later = await fed(engine)
        journal = open_journal(store)
        journal.drop(shadows.stream_of(1))
        journal.close()
        async with running(store) as engine:  # from the first event on
            assert await fed(engine) == later
            await change(engine, shadows=[UNIFORM])
            await change(engine, shadows=[UNIFORM, UCB])  # a late one is fed what came before it
            again = await fed(engine)
            assert {*again} == {UNIFORM, UCB} and again[UCB].state == later[UCB].state
            assert (await queries.verify(engine, "shop")).identical

    asyncio.run(test())


@with_store
async def test_the_deployment_decides_as_its_twin_without_shadows(store: Path) -> None:
    async with running(store) as engine, running(store.with_name("twin.db")) as twin:
        await create(engine, policy="sliding-thompson:window=100", shadows=[UCB, "thompson"])
        await create(twin, policy="sliding-thompson:window=100")
        for round_ in range(3):
            assert await play(engine, 40, round_) == await play(twin, 40, round_)
            await fed(engine)
        states = [each.entry("shop").live.agent.dumps() for each in (engine, twin)]  # type: ignore[union-attr]
        assert states[0] == states[1]


@with_store
async def test_it_follows_without_being_asked(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, policy=POLICY, shadows=[UCB])
        await play(engine, 50)
        while (view := (await queries.describe(engine, "shop"))["shadows"][0]).upto_event < 90:
            await asyncio.sleep(0.01)
        assert view.n > 30 and view.agreement is not None and view.since is not None


@with_store
async def test_a_promotion_is_a_change_of_policy_without_the_replay(store: Path) -> None:
    async with running(store) as engine, running(store.with_name("twin.db")) as twin:
        for each in (engine, twin):
            await create(each, policy=POLICY, shadows=[UCB, UNIFORM])
            await play(each, 60)
            await admin.add_arm(each, "shop", "white")
            await play(each, 60, seed=1)
        response = await promote(engine, "sliding-ucb:window=5e1")
        assert response["policy"] == UCB and response["spec"]["shadows"] == [UNIFORM]
        await change(twin, policy=UCB, shadows=[UNIFORM])
        one, other = (each.entry("shop").live for each in (engine, twin))
        assert one is not None and other is not None and one.snapshot() == other.snapshot()
        assert await play(engine, 40, seed=2) == await play(twin, 40, seed=2)
        assert (await queries.verify(engine, "shop")).identical
        assert await fed(engine) == await fed(twin)
        n_events = engine.entry("shop").live.number  # type: ignore[union-attr]
        assert (await promote(engine, UCB))["n_events"] == n_events  # a second time it changes nothing
        entries = [event.kind for event in engine.journal.read(1)].count("changed")
        assert entries == 1


@with_store
async def test_the_former_policy_can_stay_as_a_shadow(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, policy="epsilon-greedy", parameters={"epsilon": 0.3}, shadows=[UCB])
        await play(engine, 60)
        assert (await promote(engine, UCB, keep=True))["spec"]["shadows"] == [POLICY]
        await play(engine, 60, seed=1)
        kept = await fed(engine)
        assert kept[POLICY].state.n_decisions == 60  # it counts from the promotion on
        await promote(engine, POLICY, keep=True)
        await play(engine, 10, seed=2)
        last = await fed(engine)
        assert (await queries.verify(engine, "shop")).identical
    journal = open_journal(f"sqlite:///{store}")
    journal.drop(shadows.stream_of(1))
    journal.close()
    async with running(store) as engine:
        assert await fed(engine) == last


@with_store
async def test_what_cannot_be_a_shadow_is_refused_in_one_sentence(store: Path) -> None:
    async with running(store) as engine:
        for names, sentence in (
            (["sliding-ucbb"], "there is no policy called 'sliding-ucbb'; did you mean"),
            (["lin-ucb"], "LinUCB"),
            ([POLICY], "is the policy in force: it cannot be its own shadow"),
            (["uniform", "uniform"], "shadows has uniform twice"),
            (["sliding-ucb:window=0"], "window=0"),
        ):
            with pytest.raises(ParameterError, match=sentence):
                await create(engine, policy=POLICY, shadows=names)
        await create(engine, policy=POLICY, shadows=[UCB])
        with pytest.raises(ParameterError, match="it cannot be its own shadow"):
            await change(engine, policy=UCB)
        with pytest.raises(ParameterError, match="it cannot be its own shadow"):
            await change(engine, shadows=[POLICY])
        with pytest.raises(NotFound, match=f"uniform is not a shadow of deployment shop: it has {UCB}"):
            await promote(engine, UNIFORM)
        await change(engine, window={"rounds": None, "seconds": None})
        assert (await queries.describe(engine, "shop"))["spec"]["shadows"] == [UCB]


@with_store
async def test_shadows_outlive_the_events_that_are_dropped(store: Path) -> None:
    clock = Clock()
    async with running(store, clock) as engine, running(store.with_name("twin.db"), clock) as twin:
        await create(engine, policy=POLICY, shadows=[UCB], retention={"events": 100})
        await create(twin, policy=POLICY, shadows=[UCB])
        for round_ in range(5):
            assert await play(engine, 50, round_) == await play(twin, 50, round_)
            engine.save(engine.entry("shop"))
            await fed(engine)
            await tend_once(engine)
        assert engine.journal.origin(1) is not None
        assert (await fed(engine))[UCB].state == (await fed(twin))[UCB].state
        with pytest.raises(EventsDropped, match="a new shadow cannot be fed the whole journal"):
            await change(engine, shadows=[UCB, UNIFORM])
    async with running(store, clock) as engine, running(store.with_name("twin.db"), clock) as twin:
        assert (await fed(engine))[UCB].state == (await fed(twin))[UCB].state
        for each in (engine, twin):
            await promote(each, UCB, keep=True)
        assert await play(engine, 30, 7) == await play(twin, 30, 7)
        assert (await queries.verify(engine, "shop")).identical
    async with running(store, clock) as engine, running(store.with_name("twin.db"), clock) as twin:
        assert (await fed(engine))[POLICY].state == (await fed(twin))[POLICY].state
        assert await play(engine, 30, 8) == await play(twin, 30, 8)


@with_store
async def test_an_erased_unit_is_erased_from_shadows(store: Path) -> None:
    async with running(store) as engine:
        await create(engine, policy="uniform", problem=MultiArmed(["red", "blue"]), sticky=True, shadows=["ucb1"])
        for n in range(30):
            decision = await decide(engine, unit=f"person-{n % 5}")
            await learn(engine, decision["id"])
        before = await fed(engine)
        assert b"person-3" in before["ucb1"].deployment
        await erasure.erase_unit(engine, "shop", "person-3")
        after = await fed(engine)
        assert b"person-3" not in after["ucb1"].deployment and after["ucb1"].state == before["ucb1"].state
    assert b"person-3" not in store.read_bytes()
    async with running(store) as engine:
        assert await fed(engine) == after


@over_http
async def test_over_http_a_shadow_is_named_shown_and_promoted(store: Path) -> None:
    async with web(store) as ask:
        shop = SHOP | {"policy": POLICY, "shadows": [UCB]}
        assert (await ask("POST", "/deployments", shop)).status_code == 201
        (shadow,) = (await ask("GET", "/deployments/shop")).json()["shadows"]
        assert shadow["policy"] == UCB and shadow["estimate"] is None and shadow["why"]
        body = {"policy": UCB, "keep": True}
        first = await ask("POST", "/deployments/shop/promote", body, idempotency_key="once")
        again = await ask("POST", "/deployments/shop/promote", body, idempotency_key="once")
        assert first.status_code == again.status_code == 200 and first.json() == again.json()
        assert first.json()["policy"] == UCB and first.json()["spec"]["shadows"] == [POLICY]
        many = await ask("PATCH", "/deployments/shop", {"shadows": [f"sliding-ucb:window={n}" for n in range(2, 7)]})
        assert many.status_code == 400 and "length <= 4" in many.json()["detail"]
        wrong = await ask("POST", "/deployments/shop/promote", {"policy": "ucb1"})
        assert wrong.status_code == 404 and "not a shadow" in wrong.json()["detail"]
        actions = [each["action"] for each in (await ask("GET", "/audit")).json()["entries"]]
        assert actions.count("promote_shadow") >= 1
        assert "driftwise_shadow_lag_events" in (await ask.http.get("/metrics")).text
