"""A journal in PostgreSQL: the same streams, answers and snapshots, in a schema of its own.

    postgresql://user@host/database?schema=shop        tables in the schema `shop`; `driftwise` by default
    ...&prepared=0                                     no prepared statements, for a pooler between us and the server

One process writes to a schema: it holds an advisory lock, and the unique numbers of events would stop a second one
even without it. More processes share a server by having a schema each. No row is ever updated for an event, and a
batch is one COPY per table, whatever its size (measured: a third of the time of INSERT ... unnest, for 500 rows).

A commit that fails may have happened. Its session is given up; the next one ends it for good before it writes, and
only then is the store read again. So nothing is ever repeated on the guess that it failed.
"""

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

from driftwise.errors import ParameterError
from driftwise.service.store.journal import CATALOGUE, Answer, Event, JournalError, Snapshot
from driftwise.service.store.postgres_session import (
    Address,
    Session,
    SessionId,
    reject_transaction_pooling,
    short,
    take_lock,
)
from driftwise.service.store.sql import FORGET, FORGET_BATCH, SQLJournal

FORMAT = 2
SCHEMA = """
CREATE TABLE events (
    stream bigint NOT NULL, number bigint NOT NULL, at bigint NOT NULL, kind text NOT NULL, body bytea NOT NULL,
    ref bigint NOT NULL, PRIMARY KEY (stream, number)
);
CREATE UNIQUE INDEX by_decision ON events (stream, ref) WHERE ref >= 0;
CREATE TABLE answers (
    key text PRIMARY KEY, fingerprint bytea NOT NULL, at bigint NOT NULL, status integer NOT NULL, body bytea NOT NULL
);
CREATE INDEX by_age ON answers (at);
CREATE TABLE snapshots (
    stream bigint NOT NULL, number bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (stream, number)
);
CREATE TABLE format (version integer NOT NULL);
"""
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s) ORDER BY 1"
)
TYPES = {
    "events (stream, number, at, kind, body, ref)": ("int8", "int8", "int8", "text", "bytea", "int8"),
    "answers (key, fingerprint, at, status, body)": ("text", "bytea", "int8", "int4", "bytea"),
}
EVENTS, ANSWERS = TYPES
SIZE = "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name"
SYNCHRONOUS = {"full": "on", "normal": "off"}
REASONS = {
    "53100": "the disk of the database is full",
    "53300": "the database has no connection to spare",
    "55P03": "another session has locked a table",
    "57014": "the database takes too long",
    "57P01": "the database is stopping",
    "57P03": "the database is starting",
    "25006": "the database is read-only",
    "42501": "the database denies access",
}
NO_ANSWER = "the database does not answer"


