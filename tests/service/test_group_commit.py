"""Many requests share a commit: each is done once, and a commit that fails takes back no answer.

Checked on every kind of store, in every durability there is.
"""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from driftwise.service.deployments import queries
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.http.errors import RequestInProgress, Unavailable
from driftwise.service.store.journal import DURABILITY, JournalError, open_journal
from tests.fixtures.engine import Clock, create, decide, learn


class Gated:
    """A journal whose commits wait at a gate, and fail as often as a test wants."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal
        self.gate = threading.Event()
        self.gate.set()
        self.fails: Callable[[], bool] = lambda: False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append(self, *args: Any) -> None:
        self.gate.wait()
        if self.fails():
            raise JournalError("no space left", "the disk is full")
        self._journal.append(*args)


@asynccontextmanager
async def gated(store: str, durability: str) -> AsyncIterator[tuple[Engine, Gated]]:
    journal = Gated(open_journal(store, durability))
    engine = Engine(journal, clock=Clock())
    await engine.start()
    try:
        yield engine, journal
    finally:
        journal.gate.set()
        await engine.close()


def everywhere(test: Callable[[Engine, Gated], Awaitable[None]]) -> Callable[..., None]:
    """Run a test on every kind of store, in every durability."""

    @pytest.mark.parametrize("durability", DURABILITY)
    def run(store: str, durability: str) -> None:
        async def held() -> None:
            async with gated(store, durability) as (engine, journal):
                await test(engine, journal)

        asyncio.run(held())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def again(engine: Engine, key: IdempotencyKey, name: str = "shop") -> Any:
    """Send a request with its key until it is answered."""
    while True:
        try:
            return await decide(engine, name, key=key)
        except (RequestInProgress, Unavailable):
            await asyncio.sleep(0.001)


@everywhere
async def test_a_key_is_done_once_while_its_commit_is_under_way(engine: Engine, journal: Gated) -> None:
    await create(engine)
    journal.gate.clear()
    keys = [IdempotencyKey("me", f"k{n}", b"") for n in range(20)]
    first = [asyncio.ensure_future(decide(engine, key=key)) for key in keys]
    while engine.entry("shop").writing < len(keys):
        await asyncio.sleep(0.001)
    for _ in range(3):
        repeats = await asyncio.gather(*(decide(engine, key=key) for key in keys), return_exceptions=True)
        assert all(isinstance(each, RequestInProgress) for each in repeats), (
            "a repeated key was not refused before its commit"
        )
    assert not any(each.done() for each in first), "a request was answered before its commit"
    journal.gate.set()
    answered = await asyncio.gather(*first)
    assert [await decide(engine, key=key) for key in keys] == answered
    assert len([*journal.read(1)]) == len(keys)


@everywhere
async def test_repeated_keys_in_a_storm_are_done_once(engine: Engine, journal: Gated) -> None:
    for name in ("mine", "victim"):
        await create(engine, name=name)
    keys = [IdempotencyKey("me", f"k{n}", b"") for n in range(30)]
    storm = [again(engine, key, "mine") for key in keys for _ in range(6)]
    random.Random(1).shuffle(storm)
    results, others = await asyncio.gather(
        asyncio.gather(*storm), asyncio.gather(*(decide(engine, "victim") for _ in range(100)))
    )
    assert len({each["id"] for each in results}) == len(keys)
    assert [event.number for event in journal.read(1)] == list(range(len(keys)))
    assert sorted(each["id"] for each in others) == [event.number for event in journal.read(2)]
    assert engine.writer.failures == 0


@everywhere
async def test_commits_that_fail_lose_nothing_that_was_answered(engine: Engine, journal: Gated) -> None:
    names = {"mine": 1, "victim": 2}
    for name in names:
        await create(engine, name=name)
    luck = random.Random(2)
    journal.fails = lambda: luck.random() < 0.3
    answered: dict[str, list[int]] = {name: [] for name in names}
    learned: dict[str, list[int]] = {name: [] for name in names}

    async def client(name: str, seed: int) -> None:
        for n in range(15):
            id = (await again(engine, IdempotencyKey("me", f"{name}-{seed}-{n}", b""), name))["id"]
            answered[name].append(id)
            try:
                await learn(engine, id, name)
                learned[name].append(id)
            except Unavailable:
                pass

    await asyncio.gather(*(client(name, seed) for name in names for seed in range(4)))
    journal.fails = lambda: False
    assert engine.writer.failures > 3
    for name, stream in names.items():
        events = [*journal.read(stream)]
        assert [event.number for event in events] == list(range(len(events)))
        assert sorted(answered[name]) == [event.number for event in events if event.kind == "decided"]
        assert set(learned[name]) <= {event.ref for event in events}
        assert (await queries.verify(engine, name)).identical


@everywhere
async def test_nothing_is_answered_while_commits_fail(engine: Engine, journal: Gated) -> None:
    await create(engine)
    waiting = [(await decide(engine))["id"] for _ in range(5)]
    journal.fails = lambda: True
    asks = [decide(engine, key=IdempotencyKey("me", f"k{n}", b"")) for n in range(5)]
    tells = [learn(engine, id) for id in waiting]
    results = await asyncio.gather(*asks, *tells, *(decide(engine) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(each, Unavailable) for each in results), results
    journal.fails = lambda: False
    assert len([*journal.read(1)]) == 5
    assert [(await decide(engine, key=IdempotencyKey("me", f"k{n}", b"")))["id"] for n in range(5)] == list(
        range(5, 10)
    )


@everywhere
async def test_what_was_queued_behind_a_commit_that_failed_has_its_reason(engine: Engine, journal: Gated) -> None:
    await create(engine)
    failures = iter([True])
    journal.fails = lambda: next(failures, False)
    journal.gate.clear()
    asks = []
    for _ in range(3):
        asks.append(asyncio.ensure_future(decide(engine)))
        while engine.entry("shop").writing < len(asks):
            await asyncio.sleep(0.001)
    journal.gate.set()
    for told in await asyncio.gather(*asks, return_exceptions=True):
        assert isinstance(told, Unavailable) and "(the disk is full)" in str(told)
    assert engine.writer.failures == 1
    assert (await decide(engine))["id"] == 0
