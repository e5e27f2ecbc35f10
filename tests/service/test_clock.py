"""A clock that leaps: nothing that waits is given up, no window stands still, and the log says what happened."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from driftwise.service.deployments import admin, queries
from driftwise.service.deployments.background_tasks import run_once
from driftwise.service.deployments.clock import LASTING_S, STEP_S, Clock, microseconds, now_us
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.http.schemas.requests import ChangeRequest, WindowSpec
from tests.fixtures.engine import START, create, decide, learn, running
from tests.fixtures.engine import Clock as Fake

YEAR = 365 * 86_400.0
WINDOW = 60.0


def on_every_store(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test on every kind of store."""

    def run(store: str, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "driftwise.service")
        asyncio.run(test(store, caplog))  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


async def status(engine: Engine, id: int) -> str:
    return (await queries.get_decision(engine, "shop", id)).status


async def at(engine: Engine, id: int) -> float:
    """When a decision was made, in seconds since the start."""
    return (microseconds((await queries.get_decision(engine, "shop", id)).decided_at) - START) / 1e6


def time_of(decision: Any) -> int:
    """When a decision was made, in microseconds since 1970."""
    return microseconds(datetime.fromisoformat(decision["decided_at"]))


def counted(engine: Engine, name: str = "clocked") -> int:
    live = engine.entry(name).live
    assert live is not None
    return int(live.agent.state.window.counts.sum())


# ---- the clock itself ----


def test_the_clock_follows_the_wall_clock() -> None:
    clock = Clock()
    assert abs(clock() - now_us()) < 1e6 * STEP_S
    fake = Fake()
    for seconds in (0.0, 1.0, 86_400.0, 10 * YEAR):
        fake.wait(seconds)
        assert fake() == fake.now
    for step in (3.0, -3.0, STEP_S - 1, 0.5):  # a time server sets it right
        before = fake()
        fake.leap(step)
        assert fake() == max(before, fake.now)
        fake.wait(60)
        assert fake() == fake.now


@pytest.mark.parametrize("leap", [YEAR, -YEAR, 2.0 * STEP_S])
def test_a_leap_is_not_followed_until_it_has_lasted(leap: float, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "driftwise.service")
    clock = Fake()
    clock.leap(leap)
    assert clock() == START
    clock.wait(1)
    assert clock() == START + 1_000_000
    clock.leap(-leap)
    clock.wait(1)
    assert clock() == clock.now == START + 2_000_000
    assert said(caplog) == [
        "the clock of this machine has leapt: it is not followed for now",
        "the clock of this machine is right again",
    ]
    clock.leap(leap)
    assert clock() == START + 2_000_000
    clock.wait(LASTING_S - 1)
    assert clock.lasting_leap() is None
    clock.leap(5 * STEP_S)  # it leaps again, and must last anew
    assert clock.lasting_leap() is None
    clock.wait(LASTING_S)
    passed = START + 2_000_000 + int(1e6 * (2 * LASTING_S - 1))
    assert clock.lasting_leap() == (passed, clock.now) and clock() == passed
    clock.accept_leap()
    assert clock() == clock.now and clock.lasting_leap() is None


# ---- decisions that wait, and windows ----