class PostgresJournal(SQLJournal):
    """See `journal.Journal`."""

    fast_reads, remote = False, True

    def __init__(self, url: str, durability: str = "full") -> None:
        self._address = Address(url)
        self.schema = self._address.schema
        self.path = f"postgresql schema {self.schema}"  # without the password that a URL may hold
        self.durability = durability
        self._idle: list[Session] = []  # sessions to read with
        self._idling = threading.Lock()
        self._writer_id: SessionId | None = None
        self._closed = False
        self._writer: Session | None = None
        try:
            self.recover()
        except BaseException:
            self.close()
            raise

    # ---- writing ----

    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write all of it in one transaction."""
        writer = self.recover()
        # the catalogue is always durable: it is read once, at the start
        vital = self.durability != "full" and any(event.stream == CATALOGUE for event in events)
        try:
            if not (answers or snapshots or vital):
                self._copy(EVENTS, events)  # one COPY is a transaction by itself
                return
            with writer.transaction():
                if vital:
                    writer.execute("SET LOCAL synchronous_commit = on")
                self._copy(EVENTS, events)
                self._copy(ANSWERS, answers)
                for snapshot in snapshots:
                    self._keep(snapshot)
        except psycopg.Error as error:
            self._give_up()
            raise self._error("written", error) from None

    def _copy(self, table: str, rows: Sequence[Any]) -> None:
        if not rows:
            return
        assert self._writer is not None
        with self._writer.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(TYPES[table])
            for row in rows:
                copy.write_row(row)

    def _write(self, statement: str, values: Sequence[Any]) -> Any:
        assert self._writer is not None
        return self._writer.execute(_placeholders(statement), values)

    def forget_answers(self, before: int) -> bool:
        """Drop some answers older than a moment; returns whether there may be more."""
        self.recover()
        try:
            return len(self._write(FORGET, (before, FORGET_BATCH)).fetchall()) == FORGET_BATCH
        except psycopg.Error as error:
            self._give_up()
            raise self._error("written", error) from None

    def _error(self, what: str, error: psycopg.Error) -> JournalError:
        """The error, with a message for the log and a reason that may be published."""
        reason = REASONS.get(error.sqlstate or "", JournalError.reason if error.sqlstate else NO_ANSWER)
        return JournalError(f"{self.path} could not be {what}: {short(error)}", reason)

    def _give_up(self) -> None:
        """Close the session: a commit that failed may have happened, so the store is read again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(psycopg.Error):
                writer.close()

    def recover(self) -> Session:
        """The session that writes; a new one, if the last was closed, which is then over, whatever it did."""
        if self._writer is None:
            try:
                self._writer = self._connect_writer()
            except psycopg.Error as error:
                raise self._error("opened", error) from None
        return self._writer

    # ---- reading ----

    def _query(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """Run a query in a free session; where the server has ended it meanwhile, once more in a new one."""
        try:
            while True:
                with self._idling:
                    if self._closed:
                        raise JournalError(f"{self.path} is closed", "the store is closed")
                    session = self._idle.pop() if self._idle else None
                used = session is not None
                session = session or self._address.connect("reader")
                try:
                    rows: list[Any] = session.execute(_placeholders(statement), values).fetchall()
                except psycopg.Error:
                    lost = session.broken
                    session.close()
                    if not (used and lost):
                        raise
                except BaseException:
                    session.close()
                    raise
                else:
                    self._put_back(session)
                    return rows
        except psycopg.Error as error:
            raise self._error("read", error) from None

    def _put_back(self, session: Session) -> None:
        with self._idling:
            if not self._closed:
                self._idle.append(session)
                return
        session.close()

    def size(self) -> int:
        """Bytes of all tables and indexes."""
        return int(self._query(SIZE, (["events", "answers", "snapshots"],))[0][0])

    def free_bytes(self) -> int | None:
        """The server knows it, and does not tell."""
        return None

    def backup(self, path: str) -> None:
        """PostgreSQL has its own: `pg_dump --schema=...`."""
        raise ParameterError(f"a store in PostgreSQL is copied with pg_dump --schema={self.schema}")

    # ---- opening and closing ----

    def _connect_writer(self) -> Session:
        writer = self._address.connect("writer", synchronous_commit=SYNCHRONOUS[self.durability])
        try:
            first = self._writer_id is None
            self._writer_id = take_lock(writer, self.schema, self._writer_id)
            if first:
                reader = self._address.connect("reader")
                self._put_back(reader)
                reject_transaction_pooling(self._writer_id, reader)
            self._make_tables(writer)
        except BaseException:
            writer.close()
            raise
        return writer

    def _make_tables(self, writer: Session) -> None:
        """Create missing tables; none, if they exist, so that a role that may not create tables can use them."""
        with writer.transaction():
            tables = [name for (name,) in writer.execute(TABLES, (self.schema,))]
            if "format" in tables:
                (version,) = writer.execute("SELECT version FROM format").fetchone() or (0,)
                if version != FORMAT:
                    raise ParameterError(f"{self.path} has format {version}; this version of driftwise reads {FORMAT}")
                return
            if tables:
                raise ParameterError(f"{self.path} belongs to another program: it has {tables[0]}")
            if not writer.execute("SELECT FROM pg_namespace WHERE nspname = %s", (self.schema,)).rowcount:
                writer.execute(f'CREATE SCHEMA "{self.schema}"')
            for statement in filter(str.strip, SCHEMA.split(";")):
                writer.execute(statement)
            writer.execute("INSERT INTO format VALUES (%s)", (FORMAT,))

    def close(self) -> None:
        """Close all sessions."""
        with self._idling:
            self._closed = True
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()
        if self._writer is not None:
            with suppress(psycopg.Error):
                self._writer.execute("SELECT pg_advisory_unlock_all()")  # now, not when the server notices
        self._give_up()


def _placeholders(statement: str) -> str:
    """A statement with the placeholders of psycopg."""
    return statement.replace("?", "%s")
