"""A journal in PostgreSQL: the same streams, answers and snapshots, in a schema of its own.

    postgresql://user@host/database?schema=shop        tables in the schema `shop`; `driftwise` if not given
    ...&prepared=0                                     no prepared statements, for a pooler between us and the server

One process writes to a schema: it holds an advisory lock, and the unique numbers of events would stop a second one
even without it. More processes share a server by having a schema each. A batch is one statement per table, whatever
its size.
"""

import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg

from driftwise.errors import ParameterError
from driftwise.serve.journal import Answer, Event, InUseError, JournalError, Snapshot, kept_snapshots

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    stream bigint NOT NULL, number bigint NOT NULL, at bigint NOT NULL, kind text NOT NULL, body bytea NOT NULL,
    ref bigint NOT NULL, PRIMARY KEY (stream, number)
);
CREATE UNIQUE INDEX IF NOT EXISTS by_decision ON events (stream, ref) WHERE ref >= 0;
CREATE TABLE IF NOT EXISTS answers (
    key text PRIMARY KEY, print bytea NOT NULL, at bigint NOT NULL, status integer NOT NULL, body bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS by_age ON answers (at);
CREATE TABLE IF NOT EXISTS snapshots (
    stream bigint NOT NULL, number bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (stream, number)
);
CREATE TABLE IF NOT EXISTS format (version integer NOT NULL);
"""
FORMAT = 1
ADD_EVENTS = """
INSERT INTO events (stream, number, at, kind, body, ref)
SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bytea[], %s::bigint[])
"""
ADD_ANSWERS = """
INSERT INTO answers (key, print, at, status, body)
SELECT * FROM unnest(%s::text[], %s::bytea[], %s::bigint[], %s::integer[], %s::bytea[])
"""
ADD_SNAPSHOT = """
INSERT INTO snapshots (stream, number, body) VALUES (%s, %s, %s)
ON CONFLICT (stream, number) DO UPDATE SET body = excluded.body
"""
COLUMNS = "stream, number, at, kind, body, ref"
SYNCHRONOUS = {"full": "on", "normal": "off", "none": "off"}
PAGE = 1000
TIMEOUT_S = 10


class PostgresJournal:
    """See `journal.Journal`."""

    quick = False

    def __init__(self, url: str, durability: str = "full") -> None:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        self.schema = options.pop("schema", "driftwise")
        if not (self.schema.isidentifier() and self.schema.isascii() and len(self.schema) <= 50):
            raise ParameterError(f"schema={self.schema!r} is not a name of letters, digits and _")
        self._threshold = None if options.pop("prepared", "1") == "0" else 5
        self._url = urlunsplit(parts._replace(query=urlencode(options)))
        self.path = f"postgresql schema {self.schema}"  # without the password that a URL may hold
        self.durability = durability
        self._readers = threading.local()
        self._open: list[Any] = []
        self._writer: Any = self._connect_writer()

    # ---- writing ----

    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write all of it in one transaction."""
        self.recover()
        try:
            with self._writer.transaction():
                write = self._writer.execute
                if events:
                    write(ADD_EVENTS, [list(column) for column in zip(*events, strict=True)])
                if answers:
                    write(ADD_ANSWERS, [list(column) for column in zip(*answers, strict=True)])
                for snapshot in snapshots:
                    self._keep(snapshot)
        except psycopg.Error as error:
            self._give_up()
            raise JournalError(f"{self.path} could not be written: {_short(error)}") from None

    def _keep(self, snapshot: Snapshot) -> None:
        write = self._writer.execute
        write(ADD_SNAPSHOT, snapshot)
        numbers = [n for (n,) in write("SELECT number FROM snapshots WHERE stream = %s", (snapshot.stream,))]
        gone = list(set(numbers) - kept_snapshots(numbers))
        if gone:
            write("DELETE FROM snapshots WHERE stream = %s AND number = ANY(%s)", (snapshot.stream, gone))

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, and of older ones a few."""
        self.append(snapshots=[snapshot])

    def forget_answers(self, before: int) -> None:
        """Drop answers given before a moment."""
        self.recover()
        try:
            self._writer.execute("DELETE FROM answers WHERE at < %s", (before,))
        except psycopg.Error as error:
            self._give_up()
            raise JournalError(f"{self.path} could not be written: {_short(error)}") from None

    def _give_up(self) -> None:
        """A commit that failed may have happened: the connection goes, and what is there will be read anew."""
        writer, self._writer = self._writer, None
        with suppress(psycopg.Error):
            writer.close()

    def recover(self) -> None:
        """Connect again for writing, if the last connection was given up."""
        if self._writer is None:
            self._writer = self._connect_writer()

    # ---- reading ----

    def read(self, stream: int, after: int = -1, upto: int | None = None) -> Iterator[Event]:
        """The events of a stream after number `after`, up to and including `upto`."""
        last = 2**62 if upto is None else upto
        question = (
            f"SELECT {COLUMNS} FROM events WHERE stream = %s AND number > %s AND number <= %s ORDER BY number LIMIT %s"
        )
        while True:
            page = self._ask(question, (stream, after, last, PAGE))
            yield from (Event(*row) for row in page)
            if len(page) < PAGE:
                return
            after = page[-1][1]

    def outcome(self, stream: int, ref: int) -> Event | None:
        """What came of a decision."""
        found = self._ask(f"SELECT {COLUMNS} FROM events WHERE stream = %s AND ref = %s AND ref >= 0", (stream, ref))
        return Event(*found[0]) if found else None

    def answer(self, key: str) -> Answer | None:
        """What was answered."""
        found = self._ask("SELECT key, print, at, status, body FROM answers WHERE key = %s", (key,))
        return Answer(*found[0]) if found else None

    def latest(self, stream: int, upto: int | None = None) -> Snapshot | None:
        """The newest snapshot not beyond event `upto`."""
        question = (
            "SELECT stream, number, body FROM snapshots WHERE stream = %s AND number <= %s ORDER BY number DESC LIMIT 1"
        )
        found = self._ask(question, (stream, 2**62 if upto is None else upto))
        return Snapshot(*found[0]) if found else None

    def size(self) -> int:
        """Bytes of all tables and indexes."""
        names = ("events", "answers", "snapshots")
        return sum(int(self._ask("SELECT pg_total_relation_size(%s::regclass)", (name,))[0][0]) for name in names)

    def _ask(self, question: Any, values: tuple[Any, ...]) -> list[Any]:
        reader = getattr(self._readers, "connection", None)
        try:
            if reader is None or reader.closed:
                reader = self._readers.connection = self._connect()
                self._open.append(reader)
            found: list[Any] = reader.execute(question, values).fetchall()
            return found
        except psycopg.Error as error:
            if reader is not None:
                reader.close()
            raise JournalError(f"{self.path} could not be read: {_short(error)}") from None

    def backup(self, path: str) -> None:
        """PostgreSQL has its own: `pg_dump --schema=...`."""
        raise ParameterError(f"a store in PostgreSQL is copied with pg_dump --schema={self.schema}")

    # ---- opening and closing ----

    def _connect(self) -> Any:
        connection: Any = psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=self._threshold,
            connect_timeout=TIMEOUT_S,
            options=f"-c search_path={self.schema} -c statement_timeout={TIMEOUT_S}s",
        )
        return connection

    def _connect_writer(self) -> Any:
        try:
            writer = self._connect()
            number = zlib.crc32(self.schema.encode())
            locked = writer.execute("SELECT pg_try_advisory_lock(%s, %s)", (0x6477, number - 2**31)).fetchone()
            if locked is None or not locked[0]:
                writer.close()
                raise InUseError(f"{self.path} is in use by another process: only one can write to a store")
            writer.execute(f"SET synchronous_commit = {SYNCHRONOUS[self.durability]}")
            with writer.transaction():
                writer.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
                for statement in filter(str.strip, SCHEMA.split(";")):
                    writer.execute(statement)
                found = writer.execute("SELECT version FROM format").fetchone()
                if found is None:
                    writer.execute("INSERT INTO format VALUES (%s)", (FORMAT,))
                elif found[0] != FORMAT:
                    raise ParameterError(f"{self.path} has format {found[0]}; this version of driftwise reads {FORMAT}")
            return writer
        except psycopg.Error as error:
            raise JournalError(f"{self.path} could not be opened: {_short(error)}") from None

    def close(self) -> None:
        """Let go of all connections."""
        for connection in [*self._open, self._writer]:
            if connection is not None:
                connection.close()
        self._open.clear()
        self._writer = None


def _short(error: Exception) -> str:
    """The first line of what PostgreSQL says: later lines repeat values."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