@on_every_store
async def test_a_leap_that_passes_changes_nothing(store: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = Fake()
    async with running(store, clock) as engine:
        await create(engine, reward_window=WINDOW)
        await create(engine, name="clocked", policy="sliding-ucb", window={"seconds": 3600, "rounds": 360})
        ids = [(await decide(engine))["id"] for _ in range(3)]
        for _ in range(5):
            clock.wait(10)
            await learn(engine, (await decide(engine, "clocked"))["id"], "clocked")
        clock.leap(YEAR)
        await run_once(engine)
        assert await learn(engine, ids[0]) == "learned"
        made = await decide(engine)
        assert ((time_of(made) - START) / 1e6, await status(engine, ids[1])) == (50.0, "pending")
        await decide(engine, "clocked")
        clock.wait(1)
        clock.leap(-YEAR)
        await run_once(engine)
        assert [await status(engine, id) for id in ids[1:]] == ["pending"] * 2 and counted(engine) == 5
        clock.wait(10)
        await run_once(engine)
        assert [await status(engine, id) for id in ids[1:]] == ["defaulted"] * 2  # in time: no window stands still
        assert await at(engine, (await decide(engine))["id"]) == 61.0
        clock.wait(3600)
        await decide(engine, "clocked")
        assert counted(engine) == 0
        for name in ("shop", "clocked"):
            assert (await queries.verify(engine, name)).identical
    assert sum("leapt" in line for line in said(caplog)) == 1
    assert sum("right again" in line for line in said(caplog)) == 1


@on_every_store
async def test_a_leap_that_lasts_gives_up_no_decision(store: str, caplog: pytest.LogCaptureFixture) -> None:
    """The clock was wrong before: what waits is given its whole window, also by the next process."""
    clock = Fake()
    async with running(store, clock) as engine:
        await create(engine, reward_window=4 * LASTING_S)
        key = IdempotencyKey("me", "k", b"")
        first = await decide(engine, key=key)
        clock.leap(YEAR)
        await run_once(engine)
        clock.wait(LASTING_S)
        await run_once(engine)
        assert engine.clock() == clock.now  # accepted
        second = await decide(engine)
        assert time_of(second) == clock.now
        clock.wait(LASTING_S)
        await run_once(engine)
        assert await status(engine, first["id"]) == "pending"
        engine.writer.submit(chore=partial(engine.journal.forget_answers, engine.oldest_answer(engine.clock())))
        assert await decide(engine, key=key) == first  # keys are remembered for 48 hours, and those did not pass
    async with running(store, clock) as engine:
        clock.wait(LASTING_S)
        await run_once(engine)
        assert await status(engine, first["id"]) == "pending"
        clock.wait(LASTING_S + 1)
        await queries.describe(engine, "shop")
        await run_once(engine)
        assert await status(engine, first["id"]) == "defaulted"  # after its window, and not a year later
        assert await status(engine, second["id"]) == "pending"
        clock.wait(LASTING_S)
        await run_once(engine)
        assert await status(engine, second["id"]) == "defaulted"
        assert (await queries.verify(engine, "shop")).identical
    assert sum("is accepted now" in line for line in said(caplog)) == 1


@on_every_store
async def test_a_clock_that_is_set_back_stops_nothing(store: str, caplog: pytest.LogCaptureFixture) -> None:
    """It was a year ahead. Times of a deployment never go back: it goes on from its last event, at the usual pace."""
    clock = Fake()
    async with running(store, clock) as engine:
        await create(engine, reward_window=WINDOW)
        await create(engine, name="clocked", policy="sliding-ucb", window={"seconds": 3600, "rounds": 360})
        await learn(engine, (await decide(engine, "clocked"))["id"], "clocked")
        id = (await decide(engine))["id"]
        clock.leap(-YEAR)
        clock.wait(WINDOW / 2)
        await run_once(engine)
        assert await status(engine, id) == "pending"
        clock.wait(LASTING_S)
        await run_once(engine)
        assert engine.clock() == clock.now and await status(engine, id) == "defaulted"
        id = (await decide(engine))["id"]
        await create(engine, name="new")
        assert time_of(await decide(engine, "new")) == clock.now
        clock.wait(WINDOW + 1)
        await run_once(engine)
        assert await status(engine, id) == "defaulted" and await at(engine, id) >= WINDOW
        clock.wait(3600)
        await decide(engine, "clocked")
        assert counted(engine) == 0
        assert (await queries.verify(engine, "clocked")).identical


@pytest.mark.parametrize("behind", [YEAR, 3600.0])
def test_a_store_from_the_future_goes_on(store: str, behind: float, caplog: pytest.LogCaptureFixture) -> None:
    """The clock had leapt and came back while nobody looked, or it is wrong now: said, and nothing stands still."""

    async def test() -> None:
        clock = Fake()
        async with running(store, clock) as engine:
            await create(engine, reward_window=WINDOW)
            await create(engine, name="clocked", policy="sliding-ucb", window={"seconds": 3600, "rounds": 360})
            await learn(engine, (await decide(engine, "clocked"))["id"], "clocked")
            waiting = (await decide(engine))["id"]
        clock = Fake(START - int(1e6 * behind))
        async with running(store, clock) as engine:
            for name in ("shop", "clocked"):
                await queries.describe(engine, name)
            await run_once(engine)
            assert await status(engine, waiting) == "pending"
            clock.wait(WINDOW + 1)
            await run_once(engine)
            assert await status(engine, waiting) == "defaulted" and await at(engine, waiting) == 0.0
            made = await decide(engine)
            assert time_of(made) - START == 1e6 * (WINDOW + 1)  # from its last event on, at the usual pace
            assert microseconds((await queries.statistics(engine, "shop")).computed_at) == time_of(made)
            await admin.change(
                engine, "clocked", ChangeRequest(policy="sliding-thompson", window=WindowSpec(360, 3600.0))
            )
            clock.wait(3600)
            await decide(engine, "clocked")
            assert counted(engine) == 0
            for name in ("shop", "clocked"):
                assert (await queries.verify(engine, name)).identical
                events = [*engine.journal.read(engine.entry(name).stream)]
                assert [event.at for event in events] == sorted(event.at for event in events)

    caplog.set_level(logging.INFO, "driftwise.service")
    asyncio.run(test())
    ahead = [record for record in caplog.records if "are ahead of the clock" in record.getMessage()]
    facts: list[Any] = [vars(record)["facts"] for record in ahead]
    assert {each["deployment"] for each in facts} == {"shop", "clocked"}
    assert all(each["ahead_s"] == behind for each in facts)


@on_every_store
async def test_a_clock_that_was_behind_at_the_start_is_set_right(store: str, caplog: pytest.LogCaptureFixture) -> None:
    """A machine without a battery: it starts in the past, and a minute later a time server sets it right."""
    clock = Fake()
    async with running(store, clock) as engine:
        await create(engine, reward_window=2 * LASTING_S)
        id = (await decide(engine))["id"]
    clock.wait(LASTING_S)  # while the service was down
    right, clock = clock.now, Fake(START - int(1e6 * YEAR))
    async with running(store, clock) as engine:
        await queries.describe(engine, "shop")
        clock.now = right
        await run_once(engine)
        clock.wait(LASTING_S)
        await run_once(engine)
        assert engine.clock() == clock.now and await status(engine, id) == "pending"
        assert time_of(await decide(engine)) == clock.now
        clock.wait(2 * LASTING_S)
        await run_once(engine)
        assert await status(engine, id) == "defaulted"
        assert (await queries.verify(engine, "shop")).identical
