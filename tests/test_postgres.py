"""What only a store in PostgreSQL can meet: sessions that are cut, servers that hang or fall, poolers, passwords."""

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from driftwise.errors import ParameterError
from driftwise.serve import asking, changing
from driftwise.serve import postgres_session as sessions
from driftwise.serve.engine import Engine, Keyed
from driftwise.serve.journal import Event, InUseError, JournalError, open_journal
from driftwise.serve.postgres_journal import PostgresJournal
from driftwise.serve.refusals import Unavailable
from driftwise.serve.wire import Changes
from tests.postgres import Server, binary
from tests.service import Service
from tests.serving import Clock, create, decide, learn, running


@pytest.fixture
def store(postgres_server: Server) -> str:
    return postgres_server.store()


@pytest.fixture
def journal(store: str) -> Iterator[PostgresJournal]:
    journal = open_journal(store)
    yield journal
    journal.close()


def event(number: int, stream: int = 1) -> Event:
    return Event(stream, number, 0, "decided", b"\x00x")


def ask(journal: PostgresJournal, question: str) -> Any:
    (answer,) = journal.recover().execute(question).fetchone() or (None,)
    return answer


def test_of_many_starts_at_once_one_makes_the_tables(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sessions.SETTINGS, "lock_timeout", "500ms")
    opened, refused = [], []

    def start() -> None:
        try:
            opened.append(open_journal(store))
        except InUseError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1 and len(refused) == 4
    assert all("is in use by driftwise writer, process" in sentence for sentence in refused)
    opened[0].append([event(0)])
    opened[0].close()


