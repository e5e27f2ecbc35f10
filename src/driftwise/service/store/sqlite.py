"""A journal in one SQLite file.

One connection writes, in WAL mode, and does all checkpoints; readers have connections of their own that cannot write,
so that neither waits for the other. SQLite before 3.51.3 may lose a committed transaction when a checkpoint meets a
write (the WAL-reset bug), so it is refused. A second process is kept out by locks of our own (`store_file`): SQLite's
would keep readers out too.
"""

import functools
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from driftwise.errors import ParameterError
from driftwise.service.store.journal import Answer, DamagedError, Event, JournalError, Snapshot
from driftwise.service.store.sql import FORGET, FORGET_BATCH, SQLJournal
from driftwise.service.store.store_file import StoreFile

OLDEST = 3_051_003
FORMAT = 2
BUSY_MS = 2_000  # how long a commit waits for someone else's lock on the file
SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY, stream INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
    kind TEXT NOT NULL, body BLOB NOT NULL, ref INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS by_stream ON events (stream, number);
CREATE UNIQUE INDEX IF NOT EXISTS by_decision ON events (stream, ref) WHERE ref >= 0;
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, fingerprint BLOB NOT NULL, at INTEGER NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_age ON answers (at);
CREATE TABLE IF NOT EXISTS snapshots (
    stream INTEGER NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (stream, number)
) STRICT;
"""
ADD_EVENT = "INSERT INTO events (stream, number, at, kind, body, ref) VALUES "
ADD_ANSWER = "INSERT INTO answers (key, fingerprint, at, status, body) VALUES "
REASONS = {
    apsw.FullError: "the disk is full",
    apsw.BusyError: "another program has locked the store",
    apsw.ReadOnlyError: "the store is read-only",
    apsw.IOError: "the disk reports an error",
    apsw.CantOpenError: "the file of the store cannot be opened",
}
DAMAGE = (apsw.CorruptError, apsw.NotADBError)
SMALL = 64  # rows in a statement of their own size; there are no more statements than are kept prepared


class Reader(NamedTuple):
    """The connection of a thread, with a lock: it cannot be closed during a query."""

    connection: Any
    lock: threading.Lock


class SQLiteJournal(SQLJournal):
    """See `journal.Journal`. `vfs` names another file system, for tests that cut the power."""

    fast_reads, remote = True, False

    def __init__(self, path: str | Path, durability: str = "full", *, vfs: str | None = None) -> None:
        require_version(apsw.sqlite_lib_version())
        self.vfs, self.durability = vfs, durability
        self._file = None if vfs else StoreFile(Path(path))
        self.path = Path(path) if self._file is None else self._file.path
        self._readers = threading.local()
        self._open: list[Reader] = []
        self._closed = False
        try:
            self._writer: Any = self._connect_writer()
        except BaseException:
            self._release()
            raise

    # ---- writing ----

    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write all of it in one transaction."""
        self.recover()
        try:
            if events and len(events) <= SMALL and not answers and not snapshots:
                self._insert(ADD_EVENT, events)  # one statement is a transaction by itself
                return
            self._writer.execute("BEGIN IMMEDIATE")
            self._insert(ADD_EVENT, events)
            self._insert(ADD_ANSWER, answers)
            for snapshot in snapshots:
                self._keep(snapshot)
            self._writer.execute("COMMIT")
        except apsw.Error as error:
            self._give_up()
            raise self._error("written", error) from None

    def _insert(self, statement: str, rows: Sequence[Any]) -> None:
        """Insert many rows in few statements, of 256, 128 or 64 rows; the rest goes into one more.

        While a statement runs, other threads go on; each time one ends, this thread must wait for its turn. Row by row
        that would take longer than the writing.
        """
        start, many = 0, 4 * SMALL
        while start < len(rows):
            while many > len(rows) - start > SMALL:
                many //= 2
            some = rows[start : start + many]
            self._writer.execute(
                _with_values(statement, len(some), len(some[0])), [value for row in some for value in row]
            )
            start += many

    def _write(self, statement: str, values: Sequence[Any]) -> Any:
        return self._writer.execute(statement, values)

    def forget_answers(self, before: int) -> bool:
        """Drop some answers older than a moment; returns whether there may be more."""
        self.recover()
        try:
            return len(self._write(FORGET, (before, FORGET_BATCH)).fetchall()) == FORGET_BATCH
        except apsw.Error as error:
            self._give_up()
            raise self._error("written", error) from None

    def _error(self, what: str, error: apsw.Error) -> JournalError:
        """The error, with a message for the log and a reason that may be published."""
        message = f"{self.path} could not be {what}: {error}"
        if isinstance(error, DAMAGE):
            return DamagedError(message)
        reason = next((reason for kind, reason in REASONS.items() if isinstance(error, kind)), None)
        return JournalError(message, reason or JournalError.reason)

    def _give_up(self) -> None:
        """Close the connection after a failure: the state on disk is unknown, and the next one recovers the file."""
        writer, self._writer = self._writer, None
        try:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            writer.close()
        except apsw.Error:
            pass  # it is dropped anyway

    def recover(self) -> None:
        """Check the file, and open it again after a failure."""
        if self._file is not None:
            self._file.check_in_place()
        if self._writer is None:
            self._writer = self._connect_writer()

    # ---- reading ----

    def size(self) -> int:
        """Bytes on disk."""
        files = (self.path, Path(f"{self.path}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def free_bytes(self) -> int | None:
        """Bytes free on the disk."""
        return shutil.disk_usage(Path(self.path).absolute().parent).free

    def _query(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            reader: Reader | None = getattr(self._readers, "reader", None)
            if reader is None:
                connection = self._connect(apsw.SQLITE_OPEN_READWRITE)
                connection.execute("PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0")
                reader = self._readers.reader = Reader(connection, threading.Lock())
                self._open.append(reader)
            with reader.lock:
                if self._closed:
                    raise JournalError(f"{self.path} is closed", "the store is closed")
                return list(reader.connection.execute(statement, values))
        except apsw.Error as error:
            raise self._error("read", error) from None

    def backup(self, path: str) -> None:
        """A copy of the store as it is at one moment, while it goes on being written."""
        try:
            source = self._connect(apsw.SQLITE_OPEN_READONLY)
            target = apsw.Connection(path)
            with target.backup("main", source, "main") as copy:
                copy.step(-1)
            target.close()
            source.close()
        except apsw.Error as error:
            raise self._error("copied", error) from None

    # ---- opening and closing ----

    def _connect(self, flags: int) -> Any:
        connection = apsw.Connection(str(self.path), flags=flags, vfs=self.vfs)
        connection.set_busy_timeout(BUSY_MS)
        return connection

    def _connect_writer(self) -> Any:
        try:
            create = apsw.SQLITE_OPEN_CREATE if self.vfs else 0  # else the file is there
            writer: Any = self._connect(apsw.SQLITE_OPEN_READWRITE | create)
            if self.vfs:
                writer.execute("PRAGMA locking_mode = EXCLUSIVE")  # no shared memory in a simulated file system
            writer.execute("PRAGMA journal_mode = WAL")
            writer.execute(f"PRAGMA synchronous = {SYNCHRONOUS[self.durability]}")
            (version,) = next(iter(writer.execute("PRAGMA user_version")))
            if version not in (0, FORMAT):
                raise ParameterError(f"{self.path} has format {version}; this version of driftwise reads {FORMAT}")
            if version == 0:
                foreign = [name for (name,) in writer.execute("SELECT name FROM sqlite_schema")]
                if foreign:
                    raise ParameterError(f"{self.path} is a database of another program: it has {foreign[0]}")
                writer.execute(f"BEGIN IMMEDIATE; {SCHEMA}; PRAGMA user_version = {FORMAT}; COMMIT")
            return writer
        except apsw.Error as error:
            raise self._error("opened", error) from None

    def close(self) -> None:
        """Close the file, after queries in progress; the last connection to close removes the WAL."""
        self._closed = True
        for reader in self._open:
            with reader.lock:
                reader.connection.close()
        self._open.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._release()

    def _release(self) -> None:
        if self._file is not None:
            self._file.release()


@functools.cache
def _with_values(statement: str, rows: int, columns: int) -> str:
    """An INSERT with parameters for so many rows."""
    return statement + ",".join([f"({','.join('?' * columns)})"] * rows)


def require_version(version: str) -> None:
    """Refuse a version of SQLite that may lose a committed transaction."""
    parts = [int(part) for part in version.split(".")]
    if parts[0] * 1_000_000 + parts[1] * 1_000 + parts[2] < OLDEST:
        raise JournalError(
            f"SQLite {version} can lose a committed transaction (the WAL-reset bug): 3.51.3 or newer is needed; "
            "pip install --upgrade apsw"
        )
