"""A long replay is done beside the deployment: it goes on deciding, and what came meanwhile is not lost."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from driftwise.service.deployments import admin, queries
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.fold import fold
from driftwise.service.http.errors import NotRunning
from driftwise.service.http.schemas.requests import ChangeRequest
from tests.fixtures.engine import create, decide, learn, running
from tests.fixtures.patience import HANG_S, until_so


class SlowReplay:
    """Replays from the start wait until a test lets them go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, *args: Any, **options: Any) -> Any:
        live = fold(*args, **options)
        if not options.get("cached", True):
            self.begun.set()
            assert self.go_on.wait(HANG_S)
        return live


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowReplay]:
    replay = SlowReplay()
    monkeypatch.setattr("driftwise.service.deployments.loading.fold", replay)
    yield replay
    replay.go_on.set()


async def beside(engine: Engine, slow: SlowReplay, work: Awaitable[Any], others: Callable[[], Awaitable[None]]) -> Any:
    """Do others' requests while a replay is under way."""
    task = asyncio.ensure_future(work)
    await until_so(lambda: slow.begun.is_set() or task.done(), "the replay")
    await others()
    assert not task.done()
    slow.go_on.set()
    return await task


async def play(engine: Engine, n_rounds: int = 5, first: int = 0) -> list[Any]:
    actions = []
    for n in range(first, first + n_rounds):
        decision = await decide(engine)
        actions.append((decision["id"], decision["action"]))
        if n % 3:
            await learn(engine, decision["id"], reward=float(n % 2))
    return actions


def test_verify_does_not_stop_decisions(store: str, slow: SlowReplay) -> None:
    async def test() -> None:
        async with running(store) as engine:
            await create(engine)
            await play(engine)

            async def others() -> None:
                assert [id for id, _ in await play(engine)] == [8, 9, 11, 13, 14]

            verified = await beside(engine, slow, queries.verify(engine, "shop"), others)
            assert verified.identical and verified.n_events == 8
            assert (await queries.verify(engine, "shop")).n_events == 16

    asyncio.run(test())


def test_a_new_policy_takes_over_with_what_came_meanwhile(store: str, slow: SlowReplay) -> None:
    change = ChangeRequest(policy="sliding-ucb:window=20")

    async def changed(meanwhile: int) -> list[Any]:
        """Ten rounds before the change or during it, and how it goes on."""
        async with running(store) as engine:
            await create(engine)
            await play(engine, 10 - meanwhile)
            if meanwhile:
                slow.begun.clear()
                slow.go_on.clear()

            async def others() -> None:
                await play(engine, meanwhile, 10 - meanwhile)

            await beside(engine, slow, admin.change(engine, "shop", change), others)
            after = await play(engine, 10)
            assert (await queries.verify(engine, "shop")).identical
            assert engine.entry("shop").policy.startswith("sliding-ucb")
            await admin.set_status(engine, "shop", "retired")
            await admin.delete(engine, "shop")
            return after

    before = asyncio.run(changed(0))
    assert before == asyncio.run(changed(3))


def test_a_deployment_that_is_retired_meanwhile_is_not_changed(store: str, slow: SlowReplay) -> None:
    async def test() -> None:
        async with running(store) as engine:
            await create(engine)
            await play(engine)

            async def others() -> None:
                await admin.set_status(engine, "shop", "retired")

            with pytest.raises(NotRunning):
                await beside(
                    engine, slow, admin.change(engine, "shop", ChangeRequest(policy="sliding-ucb:window=9")), others
                )

    asyncio.run(test())