def test_a_session_that_the_server_ends_is_replaced(journal: PostgresJournal, postgres_server: Server) -> None:
    journal.append([event(0)])
    assert journal.answer("none") is None  # there is a session to read with, too
    with psycopg.connect(postgres_server.url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert [*journal.read(1)] == [event(0)]  # reading can be repeated, writing cannot
    with pytest.raises(JournalError, match="could not be written"):
        journal.append([event(1)])
    journal.append([event(1)])
    assert [*journal.read(1)] == [event(0), event(1)]


def test_an_earlier_session_is_over_before_the_next_one_writes(journal: PostgresJournal) -> None:
    """The network is gone and the server does not know yet: it still has the session, and what was half written."""
    lost = journal.recover()
    lost.execute("BEGIN")
    journal._copy("events (stream, number, at, kind, body, ref)", [event(0)])
    journal._writer = None
    journal.append([event(0)])
    assert [*journal.read(1)] == [event(0)]
    with pytest.raises(psycopg.OperationalError):
        lost.execute("COMMIT")
    lost.close()


def test_a_second_process_cannot_end_the_first(store: str, journal: PostgresJournal) -> None:
    with pytest.raises(InUseError, match=r"in use by driftwise writer, process .* on .*only one can write"):
        open_journal(store)
    journal.append([event(0)])


def test_a_lock_on_a_table_is_an_error_that_passes(journal: PostgresJournal, postgres_server: Server) -> None:
    journal.recover().execute("SET lock_timeout = 50")
    with psycopg.connect(postgres_server.url) as other:
        other.execute(f"LOCK TABLE {journal.schema}.events IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(JournalError, match="lock timeout"):
            journal.append([event(0)])
    journal.append([event(0)])
    assert [*journal.read(1)] == [event(0)]


def test_reading_holds_nobody_up(journal: PostgresJournal, postgres_server: Server) -> None:
    journal.append([event(0)])
    with psycopg.connect(postgres_server.url) as other:
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        question = f"SELECT count(*) FROM {journal.schema}.events"
        assert other.execute(question).fetchone() == (1,)
        journal.append([event(1)])
        assert other.execute(question).fetchone() == (1,)
    assert [*journal.read(1)] == [event(0), event(1)]


@pytest.mark.parametrize(("durability", "setting"), [("full", "on"), ("normal", "off"), ("none", "off")])
def test_durability_is_that_of_commits(store: str, durability: str, setting: str) -> None:
    journal = open_journal(store, durability)
    assert ask(journal, "SHOW synchronous_commit") == setting
    journal.append([event(0, stream=0)])  # the catalogue; it leaves no trace in the session
    assert ask(journal, "SHOW synchronous_commit") == setting
    journal.close()


def test_nothing_is_prepared_where_a_pooler_would_mind(store: str) -> None:
    for words, prepared in (("", True), ("&prepared=0", False)):
        journal = open_journal(store + words)
        for _ in range(10):
            journal.forget_answers(1)
        assert bool(ask(journal, "SELECT count(*) FROM pg_prepared_statements")) == prepared
        journal.close()


def test_a_pooler_that_lends_sessions_out_is_refused(journal: PostgresJournal) -> None:
    other = journal._address.connect("reader")
    mine = sessions.Began(*other.execute(sessions.BEGAN).fetchone())  # type: ignore[misc]
    with pytest.raises(JournalError, match="pool_mode = session"):
        sessions.forbid_lending(mine, other)
    other.close()


def test_other_formats_and_others_tables_are_refused(store: str, postgres_server: Server) -> None:
    journal = open_journal(store)
    journal.close()
    with psycopg.connect(postgres_server.url, autocommit=True) as other:
        other.execute(f"UPDATE {journal.schema}.format SET version = 2")
        with pytest.raises(ParameterError, match="has format 2; this version of driftwise reads 1"):
            open_journal(store)
        other.execute("CREATE SCHEMA theirs")
        other.execute("CREATE TABLE theirs.events (what text)")
        with pytest.raises(ParameterError, match="something else: it holds events"):
            open_journal(f"{postgres_server.url}&schema=theirs")
        other.execute(f"UPDATE {journal.schema}.format SET version = 1")
    open_journal(store).close()


def test_names_of_schemas_are_quoted(postgres_server: Server) -> None:
    for name in ("Shop", "select", "_1"):
        journal = open_journal(f"{postgres_server.url}&schema={name}")
        journal.append([event(0)])
        assert journal.size() > 0 and ask(journal, "SELECT current_schema()") == name
        journal.close()
    for name in ('a"b', "a;b", "", "a b", "x" * 51, "é", "a%22b"):
        with pytest.raises(ParameterError, match="is not a name"):
            open_journal(f"{postgres_server.url}&schema={name}")


def test_a_role_that_may_make_nothing_goes_on_with_what_is_there(store: str, postgres_server: Server) -> None:
    journal = open_journal(store)
    journal.close()
    with psycopg.connect(postgres_server.url, autocommit=True) as other:
        other.execute("CREATE ROLE plain LOGIN")
        other.execute(f"GRANT USAGE ON SCHEMA {journal.schema} TO plain")
        other.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {journal.schema} TO plain")
    journal = open_journal(store.replace("driftwise@", "plain@"))
    journal.append([event(0)])
    assert [*journal.read(1)] == [event(0)]
    journal.close()
    with pytest.raises(JournalError, match="permission denied"):
        open_journal(f"{postgres_server.url.replace('driftwise@', 'plain@')}&schema=new")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:se/cret@127.0.0.1:1/db",
        "postgresql://me:se%cret@127.0.0.1:1/db",
        "postgresql://me:secret@127.0.0.1:1/db",
        "postgresql://me@127.0.0.1:1/db?password=secret",
        "postgresql://me:secret@127.0.0.1:1/db?schema=a-b",
        "postgresql://me:secret@[::1/db",
        "postgresql://me@127.0.0.1/db?pasword=secret",
        "postgrsql://me:secret@host/db",
    ],
)
def test_no_error_repeats_a_password(url: str) -> None:
    with pytest.raises((JournalError, ParameterError)) as caught:
        open_journal(url)
    error = caught.value
    assert "cret" not in str(error) and (error.__suppress_context__ or error.__context__ is None)


async def refused_then_served(engine: Engine, key: Keyed) -> tuple[int, Any]:
    """Ask with a key until it is answered; how often it was not."""
    for refusals in range(200):
        try:
            return refusals, await decide(engine, key=key)
        except Unavailable:
            await asyncio.sleep(0.02)
    raise AssertionError("the store did not come back")


