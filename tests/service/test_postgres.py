"""What only a store in PostgreSQL can meet: sessions that are cut, other tables, poolers, passwords."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from driftwise.errors import ParameterError
from driftwise.service.store import postgres_session as sessions
from driftwise.service.store.journal import Event, InUseError, JournalError, open_journal
from driftwise.service.store.postgres import EVENTS, PostgresJournal
from driftwise.service.store.schema import FORMAT
from tests.fixtures.postgres import Server


@pytest.fixture
def store(postgres_server: Server) -> str:
    return postgres_server.store()


@pytest.fixture
def journal(store: str) -> Iterator[PostgresJournal]:
    journal = PostgresJournal(store)
    yield journal
    journal.close()


def event(number: int, stream: int = 1) -> Event:
    return Event(stream, number, 0, "decided", b"\x00x")


def ask(journal: PostgresJournal, question: str) -> Any:
    (answer,) = journal.recover().execute(question).fetchone() or (None,)
    return answer


def test_of_many_starts_at_once_one_makes_the_tables(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sessions.SESSION_SETTINGS, "lock_timeout", "500ms")
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
    journal._copy(EVENTS, [(*event(0), 0)])
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


@pytest.mark.parametrize(("durability", "structure"), [("full", "on"), ("normal", "off")])
def test_durability_is_that_of_commits(store: str, durability: str, structure: str) -> None:
    journal = PostgresJournal(store, durability)
    assert ask(journal, "SHOW synchronous_commit") == structure
    journal.append([event(0, stream=0)])  # the catalogue; it leaves no trace in the session
    assert ask(journal, "SHOW synchronous_commit") == structure
    journal.close()


def test_nothing_is_prepared_where_a_pooler_would_mind(store: str) -> None:
    for words, prepared in (("", True), ("&prepared=0", False)):
        journal = PostgresJournal(store + words)
        for _ in range(10):
            journal.forget_answers(1)
        assert bool(ask(journal, "SELECT count(*) FROM pg_prepared_statements")) == prepared
        journal.close()


def test_a_pooler_that_lends_sessions_out_is_refused(journal: PostgresJournal) -> None:
    other = journal._address.connect("reader")
    mine = sessions.SessionId(*other.execute(sessions.SESSION_ID).fetchone())  # type: ignore[misc]
    with pytest.raises(JournalError, match="pool_mode = session"):
        sessions.reject_transaction_pooling(mine, other)
    other.close()


def test_other_formats_and_others_tables_are_refused(store: str, postgres_server: Server) -> None:
    journal = PostgresJournal(store)
    journal.close()
    with psycopg.connect(postgres_server.url, autocommit=True) as other:
        other.execute(f"UPDATE {journal.schema}.format SET version = 1")
        with pytest.raises(ParameterError, match="has format 1; this version of driftwise reads format"):
            open_journal(store)
        other.execute("CREATE SCHEMA theirs")
        other.execute("CREATE TABLE theirs.events (what text)")
        with pytest.raises(ParameterError, match="another program: it has events"):
            open_journal(f"{postgres_server.url}&schema=theirs")
        other.execute(f"UPDATE {journal.schema}.format SET version = {FORMAT}")
    open_journal(store).close()


def test_names_of_schemas_are_quoted(postgres_server: Server) -> None:
    for name in ("Shop", "select", "_1"):
        journal = PostgresJournal(f"{postgres_server.url}&schema={name}")
        journal.append([event(0)])
        assert journal.size() > 0 and ask(journal, "SELECT current_schema()") == name
        journal.close()
    for name in ('a"b', "a;b", "", "a b", "x" * 51, "é", "a%22b"):
        with pytest.raises(ParameterError, match="is not a name"):
            open_journal(f"{postgres_server.url}&schema={name}")


def test_a_role_that_may_make_nothing_goes_on_with_what_is_there(store: str, postgres_server: Server) -> None:
    journal = PostgresJournal(store)
    journal.close()
    with psycopg.connect(postgres_server.url, autocommit=True) as other:
        other.execute("CREATE ROLE plain LOGIN")
        other.execute(f"GRANT USAGE ON SCHEMA {journal.schema} TO plain")
        other.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {journal.schema} TO plain")
    journal = PostgresJournal(store.replace("driftwise@", "plain@"))
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
