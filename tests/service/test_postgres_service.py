"""The service on a PostgreSQL server that hangs, restarts, falls, forgets, or loses its answers."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from driftwise.service.deployments import admin, queries
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.http.errors import Unavailable
from driftwise.service.http.schemas.requests import ChangeRequest
from driftwise.service.store import postgres_session as sessions
from driftwise.service.store.journal import JournalError, open_journal
from driftwise.service.store.postgres import PostgresJournal
from tests.fixtures.engine import Clock, create, decide, learn, running
from tests.fixtures.patience import HANG_S, get, until, until_more, until_so
from tests.fixtures.postgres import Server, binary
from tests.fixtures.service_process import Service

pytestmark = pytest.mark.system


async def refused_then_served(engine: Engine, key: IdempotencyKey) -> tuple[int, Any]:
    """Ask with a key until it is answered; how often it was not."""
    refusals = 0

    async def served() -> Any:
        nonlocal refusals
        try:
            return await decide(engine, key=key)
        except Unavailable:
            refusals += 1
            return None

    decision = await until_so(served, "the store")
    return refusals, decision


def test_a_commit_whose_answer_is_lost_is_done_once(postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown outcome: the server has committed, and we are told of an error."""
    append = PostgresJournal.append
    losing = [False]

    def lossy(self: PostgresJournal, *args: Any) -> None:
        append(self, *args)
        if losing[0] and args[0]:
            losing[0] = False
            self._give_up()
            raise JournalError("the answer got lost")

    async def test() -> None:
        monkeypatch.setattr(PostgresJournal, "append", lossy)
        async with running(postgres_server.store()) as engine:
            await create(engine)
            await learn(engine, (await decide(engine))["id"])
            losing[0] = True
            refusals, decision = await refused_then_served(engine, IdempotencyKey("me", "k", b""))
            assert refusals == 1 and decision["id"] == 2
            losing[0] = True
            with pytest.raises(Unavailable):
                await learn(engine, 2)
            assert await learn(engine, 2) == "duplicate"
            assert (await queries.verify(engine, "shop")).identical
            assert [each.number for each in engine.journal.read(1)] == [0, 1, 2, 3]

    asyncio.run(test())