def test_a_commit_whose_answer_is_lost_is_done_once(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
        async with running(store) as engine:
            await create(engine)
            await learn(engine, (await decide(engine))["id"])
            losing[0] = True
            refusals, decision = await refused_then_served(engine, Keyed("me", "k", b""))
            assert refusals == 1 and decision["id"] == 2
            losing[0] = True
            with pytest.raises(Unavailable):
                await learn(engine, 2)
            assert await learn(engine, 2) == "duplicate"
            assert (await asking.verify(engine, "shop")).equal
            assert [each.number for each in engine.journal.read(1)] == [0, 1, 2, 3]

    asyncio.run(test())


def test_a_server_that_hangs_is_answered_for(durable_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PATIENCE_S", 0.5)
    monkeypatch.setattr(sessions, "CONNECT_S", 1)

    async def test() -> None:
        async with running(durable_server.store()) as engine:
            await create(engine)
            first = await decide(engine, key=Keyed("me", "1", b""))
            durable_server.freeze()
            for _ in range(2):
                with pytest.raises(Unavailable):
                    await decide(engine, key=Keyed("me", "2", b""))
            with pytest.raises(Unavailable):
                await engine.look(engine.journal.size)
            durable_server.thaw()
            _, second = await refused_then_served(engine, Keyed("me", "2", b""))
            assert await decide(engine, key=Keyed("me", "1", b"")) == first
            assert second["id"] == 1 and (await asking.verify(engine, "shop")).equal

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
                    _, decision = await refused_then_served(engine, Keyed("me", f"{seed}-{number}", b""))
                    decided.append(decision["id"])
                    try:
                        await learn(engine, decision["id"])
                        learned.append(decision["id"])
                    except Unavailable:
                        pass

            clients = [asyncio.ensure_future(client(seed)) for seed in range(8)]
            for _ in range(3):
                await asyncio.sleep(0.1)
                await asyncio.to_thread(durable_server.stop)
                await asyncio.to_thread(durable_server.start)
            stop.set()
            await asyncio.gather(*clients)
            await changing.change(engine, "shop", Changes(policy="sliding-ucb:window=50"))
            assert engine.writer.failures and len(decided) == len(set(decided))
            assert (await asking.verify(engine, "shop")).equal
            events = [*engine.journal.read(1)]
            assert [each.number for each in events] == list(range(len(events)))
            assert sorted(decided) == [each.number for each in events if each.kind == "decided"]
            assert set(learned) <= {each.ref for each in events}

    asyncio.run(test())


def test_what_a_lazy_server_forgot_never_happened(durable_server: Server) -> None:
    """`normal` lets the server flush later. What it loses with its life leaves no gap, and no deployment is lost."""
    durable_server.stop()
    durable_server.options = ("-c", "wal_writer_delay=10s")
    durable_server.start()

    async def test() -> None:
        journal = open_journal(durable_server.store(), "normal")
        engine = Engine(journal, clock=Clock())
        await engine.start()
        for name in ("shop", "other"):
            await create(engine, name=name)
        for _ in range(30):
            await decide(engine)
            await learn(engine, (await decide(engine, "other"))["id"], "other")
        durable_server.kill()
        durable_server.start()
        assert len([*journal.read(0)]) == 2
        kept = [*journal.read(1)], [*journal.read(2)]
        assert len(kept[0]) < 30  # it has lost some, or this shows nothing
        await refused_then_served(engine, Keyed("me", "1", b""))
        await decide(engine, "other")
        for name, stream, events in (("shop", 1, kept[0]), ("other", 2, kept[1])):
            assert (await asking.verify(engine, name)).equal
            assert [*journal.read(stream)][: len(events)] == events
        await engine.close()

    asyncio.run(test())


def test_over_http_everything_is_answered_while_the_server_is_gone(durable_server: Server, tmp_path: Path) -> None:
    store = durable_server.store().replace("driftwise@", "driftwise:secret@")
    with Service(store, log=tmp_path / "log") as service, httpx.Client(base_url=f"{service.url}/v1/") as http:
        made = {"name": "shop", "policy": "sliding-ucb:window=50", "n_arms": 3}
        assert http.post("deployments", json=made).status_code == 201
        assert http.post("deployments/shop/decide", json={}).status_code == 200
        told = http.get("backup")
        assert told.status_code == 422 and "pg_dump --schema" in told.json()["error"]
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
        assert http.post("deployments/shop/decide", json={}, headers={"idempotency-key": "k"}).json()["id"] == 1
        assert http.post("deployments/shop/verify").json()["equal"]
    assert "secret" not in service.log.read_text()


def test_a_dump_is_a_whole_store(store: str, postgres_server: Server) -> None:
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
            assert (await asking.verify(engine, "shop")).events == 40
            assert (await decide(engine))["id"] == 40

    dumped = asyncio.run(fill())
    with psycopg.connect(postgres_server.url, autocommit=True) as session:
        session.execute(f"DROP SCHEMA {schema} CASCADE")
    subprocess.run([str(binary("psql")), "-q", postgres_server.url], input=dumped, check=True, capture_output=True)
    asyncio.run(look())
