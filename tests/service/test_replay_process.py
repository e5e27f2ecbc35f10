"""A long replay runs in a process of its own; meanwhile a deployment decides, if need be from a state of other code."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from driftwise.cli import main
from driftwise.core.serialization import seal, unseal
from driftwise.families import SlidingThompson
from driftwise.service.deployments import admin, loading, queries
from driftwise.service.deployments import spec as specs
from driftwise.service.deployments.deployment import DeploymentSnapshot, tag_of
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.fold import fold
from driftwise.service.deployments.replay_process import ReplayJob, ReplayProcess, send
from driftwise.service.deployments.replay_progress import OnReplayed, ReplayProgress
from driftwise.service.http.errors import Damaged, Replaying, Unavailable
from driftwise.service.http.schemas.requests import ChangeRequest
from driftwise.service.store.events import body_of
from driftwise.service.store.journal import JournalError, Snapshot, open_journal
from driftwise.service.store.reader import open_reader
from tests.fixtures.engine import create, decide, running
from tests.fixtures.patience import HANG_S, until_so
from tests.service.test_damage import change_event
from tests.service.test_replay_beside import play


class BlockedReplay:
    """The process of a replay waits until a test lets it go on; or it is killed."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.kill = threading.Event(), threading.Event(), False
        self.run = ReplayProcess.run

    def __call__(self, process: ReplayProcess, job: ReplayJob, progress: OnReplayed, *, urgent: bool) -> Snapshot:
        self.begun.set()
        assert self.go_on.wait(HANG_S)
        if self.kill:
            process.end()
        return self.run(process, job, progress, urgent=urgent)