def test_a_server_that_hangs_is_answered_for(durable_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:

    async def test() -> None:
        async with running(durable_server.store()) as engine:
            await create(engine)
            first = await decide(engine, key=IdempotencyKey("me", "1", b""))
            with monkeypatch.context() as impatient:
                impatient.setattr(sessions, "PATIENCE_S", 0.5)
                impatient.setitem(engine.journal._address._parts, "connect_timeout", 1)  # type: ignore[attr-defined]
                durable_server.freeze()
                for _ in range(2):
                    with pytest.raises(Unavailable):
                        await decide(engine, key=IdempotencyKey("me", "2", b""))
                with pytest.raises(Unavailable):
                    await engine.query(engine.journal.size)
            durable_server.thaw()
            _, second = await refused_then_served(engine, IdempotencyKey("me", "2", b""))
            assert await decide(engine, key=IdempotencyKey("me", "1", b"")) == first
            assert second["id"] == 1 and (await queries.verify(engine, "shop")).identical

    asyncio.run(test())


def test_a_server_that_restarts_is_found_again(durable_server: Server) -> None:
    """With everything at work: decisions, outcomes, and a policy that changes."""

    async def test() -> None:
        async with running(durable_server.store()) as engine:
            await create(engine)
            decided: list[int] = []
            learned: list[int] = []
            stop = asyncio.Event()

            async def client(seed: int) -> None:
                number = 0
                while not stop.is_set():
                    number += 1
                    _, decision = await refused_then_served(engine, IdempotencyKey("me", f"{seed}-{number}", b""))
                    decided.append(decision["id"])
                    try:
                        await learn(engine, decision["id"])
                        learned.append(decision["id"])
                    except Unavailable:
                        pass

            clients = [asyncio.ensure_future(client(seed)) for seed in range(8)]
            for _ in range(3):
                await until_more(lambda: len(decided), 8, "an answer to clients")
                await asyncio.to_thread(durable_server.stop)
                await until_more(lambda: engine.writer.failures, 1, "a commit that fails")
                await asyncio.to_thread(durable_server.start)
            stop.set()
            await asyncio.gather(*clients)
            await admin.change(engine, "shop", ChangeRequest(policy="sliding-ucb:window=50"))
            assert len(decided) == len(set(decided))
            assert (await queries.verify(engine, "shop")).identical
            events = [*engine.journal.read(1)]
            assert [each.number for each in events] == list(range(len(events)))
            assert sorted(decided) == [each.number for each in events if each.kind == "decided"]
            assert set(learned) <= {each.ref for each in events}

    asyncio.run(test())


def test_what_a_lazy_server_forgot_never_happened(durable_server: Server) -> None:
    """`normal` lets the server flush later. What it loses with its life leaves no gap, and no deployment is lost."""

    async def test() -> None:
        journal = open_journal(durable_server.store(), "normal")
        engine = Engine(journal, clock=Clock())
        await engine.start()
        for name in ("shop", "other"):
            await create(engine, name=name)
        durable_server.forget_to_flush()
        for _ in range(30):
            await decide(engine)
            await learn(engine, (await decide(engine, "other"))["id"], "other")
        durable_server.kill()
        durable_server.start()
        assert len([*journal.read(0)]) == 2
        kept = [*journal.read(1)], [*journal.read(2)]
        assert len(kept[0]) < 30  # it has lost some, or this shows nothing
        await refused_then_served(engine, IdempotencyKey("me", "1", b""))
        await decide(engine, "other")
        for name, stream, events in (("shop", 1, kept[0]), ("other", 2, kept[1])):
            assert (await queries.verify(engine, name)).identical
            assert [*journal.read(stream)][: len(events)] == events
        await engine.close()

    asyncio.run(test())


def test_a_change_on_top_of_what_was_forgotten_is_refused(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit fails while a policy is being replaced: what it was replayed from may not be there any more."""

    async def test() -> None:
        async with running(postgres_server.store()) as engine:
            await create(engine)
            await learn(engine, (await decide(engine))["id"])
            loop = asyncio.get_running_loop()

            async def forget() -> None:
                engine._discard_uncommitted()

            def forgotten(work: Any) -> Any:
                def run(*args: Any) -> Any:
                    asyncio.run_coroutine_threadsafe(forget(), loop).result()
                    return work(*args)

                return run

            for word, changes in (
                ("snapshot", ChangeRequest(policy="sliding-ucb:window=50")),
                ("change", ChangeRequest(max_pending=7)),
            ):
                with monkeypatch.context() as patch, pytest.raises(Unavailable, match="failed meanwhile"):
                    patch.setattr(Deployment, word, forgotten(getattr(Deployment, word)))
                    await admin.change(engine, "shop", changes)
                assert (await queries.verify(engine, "shop")).n_events == 2

    asyncio.run(test())


def test_over_http_everything_is_answered_while_the_server_is_gone(durable_server: Server, tmp_path: Path) -> None:
    store = durable_server.store().replace("driftwise@", "driftwise:secret@")
    with (
        Service(store, log=tmp_path / "log") as service,
        httpx.Client(base_url=f"{service.url}/v1/", timeout=HANG_S) as http,
    ):
        made = {"name": "shop", "policy": "sliding-ucb:window=50", "problem": {"kind": "multi-armed", "arms": 3}}
        assert http.post("deployments", json=made).status_code == 201
        assert http.post("deployments/shop/decide", json={}).status_code == 200
        told = http.get("backup")
        assert told.status_code == 422 and "pg_dump --schema" in told.json()["detail"]
        assert "\ndriftwise_store_bytes " in http.get(f"{service.url}/metrics").text
        durable_server.stop()
        answers = [
            http.post("deployments/shop/decide", json={}),
            http.post("deployments/shop/decide", json={}, headers={"idempotency-key": "k"}),
            http.get("deployments/shop/decisions/0"),
            http.get("deployments/shop/log"),
            http.post("deployments/shop/verify"),
            http.post("deployments", json=made | {"name": "other"}),
        ]
        for told in answers:
            assert told.status_code == 503 and told.headers["retry-after"] and told.json()["code"] == "unavailable"
        assert http.get(f"{service.url}/healthz").is_success
        told = http.get(f"{service.url}/metrics")
        assert told.is_success and "\ndriftwise_store_bytes " not in told.text
        durable_server.start()
        idempotent: Any = {"json": {}, "headers": {"idempotency-key": "k"}}
        until(lambda: http.post("deployments/shop/decide", **idempotent).status_code == 200, "the store")
        assert http.post("deployments/shop/decide", **idempotent).json()["id"] == 1
        assert http.post("deployments/shop/verify").json()["identical"]
    assert "secret" not in service.log.read_text()


def test_a_store_in_postgresql_has_a_token_too(
    postgres_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Service(postgres_server.store(), auth=True, log=tmp_path / "log") as service:
        assert get(f"{service.url}/v1/deployments").status_code == 401
        shown = {"authorization": f"Bearer {service.token}"}
        assert get(f"{service.url}/v1/deployments", headers=shown).status_code == 200
        assert len([*(tmp_path / "state" / "driftwise").iterdir()]) == 1


def test_a_dump_is_a_whole_store(postgres_server: Server) -> None:
    store = postgres_server.store()
    schema = store.rpartition("=")[2]

    async def fill() -> bytes:
        async with running(store) as engine:
            await create(engine)
            for _ in range(20):
                await learn(engine, (await decide(engine))["id"])
            dump = [str(binary("pg_dump")), f"--schema={schema}", postgres_server.url]
            return await asyncio.to_thread(subprocess.check_output, dump)  # while it is at work

    async def look() -> None:
        async with running(store) as engine:
            assert (await queries.verify(engine, "shop")).n_events == 40
            assert (await decide(engine))["id"] == 40

    dumped = asyncio.run(fill())
    with psycopg.connect(postgres_server.url, autocommit=True) as session:
        session.execute(f"DROP SCHEMA {schema} CASCADE")
    subprocess.run([str(binary("psql")), "-q", postgres_server.url], input=dumped, check=True, capture_output=True)
    asyncio.run(look())
