"""A store does not grow for ever: retention, archive, deletion; and decisions go on as if nothing was dropped."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from driftwise.cli import main
from driftwise.errors import ParameterError
from driftwise.families import Contextual
from driftwise.service.deployments import admin, queries
from driftwise.service.deployments.background_tasks import tend_once
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.http.errors import Conflict, EventsDropped, NotFound
from driftwise.service.http.schemas.requests import ChangeRequest, RetentionSpec
from driftwise.service.store.journal import open_journal
from tests.fixtures.engine import Clock, create, decide, learn, running

KEEP = 100


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["store", *words])


async def play(engine: Engine, n_rounds: int, name: str = "shop", *, late: int = 7, **request: Any) -> list[Any]:
    """Decide and learn; every `late`-th decision is left pending."""
    actions = []
    for n in range(n_rounds):
        decision = await decide(engine, name, **request)
        actions.append((decision["id"], decision["action"]))
        if n % late:
            await learn(engine, decision["id"], name, reward=float(n % 3 == 0))
    return actions


async def play_and_tend(engine: Engine, n_rounds: int) -> list[Any]:
    actions = []
    for _ in range(n_rounds // 50):
        actions += await play(engine, 50)
        engine.save(engine.entry("shop"))
        await tend_once(engine)
    return actions


def kept(store: str, stream: int = 1) -> list[int]:
    journal = open_journal(store)
    try:
        return [event.number for event in journal.read(stream)]
    finally:
        journal.close()


@asynccontextmanager
async def twins(store: str, tmp_path: Path, clock: Clock, **fields: Any) -> AsyncIterator[tuple[Engine, Engine]]:
    """An engine with a retention, and one that keeps everything."""
    async with (
        running(store, clock, archive=tmp_path / "archive") as engine,
        running(tmp_path / "twin.db", clock) as twin,
    ):
        if not engine.catalogue.entries:
            await create(engine, **fields)
            await create(twin, **{name: value for name, value in fields.items() if name != "retention"})
        yield engine, twin


def test_events_before_the_retention_go_and_decisions_stay(store: str, tmp_path: Path) -> None:
    clock = Clock()
    retention = {"events": KEEP, "archive": True}

    async def test() -> None:
        async with twins(store, tmp_path, clock, retention=retention) as (engine, twin):
            assert await play_and_tend(engine, 300) == await play_and_tend(twin, 300)
            origin = engine.journal.origin(1)
            assert origin is not None and origin.number <= engine.entry("shop").live.number - 1 - KEEP  # type: ignore[union-attr]
            assert (await queries.verify(engine, "shop")).identical
            pending = [id for id in engine.entry("shop").live.pending if id < origin.number]  # type: ignore[union-attr]
            assert len(pending) > 3
            for id in pending[:3]:  # a decision that is no longer kept can still learn
                assert await learn(engine, id) == await learn(twin, id)
            with pytest.raises(EventsDropped, match=f"has dropped its events up to {origin.number}: a new policy"):
                await admin.change(engine, "shop", ChangeRequest(policy="sliding-ucb:window=9"))
            for query in (queries.explain, queries.get_decision):
                with pytest.raises(NotFound, match="no longer kept"):
                    await query(engine, "shop", 0)
            with pytest.raises(NotFound, match="does not exist or is already settled"):
                await learn(engine, 1, reward=1.0)
        async with twins(store, tmp_path, clock) as (engine, twin):  # and after a restart
            assert await play_and_tend(engine, 100) == await play_and_tend(twin, 100)
            assert (await queries.verify(engine, "shop")).identical

    asyncio.run(test())
    left, all_ = kept(store), kept(f"sqlite:///{tmp_path}/twin.db")
    assert KEEP <= len(left) <= 4 * KEEP + 100 and left == all_[-len(left) :]
    assert archived(tmp_path) + left == all_
    assert run("check", store).exit_code == 0


def archived(tmp_path: Path) -> list[int]:
    tables = [pq.read_table(path) for path in sorted((tmp_path / "archive" / "shop.1").glob("*.parquet"))]
    for table in tables:
        assert table.column_names == ["number", "at", "kind", "ref", "body"]
        assert all(json.loads(body) is not None for body in table["body"].to_pylist())
    return [number for table in tables for number in table["number"].to_pylist()]


def test_retention_by_age_keeps_the_reward_window(store: str, tmp_path: Path) -> None:
    clock = Clock()

    async def test() -> None:
        async with twins(store, tmp_path, clock, retention={"seconds": 100}, reward_window=50) as (engine, twin):
            for _ in range(6):
                clock.wait(40)  # before decisions: each engine then records the rewards that are overdue
                assert await play(engine, 20) == await play(twin, 20)
                engine.save(engine.entry("shop"))
            await tend_once(engine)
            young = [event for event in twin.journal.read(1) if event.at > clock() - 100e6]
            left = [*engine.journal.read(1)]
            assert left[-len(young) :] == young and len(left) < twin.journal.last(1)
            assert (await queries.verify(engine, "shop")).identical
            assert await play(engine, 20) == await play(twin, 20)

    asyncio.run(test())


def test_a_retention_that_cannot_be_is_refused_in_one_sentence(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path / "store.db") as engine:
            short = {"retention": {"seconds": 60}, "reward_window": 3600}
            sentence = "retention of 60 seconds is shorter than the reward window of 3600 seconds"
            with pytest.raises(ParameterError, match=sentence):
                await create(engine, **short)
            with pytest.raises(ParameterError, match="retention needs `events` or `seconds`, or both"):
                await create(engine, retention={})
            with pytest.raises(ParameterError, match="start the service with --archive FOLDER"):
                await create(engine, retention={"events": 100, "archive": True})
            await create(engine, retention={"seconds": 60})
            for changes in ({"reward_window": 3600}, {"retention": {"seconds": 1}, "reward_window": 2}):
                with pytest.raises(ParameterError, match="shorter than the reward window"):
                    await admin.change(engine, "shop", msgspec.convert(changes, ChangeRequest))
            await admin.change(engine, "shop", ChangeRequest(retention=None))
            assert (await queries.describe(engine, "shop"))["spec"]["retention"] is None

    asyncio.run(test())


def test_a_change_of_policy_is_not_lost_by_a_cut(store: str, tmp_path: Path) -> None:
    """A snapshot of the policy before is no origin: a replay into the new one begins before it."""

    async def test() -> None:
        async with running(store, Clock()) as engine:
            await create(engine, retention={"events": KEEP})
            await play(engine, 100)
            engine.save(engine.entry("shop"))
            await admin.change(engine, "shop", ChangeRequest(policy="sliding-ucb:window=50"))
            await play(engine, 60)
            await tend_once(engine)
            assert engine.journal.origin(1) is None
            for _ in range(4):
                await play_and_tend(engine, 50)
            assert engine.journal.origin(1) is not None
            assert (await queries.verify(engine, "shop")).identical

    asyncio.run(test())


def test_keys_are_kept_as_long_as_asked_for(tmp_path: Path) -> None:
    async def test() -> None:
        clock, key = Clock(), IdempotencyKey("me", "once", b"")
        async with running(tmp_path / "store.db", clock, keep_answers_s=3600) as engine:
            await create(engine)
            for seconds, id in ((0, 0), (3500, 0), (200, 1)):
                clock.wait(seconds)
                await tend_once(engine)
                assert (await decide(engine, key=key))["id"] == id

    asyncio.run(test())


def test_a_deleted_deployment_is_gone_and_its_room_too(store: str) -> None:
    async def test() -> None:
        async with running(store) as engine:
            await create(engine)
            await create(engine, name="sound")
            for name in ("shop", "sound"):
                await asyncio.gather(*(decide(engine, name) for _ in range(3000)))
            with pytest.raises(Conflict, match="deployment shop is running: retire it first, then delete it"):
                await admin.delete(engine, "shop")
            await admin.set_status(engine, "shop", "retired")
            await engine.commit()
            before = engine.journal.size()
            assert json.loads((await admin.delete(engine, "shop"))[1]) == {"name": "shop", "n_events": 3000}
            with pytest.raises(NotFound):
                await decide(engine, "shop")
            await tend_once(engine)
            await engine.do_chore(engine.journal.scrub)
            assert engine.journal.last(1) == -1
            if not engine.journal.remote:  # PostgreSQL gives room back when it vacuums
                assert engine.journal.size() < 0.7 * before
            await create(engine)  # the name is free again, and begins anew
            assert engine.entry("shop").stream == 3 and (await decide(engine))["id"] == 0
            assert (await decide(engine, "sound"))["id"] == 3000
        async with running(store) as engine:
            assert sorted(engine.catalogue.entries) == ["shop", "sound"]
            assert (await queries.verify(engine, "sound")).identical

    asyncio.run(test())


def test_an_interrupted_deletion_is_finished_by_the_next_start_or_by_compact(store: str) -> None:
    async def test(expected: int) -> None:
        async with running(store) as engine:
            if not expected:
                await create(engine)
                await play(engine, 50)
                await admin.set_status(engine, "shop", "retired")
                engine.dropped.add(1)  # it stops before anything is dropped
                await admin.delete(engine, "shop")
            assert engine.journal.last(1) >= -1

    asyncio.run(test(0))
    assert "1 deleted deployment would be dropped" in run("compact", "--dry-run", store).output
    assert run("compact", store).exit_code == 0
    assert "0 deleted deployments" in run("compact", "--dry-run", store).output
    assert kept(store) == []


def test_archive_and_compact_offline(store: str, tmp_path: Path) -> None:
    async def fill() -> list[Any]:
        async with twins(store, tmp_path, Clock()) as (engine, twin):
            await play(twin, 300)
            return await play(engine, 300)

    asyncio.run(fill())
    before, n_events = kept(store), len(kept(store))
    words = ["archive", "--events", "50", "--to", f"{tmp_path}/archive", store]
    assert f"shop: events up to {n_events - 51} would be dropped" in run(*words, "--dry-run").output
    assert kept(store) == before
    done = run(*words)
    assert done.exit_code == 0 and "moved to" in done.output, done.output
    assert kept(store) == before[-50:] and archived(tmp_path) == before[:-50]
    assert "all events are kept" in run(*words).output
    assert "all events are kept" in run("archive", store).output  # the deployment has no retention
    assert run("archive", "--deployment", "none", store).exit_code == 2
    compacted = run("compact", store)
    assert compacted.exit_code == 0, compacted.output

    async def go_on() -> None:
        async with twins(store, tmp_path, Clock()) as (engine, twin):
            assert await play(engine, 40) == await play(twin, 40)
            assert (await queries.verify(engine, "shop")).identical

    asyncio.run(go_on())


CONTEXT = [0.123456789, 0.987654321]


@pytest.mark.parametrize("contexts", [False, True])
def test_an_erased_unit_leaves_no_trace_and_changes_no_decision(store: str, tmp_path: Path, contexts: bool) -> None:
    """The person's name and contexts are nowhere in the store; others' decisions are those of a twin that kept them."""
    from driftwise.service.deployments.erasure import erase_unit

    clock = Clock()
    contextual = {"policy": "lin-ucb", "problem": Contextual(["low", "high"], context_dim=2)}
    fields = {"sticky": True, "retention": {"events": 200, "archive": True}} | (contextual if contexts else {})

    def request(n: int, context: list[float]) -> dict[str, Any]:
        return {"context": context} if contexts else {}

    async def visit(engine: Engine, unit: str, n: int, context: list[float]) -> Any:
        decision = await decide(engine, unit=unit, **request(n, context))
        await learn(engine, decision["id"], reward=float(n % 2))
        return decision["id"], decision["action"], decision.get("sticky")

    async def test() -> None:
        async with twins(store, tmp_path, clock, **fields) as (engine, twin):
            for n in range(240):
                unit, context = ("ann-b-person", CONTEXT) if n % 4 == 1 else (f"u{n % 9}", [1.0, n / 240])
                assert await visit(engine, unit, n, context) == await visit(twin, unit, n, context)
                if n % 40 == 0:
                    engine.save(engine.entry("shop"))
                    await tend_once(engine)
            assert engine.journal.origin(1) is not None
            waiting = await decide(engine, unit="ann-b-person", **request(0, CONTEXT))
            assert (await decide(twin, unit="ann-b-person", **request(0, CONTEXT)))["id"] == waiting["id"]
            with pytest.raises(Conflict, match=f"1 decision of this unit is pending, the first is {waiting['id']}"):
                await erase_unit(engine, "shop", "ann-b-person")
            for each in (engine, twin):
                await learn(each, waiting["id"])
            _, body = await erase_unit(engine, "shop", "ann-b-person")
            found = json.loads(body)
            assert found["n_decisions"] > 10 and found["n_archived"] > 10
            assert found["n_decisions"] + found["n_archived"] >= 61
            assert json.loads((await erase_unit(engine, "shop", "ann-b-person"))[1]) == {
                "n_decisions": 0,
                "n_archived": 0,
            }
            assert (await queries.verify(engine, "shop")).identical
            traces(engine, tmp_path)
            for n in range(40):
                assert await visit(engine, f"u{n % 9}", n, [1.0, n / 40]) == await visit(
                    twin, f"u{n % 9}", n, [1.0, n / 40]
                )
            rows = [chunk async for chunk in await queries.export_log(engine, "shop", "jsonl", -1, 2**53)]
            assert b"ann-b" not in b"".join(rows) and b"erased" not in b"".join(rows)
        async with twins(store, tmp_path, clock) as (engine, twin):
            for n in range(20):
                assert await visit(engine, f"u{n % 9}", n, [1.0, n / 40]) == await visit(
                    twin, f"u{n % 9}", n, [1.0, n / 40]
                )
            assert (await queries.verify(engine, "shop")).identical
            assert not (await decide(engine, unit="ann-b-person", **request(0, CONTEXT))).get("sticky")  # a stranger

    asyncio.run(test())
    assert run("check", store).exit_code == 0


def traces(engine: Engine, tmp_path: Path) -> None:
    """Fail where the name or the context of the person is found: in files, or in any row."""
    words = [b"ann-b-person", msgspec.msgpack.encode(CONTEXT)]
    if not engine.journal.remote:
        content = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    else:
        query: Any = engine.journal
        tables = ("events", "snapshots", "origins")
        content = b"".join(bytes(body) for table in tables for (body,) in query._query(f"SELECT body FROM {table}"))
    assert [content.count(word) for word in words] == [0, 0]
    for path in (tmp_path / "archive").rglob("*.parquet"):
        assert not [body for body in pq.read_table(path)["body"].to_pylist() if "ann-b" in body or "0.1234" in body]


def test_a_retention_that_was_changed_is_in_force_before_the_first_request(store: str) -> None:
    async def test() -> None:
        async with running(store) as engine:
            await create(engine)
            await play(engine, 20)
            await admin.change(engine, "shop", ChangeRequest(retention=RetentionSpec(events=500)))
            both = ChangeRequest(policy="sliding-ucb:window=50", retention=RetentionSpec(events=100))
            await admin.change(engine, "shop", both)
        async with running(store) as engine:
            entry = engine.entry("shop")
            entry.discard("as if it was not used since the start")
            assert entry.keeps == RetentionSpec(events=100)
            await play(engine, 200)
            await queries.take_snapshot(engine, "shop")
            await play(engine, 200)
            entry.discard("as if it was not used since the start")
            await tend_once(engine)
            assert engine.journal.origin(entry.stream) is not None
            await admin.change(engine, "shop", ChangeRequest(retention=None))
            assert entry.keeps is None and entry.retention is None
            assert (await queries.verify(engine, "shop")).identical

    asyncio.run(test())
