"""Readiness and the log say what keeps the store from its work: once when it begins, once when it is over."""

import asyncio
import json
import logging
import resource
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import httpx
import psycopg
import pytest

from driftwise.service.deployments.background_tasks import run_once
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.access import Access
from driftwise.service.http.app import make_app
from driftwise.service.http.endpoint import Service
from driftwise.service.store.journal import Event, JournalError, open_journal
from driftwise.service.store.postgres import PostgresJournal
from driftwise.service.store.sqlite import SQLiteJournal
from tests.fixtures.engine import Clock, create, decide
from tests.fixtures.patience import HANG_S, until
from tests.fixtures.postgres import Server
from tests.fixtures.service_process import Service as Process

FULL = JournalError("/var/lib/shop.db could not be written: database or disk is full", "the disk is full")


class Faulty:
    """A journal that fails to write or to read, or hangs, when a test wants it to."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal
        self.writing: JournalError | None = None
        self.reading: JournalError | None = None
        self.gate = threading.Event()
        self.gate.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append(self, *args: Any) -> None:
        self.gate.wait()
        if self.writing is not None:
            raise self.writing
        self._journal.append(*args)

    def answer(self, key: str) -> Any:
        if self.reading is not None:
            raise self.reading
        return self._journal.answer(key)

    def latest(self, *args: Any, **options: Any) -> Any:
        if self.reading is not None:
            raise self.reading
        return self._journal.latest(*args, **options)


class Asked:
    """A service in this process, asked over ASGI."""

    def __init__(self, store: str) -> None:
        self.journal = Faulty(open_journal(store))
        self.engine = Engine(self.journal, clock=Clock())
        transport = httpx.ASGITransport(app=make_app(Service(self.engine, access=Access(auth=False))))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    async def ready(self) -> tuple[int, Any]:
        told = await self.http.get("/readyz")
        return told.status_code, told.json()

    async def decide(self, **headers: str) -> httpx.Response:
        return await self.http.post("/v1/deployments/shop/decide", json={}, headers=headers)


@asynccontextmanager
async def asked(store: str) -> AsyncIterator[Asked]:
    service = Asked(store)
    await service.engine.start()
    while not service.engine.readiness.warm:
        await asyncio.sleep(0.001)
    await create(service.engine)
    try:
        yield service
    finally:
        service.journal.gate.set()
        await service.http.aclose()
        await service.engine.close()


def on_every_store(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test on every kind of store, with what it logs."""

    def run(store: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        caplog.set_level(logging.INFO, "driftwise.service")
        deployments = "driftwise.service.deployments"
        for seconds in ("readiness.IDLE_S", "background_tasks.SWEEP_S", "background_tasks.TEND_S"):
            monkeypatch.setattr(f"{deployments}.{seconds}", HANG_S)  # the store is tried when a test wants it
        monkeypatch.setattr(f"{deployments}.background_tasks.ANSWER_S", HANG_S)

        async def look() -> None:
            async with asked(store) as service:
                await test(service, caplog, monkeypatch)

        asyncio.run(look())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What the log says of the store, and why."""
    lines = [(record.getMessage(), vars(record).get("facts", {})) for record in caplog.records]
    return [(line, facts.get("why", "")) for line, facts in lines if line.startswith("the store")]


@on_every_store
async def test_a_store_that_cannot_be_written(service: Asked, caplog: Any, monkeypatch: Any) -> None:
    assert await service.ready() == (200, {"ready": True})
    assert (await service.decide()).status_code == 200
    service.journal.writing = FULL
    for n in range(10):
        told = await service.decide(**({"idempotency-key": f"k{n}"} if n % 2 else {}))
        assert told.status_code == 503 and "(the disk is full)" in told.json()["detail"]
        assert "/var/lib" not in told.text
    assert await service.ready() == (503, {"ready": False, "reason": "the store cannot be written: the disk is full"})
    await run_once(service.engine)
    assert (await service.ready())[0] == 503 and not service.engine.ready
    assert "\ndriftwise_ready 0" in (await service.http.get("/metrics")).text
    assert (await service.http.get("/v1/deployments/shop/decisions/0")).status_code == 200  # reading is no proof
    assert (await service.ready())[0] == 503
    assert said(caplog) == [("the store cannot be written", str(FULL))]
    service.journal.writing = None
    await run_once(service.engine)  # nobody writes, and it is noticed all the same
    assert await service.ready() == (200, {"ready": True})
    assert said(caplog) == [("the store cannot be written", str(FULL)), ("the store can be written again", "")]
    assert (await service.decide()).json()["id"] == 1


@on_every_store
async def test_a_store_that_cannot_be_read(service: Asked, caplog: Any, monkeypatch: Any) -> None:
    gone = JournalError("no route to host 10.0.0.7", "the database does not answer")
    service.journal.reading = gone
    for _ in range(5):
        told = await service.decide(**{"idempotency-key": "k"})
        assert told.status_code == 503 and told.json()["code"] == "unavailable"
    reason = "the store cannot be read: the database does not answer"
    assert await service.ready() == (503, {"ready": False, "reason": reason})
    assert (await service.decide()).status_code == 200  # a request without a key needs nothing read
    assert (await service.ready())[0] == 503
    assert said(caplog) == [("the store cannot be read", str(gone))]
    service.journal.reading = None
    await run_once(service.engine)
    assert await service.ready() == (200, {"ready": True})
    assert said(caplog)[1:] == [("the store can be read again", "")]


@on_every_store
async def test_readiness_tries_a_store_at_rest(service: Asked, caplog: Any, monkeypatch: Any) -> None:
    """Without a request that writes, somebody must find out."""
    assert await service.ready() == (200, {"ready": True})
    assert service.engine.readiness.trying is None  # it has just been written: that is proof enough
    commits = service.engine.writer.commits
    monkeypatch.setattr("driftwise.service.deployments.readiness.IDLE_S", -1.0)
    assert await service.ready() == (200, {"ready": True})
    assert service.engine.readiness.trying is not None and service.engine.writer.commits > commits
    service.journal.writing = FULL
    assert await service.ready() == (503, {"ready": False, "reason": "the store cannot be written: the disk is full"})
    service.journal.writing = None
    await run_once(service.engine)
    assert await service.ready() == (200, {"ready": True})
    assert [event.kind for event in service.journal.read(0)] == ["created"]  # trials leave nothing among events


@on_every_store
async def test_readiness_does_not_wait_for_a_store_that_hangs(service: Asked, caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("driftwise.service.deployments.readiness.IDLE_S", -1.0)
    monkeypatch.setattr("driftwise.service.deployments.background_tasks.ANSWER_S", 0.05)
    service.journal.gate.clear()
    told = await asyncio.gather(*(service.ready() for _ in range(20)))
    assert told == [(503, {"ready": False, "reason": "the store has not answered for 0.05 seconds"})] * 20
    assert service.engine.writer.waiting == 1  # one trial for all who ask
    service.journal.gate.set()
    while (await service.ready())[0] != 200:
        await asyncio.sleep(0.001)


@on_every_store
async def test_what_is_done_beside_requests_goes_on(service: Asked, caplog: Any, monkeypatch: Any) -> None:
    """A default that cannot be recorded is said, and the next sweep comes all the same."""

    def broken(*_: Any) -> Any:
        raise KeyError("unforeseen")

    await create(service.engine, name="other", reward_window=5)
    await create(service.engine, name="third", reward_window=5)
    for name in ("other", "third"):
        await decide(service.engine, name)
    other = service.engine.entry("other").live
    assert isinstance(service.engine.clock, Clock) and other is not None
    service.engine.clock.wait(6)
    monkeypatch.setattr(other, "default", broken)
    await run_once(service.engine)
    failures = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert failures == ["a default was not recorded"]
    await service.engine.commit()
    assert [event.kind for event in service.journal.read(3)] == ["decided", "learned"]
    await service.engine.live("other")
    await run_once(service.engine)
    await service.engine.commit()
    assert [event.kind for event in service.journal.read(2)] == ["decided", "learned"]


# ---- as people run it ----


def lines(service: Process) -> list[dict[str, Any]]:
    return [json.loads(line) for line in service.log.read_text().splitlines()]


def about_store(service: Process) -> list[str]:
    return [line["event"] for line in lines(service) if line["event"].startswith("the store")]


@pytest.mark.system
def test_a_full_disk_is_told_and_over_when_it_is_over(tmp_path: Path) -> None:
    with Process(tmp_path / "store.db") as service, httpx.Client(base_url=service.url, timeout=HANG_S) as http:
        shop = {"name": "shop", "policy": "sliding-ucb:window=50", "problem": {"kind": "multi-armed", "arms": 3}}
        assert http.post("/v1/deployments", json=shop).status_code == 201
        kept = [http.post("/v1/deployments/shop/decide", json={}).json()["id"]]
        unlimited = resource.RLIM_INFINITY
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (200_000, unlimited))
        batch: Any = {"decisions": [{}] * 1000}
        while (told := http.post("/v1/deployments/shop/decide/batch", json=batch)).status_code == 200:
            kept += [each["id"] for each in told.json()["decisions"]]
        assert told.status_code == 503 and "the store cannot be written now" in told.json()["detail"]
        ready = http.get("/readyz")
        assert ready.status_code == 503 and ready.json()["reason"].startswith("the store cannot be written: the disk")
        for _ in range(30):
            assert http.post("/v1/deployments/shop/decide/batch", json=batch).status_code == 503
        assert about_store(service) == ["the store cannot be written"]
        assert str(tmp_path) in lines(service)[-1]["why"] and str(tmp_path) not in ready.text
        assert not any("answered" in line["event"] for line in lines(service))  # no line for each request
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        until(lambda: http.get("/readyz").status_code == 200, "readiness, by itself,")
        assert about_store(service) == ["the store cannot be written", "the store can be written again"]
        log = [json.loads(line)["id"] for line in http.get("/v1/deployments/shop/log").text.splitlines()]
        assert log == kept
        assert http.post("/v1/deployments/shop/verify").json()["identical"]


@pytest.mark.system
def test_a_database_that_is_gone_is_told_and_over_when_it_is_over(durable_server: Server, tmp_path: Path) -> None:
    with (
        Process(durable_server.store(), log=tmp_path / "log") as service,
        httpx.Client(base_url=service.url, timeout=HANG_S) as http,
    ):
        shop = {"name": "shop", "policy": "sliding-ucb:window=50", "problem": {"kind": "multi-armed", "arms": 3}}
        assert http.post("/v1/deployments", json=shop).status_code == 201
        durable_server.stop()
        gone = "the store cannot be written: the database "
        until(
            lambda: http.get("/readyz").json().get("reason", "").startswith(gone), "the reason, though nobody writes,"
        )
        for _ in range(20):
            assert http.post("/v1/deployments/shop/decide", json={}).status_code == 503
        assert about_store(service).count("the store cannot be written") == 1
        durable_server.start()
        until(lambda: http.get("/readyz").status_code == 200, "readiness, by itself,")
        told = about_store(service)
        assert told.count("the store cannot be written") == told.count("the store can be written again") == 1
        assert all(told.count(f"the store can{no} be read{again}") <= 1 for no, again in (("not", ""), ("", " again")))
        assert http.post("/v1/deployments/shop/decide", json={}).status_code == 200


# ---- reasons ----


def test_sqlite_says_why_to_anybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftwise.service.store.sqlite.BUSY_MS", 10)
    journal = SQLiteJournal(tmp_path / "store.db")
    big = [Event(1, 0, 0, "decided", bytes(10**6))]
    journal._writer.execute("PRAGMA max_page_count = 20")
    with pytest.raises(JournalError, match="database or disk is full") as full:
        journal.append(big)
    assert full.value.reason == "the disk is full"
    other = apsw.Connection(str(tmp_path / "store.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match="locked") as locked:
        journal.append(big)
    assert locked.value.reason == "another program has locked the store"
    other.close()
    journal.append(big)
    journal.close()


def test_postgresql_says_why_to_anybody(postgres_server: Server) -> None:
    journal = PostgresJournal(postgres_server.store())
    journal.recover().execute("SET lock_timeout = 50")
    with psycopg.connect(postgres_server.url) as other:
        other.execute(f"LOCK TABLE {journal.schema}.events IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(JournalError) as locked:
            journal.append([Event(1, 0, 0, "decided", b"")])
    assert locked.value.reason == "another session has locked a table"
    journal.recover().execute("SET default_transaction_read_only = on")
    with pytest.raises(JournalError) as denied:
        journal.append([Event(1, 0, 0, "decided", b"")])
    assert denied.value.reason == "the database is read-only"
    journal.close()
    with pytest.raises(JournalError) as gone:
        open_journal("postgresql://me@127.0.0.1:1/db")
    assert gone.value.reason == "the database does not answer"