@pytest.fixture(autouse=True)
def of_usual_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that tests on a busy machine do not take for ever."""
    monkeypatch.setattr(ReplayProcess, "niceness", 0)


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[BlockedReplay]:
    replay = BlockedReplay()
    monkeypatch.setattr(ReplayProcess, "run", lambda *args, urgent: replay(*args, urgent=urgent))
    monkeypatch.setattr("driftwise.service.deployments.engine.LONG", 10)
    monkeypatch.setattr(loading, "WAIT_S", 0.01)
    yield replay
    replay.go_on.set()


def with_other_tag(store: str, **fields: Any) -> None:
    """Let the newest snapshot be one of other code."""
    journal = open_journal(store)
    snapshot = journal.latest(1)
    assert snapshot is not None
    body = msgspec.msgpack.decode(unseal(snapshot.body), type=DeploymentSnapshot)
    body = msgspec.structs.replace(body, **({"tag": "other code"} | fields))
    journal.save(snapshot._replace(body=seal(msgspec.msgpack.encode(body))))
    journal.close()


async def history(store: str, n_rounds: int = 20) -> None:
    async with running(store) as engine:
        await create(engine)
        await play(engine, n_rounds)


@pytest.mark.system
def test_a_process_replays_like_a_thread(store: str) -> None:
    change = ChangeRequest(policy="sliding-ucb:window=20")

    async def test(long: int) -> list[Any]:
        async with running(store) as engine:
            await create(engine)
            await play(engine)
            engine.long_replay = long
            verified = await queries.verify(engine, "shop")
            assert verified.identical and verified.n_events == 8
            await admin.change(engine, "shop", change)
            after = await play(engine)
            await admin.set_status(engine, "shop", "retired")
            await admin.delete(engine, "shop")
            return after

    assert asyncio.run(test(0)) == asyncio.run(test(1000))


@pytest.mark.system
def test_a_process_that_is_killed_costs_nothing_but_its_replay(store: str, blocked: BlockedReplay) -> None:
    blocked.go_on.set()

    async def test() -> None:
        async with running(store) as engine:
            await create(engine)
            await play(engine, 20)
            blocked.kill = True
            with pytest.raises(Unavailable, match=r"deployment shop was not replayed: the process .* code -9; repeat"):
                await queries.verify(engine, "shop")
            assert engine.entry("shop").replay is None
            await play(engine)

    asyncio.run(test())


@pytest.mark.system
def test_a_process_finds_what_is_damaged(store: str) -> None:
    async def test() -> None:
        await history(store)
        change_event(store, 1, 3, {"body": b""})
        async with running(store) as engine:
            engine.long_replay = 0
            with pytest.raises(Damaged, match="shop is damaged: event 3"):
                await queries.verify(engine, "shop")
            await play(engine)  # the snapshot is newer

    asyncio.run(test())


@pytest.mark.system
def test_a_policy_that_cannot_replay_the_journal_is_refused_in_a_process(store: str) -> None:
    async def test() -> None:
        async with running(store) as engine:
            await create(engine)
            await play(engine)
            engine.long_replay = 0
            with pytest.raises(Exception, match="window=0") as refused:
                await admin.change(engine, "shop", ChangeRequest(policy="sliding-ucb:window=0"))
            assert not isinstance(refused.value, Damaged)
            await play(engine)

    asyncio.run(test())


@pytest.mark.system
def test_a_snapshot_of_other_code_decides_until_the_fold_is_done(store: str, blocked: BlockedReplay) -> None:
    async def test() -> None:
        await history(store)
        with_other_tag(store)
        async with running(store) as engine:
            await engine.live("shop")
            await until_so(blocked.begun.is_set, "the replay")
            provisional = await play(engine)  # while the replay waits
            assert (await queries.get_decision(engine, "shop", provisional[0][0])).provisional
            assert engine.entry("shop").replay is not None
            with pytest.raises(Replaying, match=r"shop is being replayed \(new code\): 0 of 33 events; repeat"):
                await queries.verify(engine, "shop")
            with pytest.raises(Replaying):
                await queries.take_snapshot(engine, "shop")
            blocked.go_on.set()
            await until_so(lambda: not is_provisional(engine), "the exact state")
            exact = await play(engine)
            assert not (await queries.get_decision(engine, "shop", exact[0][0])).provisional
            assert (await queries.verify(engine, "shop")).identical
            marked = [event.number for event in engine.journal.read(1) if getattr(body_of(event), "provisional", False)]
            assert marked == [id for id, _ in provisional]

    asyncio.run(test())


def test_a_service_that_stops_meanwhile_has_no_snapshot_of_the_provisional_state(
    store: str, blocked: BlockedReplay
) -> None:
    async def test() -> None:
        await history(store)
        with_other_tag(store)
        async with running(store) as engine:
            await play(engine)
            await until_so(blocked.begun.is_set, "the replay")
            before = engine.journal.snapshot_numbers(1)
            blocked.go_on.set()
        journal = open_journal(store)
        assert journal.snapshot_numbers(1) == before
        journal.close()

    asyncio.run(test())


@pytest.mark.system
def test_who_waits_for_a_replay_is_told_how_far_it_is(store: str, blocked: BlockedReplay) -> None:
    async def test() -> None:
        await history(store)
        with_other_tag(store, format=-1)
        async with running(store) as engine:
            with pytest.raises(Replaying, match=r"shop is being replayed \(start\): 0 of 33 events; repeat"):
                await decide(engine)
            view = await queries.describe(engine, "shop")
            assert msgspec.to_builtins(view["replay"]) == {"why": "start", "done": 0, "total": 33, "seconds_left": None}
            blocked.go_on.set()
            await until_so(lambda: engine.entry("shop").live is not None, "the state")
            await decide(engine)
            assert (await queries.describe(engine, "shop"))["n_events"] == 34

    asyncio.run(test())


def is_provisional(engine: Engine) -> bool:
    live = engine.entry("shop").live
    return live is None or live.provisional


def test_a_reader_takes_no_lock_and_cannot_write(store: str) -> None:
    async def test() -> None:
        await history(store)
        async with running(store) as engine:
            assert engine.journal.url is not None
            reader = open_reader(engine.journal.url)
            try:
                entry, live = await engine.live("shop")
                assert fold(reader, 1, entry.initial, cached=False).snapshot() == live.snapshot()
                with pytest.raises(JournalError, match="reading only"):
                    reader.save(live.snapshot())
            finally:
                reader.close()
            await decide(engine)

    asyncio.run(test())


def test_progress_estimates_what_is_left() -> None:
    now = [0.0]
    progress = ReplayProgress("shop", "verify", 1000, lambda: now[0])
    assert progress.seconds_left is None and "0 of 1000 events" in progress.sentence
    now[0] = 2.0
    progress(250)
    assert progress.seconds_left == 6.0 and progress.sentence.endswith("250 of 1000 events, about 6 seconds left")
    progress(1500)  # events came meanwhile
    assert progress.seconds_left == 0.0 and progress.view.total == 1500


def test_a_store_is_verified_on_the_command_line(store: str) -> None:
    asyncio.run(history(store))
    sound = CliRunner().invoke(main, ["store", "verify", store])
    assert sound.exit_code == 0 and "shop: 33 events: sound" in sound.output
    with_other_tag(store, request={"context": [1.0]}, tag=tag_of(SlidingThompson(window=100)))
    other = CliRunner().invoke(main, ["store", "verify", store, "--deployment", "shop"])
    assert other.exit_code == 1 and "a replay leads to another state" in other.output
    with_other_tag(store)
    assert "made by other code" in CliRunner().invoke(main, ["store", "verify", store]).output
    missing = CliRunner().invoke(main, ["store", "verify", store, "--deployment", "none"])
    assert "there is no deployment 'none' in this store: there are shop" in str(missing.output) + str(missing.exception)


ENDLESS = """
import sys, time
from driftwise.service.deployments import replay_process
replay_process.do_job = lambda *_: time.sleep(1e6)
sys.argv = ["replay_process", "0"]
replay_process.main()
"""


@pytest.mark.system
def test_the_process_ends_with_the_service() -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        send(process.stdin, ReplayJob("sqlite:///store.db", 1, b"", None, False, None))
        process.stdin.close()
        assert process.wait(HANG_S) == 1


MISSES = """
import gc, io, sys
from numba.core.dispatcher import Dispatcher
from driftwise.service.deployments.replay_process import ReplayedState, ReplayJob, do_job, msgspec
output = io.BytesIO()
do_job(msgspec.msgpack.decode(sys.stdin.buffer.read(), type=ReplayJob), output)
assert b"ReplayedState" in output.getvalue()
kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
print(*(sum(sum(getattr(each.stats, what).values()) for each in kernels) for what in ("cache_misses", "cache_hits")))
"""


@pytest.mark.system
def test_the_process_compiles_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path / "store.db") as engine:
            await create(engine)
            await play(engine)  # compiles, where that was not done before
            assert engine.journal.url is not None
            initial = specs.encode(engine.entry("shop").initial)
            job = msgspec.msgpack.encode(ReplayJob(engine.journal.url, 1, initial, None, False, None))
            command = [sys.executable, "-c", MISSES]
            done = await asyncio.to_thread(subprocess.run, command, input=job, capture_output=True, check=True)
            misses, hits = map(int, done.stdout.split())
            assert misses == 0 and hits > 0

    asyncio.run(test())
