"""A journal in PostgreSQL: the same streams, answers and snapshots, in a schema of its own.

    postgresql://user@host/database?schema=shop        tables in the schema `shop`; `driftwise` by default
    ...&prepared=0                                     no prepared statements, for a pooler between us and the server

One process writes to a schema: it holds an advisory lock, and the unique numbers of events would stop a second one
even without it. With `shared`, several do, each to other streams: they are members (`members.roster`). No row is ever
updated for an event, and a batch is one COPY per table, whatever its size (measured: a third of the time of INSERT ...
unnest, for 500 rows).

A commit that fails may have happened. Its session is given up; the next one ends it for good before it writes, and
only then is the store read again. So nothing is ever repeated on the guess that it failed.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from driftwise.errors import ParameterError
from driftwise.service.store.journal import (
    Answer,
    Event,
    ExpelledError,
    JournalError,
    NoStoreError,
    Snapshot,
    new_member,
)
from driftwise.service.store.postgres_session import (
    PATIENCE_S,
    STATEMENT_S,
    Address,
    Session,
    SessionId,
    reject_transaction_pooling,
    short,
    take_lock,
    take_turn,
)
from driftwise.service.store.schema import (
    EVENT,
    FORMAT,
    POSTGRES,
    MigrationMode,
    Run,
    check_version,
    create_roster,
    create_tables,
    migrate,
)
from driftwise.service.store.sql import is_vital
from driftwise.service.store.upkeep import TABLES as OURS
from driftwise.service.store.upkeep import SQLUpkeep

TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s) ORDER BY 1"
)
TYPES = {
    f"events ({EVENT}, link)": ("int8", "int8", "int8", "text", "bytea", "int8", "int8"),
    "answers (key, fingerprint, at, status, body, digest)": ("text", "bytea", "int8", "int4", "bytea", "int8"),
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
VACUUM_S = 24 * 3600.0  # how long to wait for a vacuum
NO_ANSWER = "the database does not answer"


class PostgresJournal(SQLUpkeep):
    """See `journal.Journal`."""

    fast_reads, remote = False, True

    def __init__(
        self,
        url: str,
        durability: str = "full",
        *,
        migration: MigrationMode | None = None,
        shared: bool = False,
        create: bool = True,
    ) -> None:
        super().__init__()
        self.shared, self.joined = shared, False
        self.member = new_member() if shared else 0
        self._mode, self._create = migration, create
        self._address, self.url = Address(url), url
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
        self._writable()
        if not (answers or snapshots or any(map(is_vital, events))):
            with self._guard():
                self._copy(EVENTS, self._link_rows(events))  # one COPY is a transaction by itself
            return
        with self._transaction():
            self._add(events, answers, snapshots)

    def _add(self, events: Sequence[Event], answers: Sequence[Answer], snapshots: Sequence[Snapshot]) -> None:
        if self.durability != "full" and any(map(is_vital, events)):
            self._write("SET LOCAL synchronous_commit = on")  # the catalogue is always durable
        self._copy(EVENTS, self._link_rows(events))
        self._copy(ANSWERS, self._answer_rows(answers))
        self._keep(events, snapshots)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Whatever fails inside, the session is given up."""
        try:
            yield
        except psycopg.Error as error:
            self._give_up()
            raise self.error("written", error) from None
        except BaseException:
            self._give_up()
            raise

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        writer = self._writable()
        with self._guard(), writer.transaction():
            yield

    def _copy(self, table: str, rows: Sequence[Any]) -> None:
        if not rows:
            return
        assert self._writer is not None
        with self._writer.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(TYPES[table])
            for row in rows:
                copy.write_row(row)

    def _write(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        assert self._writer is not None
        return runner(self._writer)(statement, values)

    def error(self, what: str, error: psycopg.Error) -> JournalError:
        """The error, with a message for the log and a reason that may be published."""
        reason = REASONS.get(error.sqlstate or "", JournalError.reason if error.sqlstate else NO_ANSWER)
        return JournalError(f"{self.path} could not be {what}: {short(error)}", reason)

    def _give_up(self) -> None:
        """Close the session: a commit that failed may have happened, so the store is read again."""
        writer, self._writer = self._writer, None
        self._tails.clear()
        self._origins.clear()
        if writer is not None:
            with suppress(psycopg.Error):
                writer.close()

    def recover(self) -> Session:
        """The session that writes; a new one, if the last was closed, which is then over, whatever it did."""
        if self._writer is None:
            try:
                self._writer = self._connect_writer()
            except psycopg.Error as error:
                raise self.error("opened", error) from None
        return self._writer

    def _writable(self) -> Session:
        """The session that writes; refused to a member that was expelled, or has not joined."""
        writer = self.recover()
        if self.shared and not self.joined:
            raise ExpelledError
        return writer

    def enter(self) -> None:
        """Take another number as a member, and a session under it."""
        self._give_up()
        self.member, self.joined = new_member(), False
        self.recover()

    # ---- reading ----

    def _query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
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
            raise self.error("read", error) from None

    def _put_back(self, session: Session) -> None:
        with self._idling:
            if not self._closed:
                self._idle.append(session)
                return
        session.close()

    def size(self) -> int:
        """Bytes of all tables and indexes."""
        return int(self._query(SIZE, (["answers", *OURS],))[0][0])

    def free_bytes(self) -> int | None:
        """The server knows it, and does not tell."""
        return None

    def backup(self, path: str) -> None:
        """PostgreSQL has its own: `pg_dump --schema=...`."""
        raise ParameterError(f"a store in PostgreSQL is copied with pg_dump --schema={self.schema}")

    # ---- opening and closing ----

    def connect(self, role: str, **settings: str) -> Session:
        """A session of its own, for another use than events."""
        return self._address.connect(role, **settings)

    def _connect_writer(self) -> Session:
        writer = self._address.connect("writer", synchronous_commit=SYNCHRONOUS[self.durability])
        try:
            first = self._writer_id is None
            self._writer_id = take_lock(writer, self.schema, self._writer_id, self.member if self.shared else None)
            if self.joined:
                self.joined = bool(writer.execute("SELECT FROM members WHERE id = %s", (self.member,)).rowcount)
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
            take_turn(writer, self.schema)
            tables = [name for (name,) in writer.execute(TABLES, (self.schema,))]
            if "format" in tables:
                (version,) = writer.execute("SELECT version FROM format").fetchone() or (0,)
                self._check_version(writer, version)
                if self._mode == "commit" and "slots" not in tables:
                    create_roster(runner(writer))
                return
            if tables:
                raise ParameterError(f"{self.path} belongs to another program: it has {tables[0]}")
            if not self._create:
                raise NoStoreError(f"there is no store in {self.path}")
            if not writer.execute("SELECT FROM pg_namespace WHERE nspname = %s", (self.schema,)).rowcount:
                writer.execute(f'CREATE SCHEMA "{self.schema}"')
            create_tables(runner(writer), POSTGRES)
            create_roster(runner(writer))
            writer.execute("CREATE TABLE format (version integer NOT NULL)")
            writer.execute("INSERT INTO format VALUES (%s)", (FORMAT,))

    def _check_version(self, writer: Session, version: int) -> None:
        """Refuse another version, unless this is opened to migrate it."""
        if self._mode is None or version >= FORMAT:
            check_version(self.path, version)
            return
        writer.execute("SET LOCAL statement_timeout = 0")
        with writer.transaction(force_rollback=self._mode == "rehearse"):
            self.migration = migrate(runner(writer), POSTGRES, version)
            writer.execute("UPDATE format SET version = %s", (FORMAT,))

    def check_file(self) -> list[str]:
        """The server checks its files itself (`pg_amcheck`, data checksums)."""
        return []

    def rebuild_indexes(self) -> None:
        """The server has commands for that."""

    def release(self) -> bool:
        """The server does that by itself (autovacuum)."""
        return False

    def scrub(self) -> None:
        """Remove what was replaced from the tables; the server may still have it in its log (WAL) and backups."""
        self._vacuum("VACUUM", ("events", "snapshots", "origins"))

    def compact(self) -> None:
        """Write all tables anew, without free room."""
        self._vacuum("VACUUM (FULL, ANALYZE)", ("answers", *OURS))

    def _vacuum(self, command: str, tables: Sequence[str]) -> None:
        """Run a command that takes long on some tables. The session is kept: the lock of the writer goes with it."""
        writer = self.recover()
        with self._guard():
            writer.execute("SET statement_timeout = 0")
            writer.patience = VACUUM_S
            for table in tables:
                writer.execute(f"{command} {table}")
            writer.patience = PATIENCE_S
            writer.execute(f"SET statement_timeout = '{STATEMENT_S}s'")

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


def runner(session: Session) -> Run:
    """Statements with `?` for values, in a session."""

    def run(statement: str, values: Sequence[Any] = ()) -> list[Any]:
        cursor = session.execute(_placeholders(statement), values)
        return cursor.fetchall() if cursor.description is not None else []

    return run
