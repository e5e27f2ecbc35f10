"""A service in this process, for tests: an engine on a store of its own, with a clock that tests move."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from driftwise.families import MultiArmed
from driftwise.service.deployments import admin, clock, decisions
from driftwise.service.deployments.engine import NO_KEY, Engine, IdempotencyKey
from driftwise.service.http.schemas.requests import DecideRequest, DeploymentSpec, LearnRequest
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


def deployment_spec(**fields: Any) -> DeploymentSpec:
    """A shop that chooses between three colours, with other fields in place of its own."""
    plain = {"name": "shop", "policy": "sliding-thompson:window=100", "problem": MultiArmed(["red", "blue", "green"])}
    return msgspec.convert(msgspec.to_builtins(plain | fields), DeploymentSpec)


async def create(engine: Engine, **fields: Any) -> Any:
    return json.loads((await admin.create(engine, deployment_spec(**fields)))[1])


async def decide(engine: Engine, name: str = "shop", *, key: IdempotencyKey = NO_KEY, **request: Any) -> Any:
    return json.loads((await decisions.decide(engine, name, [msgspec.convert(request, DecideRequest)], key=key))[1])


async def learn(engine: Engine, id: int, name: str = "shop", *, key: IdempotencyKey = NO_KEY, **outcome: Any) -> str:
    request = msgspec.convert({"id": id} | (outcome or {"reward": 1.0}), LearnRequest)
    status: str = json.loads((await decisions.learn(engine, name, [request], key=key))[1])["status"]
    return status
