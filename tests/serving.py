"""A service in this process, for tests: an engine on a store of its own, with a clock that tests move."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from driftwise.service.deployments import admin, clock, decisions
from driftwise.service.deployments.engine import NO_KEY, Engine, IdempotencyKey
from driftwise.service.http.schemas.requests import DecideRequest, LearnRequest, Settings
from driftwise.service.store.journal import open_journal

START = 1_700_000_000_000_000


class Clock(clock.Clock):
    """Time that stands still unless a test lets it pass; `leap` sets the wall clock alone."""

    def __init__(self, now: int = START) -> None:
        self.now, self.passed = now, 0
        super().__init__(lambda: self.now, lambda: self.passed)

    def wait(self, seconds: float) -> None:
        self.now += int(1e6 * seconds)
        self.passed += int(1e6 * seconds)

    def leap(self, seconds: float) -> None:
        self.now += int(1e6 * seconds)


@asynccontextmanager
async def running(store: Path | str, clock: Clock | None = None, **options: Any) -> AsyncIterator[Engine]:
    """An engine; what it did is written when this is left."""
    url = f"sqlite:///{store}" if isinstance(store, Path) else store
    engine = Engine(open_journal(url), clock=clock or Clock(), **options)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


def settings(**words: Any) -> Settings:
    plain = {"name": "shop", "policy": "sliding-thompson:window=100", "arms": ["red", "blue", "green"]}
    return msgspec.convert(plain | words, Settings)


async def create(engine: Engine, **words: Any) -> Any:
    return json.loads((await admin.create(engine, settings(**words)))[1])


async def decide(engine: Engine, name: str = "shop", *, key: IdempotencyKey = NO_KEY, **asked: Any) -> Any:
    return json.loads((await decisions.decide(engine, name, [msgspec.convert(asked, DecideRequest)], key=key))[1])


async def learn(engine: Engine, id: int, name: str = "shop", *, key: IdempotencyKey = NO_KEY, **told: Any) -> str:
    outcome = msgspec.convert({"id": id} | (told or {"reward": 1.0}), LearnRequest)
    status: str = json.loads((await decisions.learn(engine, name, [outcome], key=key))[1])["status"]
    return status
