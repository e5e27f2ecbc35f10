"""A journal in one SQLite file.

One connection writes, in WAL mode, and does all checkpoints; readers have connections of their own that cannot write,
so that neither waits for the other. SQLite before 3.51.3 may lose a committed transaction when a checkpoint meets a
write (the WAL-reset bug), so it is refused. A second process is kept out by locks of our own (`store_file`): SQLite's
would keep readers out too.
"""

import functools
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from driftwise.errors import ParameterError
from driftwise.service.store.journal import Answer, DamagedError, Event, JournalError, Snapshot
from driftwise.service.store.schema import (
    EVENT,
    FORMAT,
    SQLITE,
    MigrationMode,
    Run,
    check_version,
    create_tables,
    migrate,
)
from driftwise.service.store.sql import is_vital
from driftwise.service.store.store_file import StoreFile, check_there
from driftwise.service.store.upkeep import SQLUpkeep

OLDEST = 3_051_003
BUSY_MS = 2_000  # how long a commit waits for someone else's lock on the file
SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}

ADD_EVENT = f"INSERT INTO events ({EVENT}, link) VALUES "
ADD_ANSWER = "INSERT INTO answers (key, fingerprint, at, status, body, digest) VALUES "
FREE_BATCH = 500  # pages given back to the disk at a time
WAL_BYTES = 2**24  # a WAL that has grown larger, as behind a long read, is cut to this; usual ones are a third of it
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


class SQLiteJournal(SQLUpkeep):
    """See `journal.Journal`. `vfs` names another file system, for tests that cut the power."""

    fast_reads, remote = True, False

    def __init__(
        self,
        path: str | Path,
        durability: str = "full",
        *,
        vfs: str | None = None,
        migration: MigrationMode | None = None,
        create: bool = True,
    ) -> None:
        require_version(apsw.sqlite_lib_version())
        if not create:
            check_there(Path(path))
        super().__init__()
        self.vfs, self.durability, self._mode = vfs, durability, migration
        self._file = None if vfs else StoreFile(Path(path))
        self.path: Path = Path(path) if self._file is None else self._file.path
        self.url = None if vfs else f"sqlite:///{self.path}"
        self._readers = threading.local()
        self._open: list[Reader] = []
        self._closed = False
        try:
            self._writer: Any = self._connect_writer()
        except BaseException:
            if self._file is not None:
                self._file.discard()
            raise

    # ---- writing ----

    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write all of it in one transaction."""
        self.recover()
        if events and len(events) <= SMALL and not (answers or snapshots or any(map(is_vital, events))):
            with self._guard():
                self._insert(ADD_EVENT, self._link_rows(events))  # one statement is a transaction by itself
            return
        with self._transaction():
            self._add(events, answers, snapshots)

    def _add(self, events: Sequence[Event], answers: Sequence[Answer], snapshots: Sequence[Snapshot]) -> None:
        self._insert(ADD_EVENT, self._link_rows(events))
        self._insert(ADD_ANSWER, self._answer_rows(answers))
        self._keep(events, snapshots)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Whatever fails inside, the state on disk is unknown after it."""
        try:
            yield
        except apsw.Error as error:
            self._give_up()
            raise self._error("written", error) from None
        except UnicodeDecodeError as error:
            self._give_up()
            raise DamagedError(f"{self.path} could not be read: {error}") from None
        except BaseException:
            self._give_up()
            raise

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.recover()
        with self._guard():
            self._writer.execute("BEGIN IMMEDIATE")
            yield
            self._writer.execute("COMMIT")

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

    def _write(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return _runner(self._writer)(statement, values)

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
        self._tails.clear()
        self._origins.clear()
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

    def _query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
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
        except UnicodeDecodeError as error:
            raise DamagedError(f"{self.path} could not be read: {error}") from None

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
        writer: Any = None
        try:
            create = apsw.SQLITE_OPEN_CREATE if self.vfs else 0  # else the file is there
            writer = self._connect(apsw.SQLITE_OPEN_READWRITE | create)
            self._prepare(writer)
        except BaseException as error:
            if writer is not None:
                with suppress(apsw.Error):
                    writer.close()
            if isinstance(error, apsw.Error):
                raise self._error("opened", error) from None
            raise
        return writer

    def _prepare(self, writer: Any) -> None:
        """The settings of the connection that writes, and the tables of a new file."""
        if self.vfs:
            writer.execute("PRAGMA locking_mode = EXCLUSIVE")  # no shared memory in a simulated file system
        writer.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file; else only until VACUUM
        writer.execute("PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON").fetchall()
        writer.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}").fetchall()
        writer.execute(f"PRAGMA synchronous = {SYNCHRONOUS[self.durability]}")
        (version,) = next(iter(writer.execute("PRAGMA user_version")))
        if version:
            self._check_version(writer, version)
            return
        foreign = [name for (name,) in writer.execute("SELECT name FROM sqlite_schema")]
        if foreign:
            raise ParameterError(f"{self.path} is a database of another program: it has {foreign[0]}")
        writer.execute("BEGIN IMMEDIATE")
        create_tables(_runner(writer), SQLITE)
        writer.execute(f"PRAGMA user_version = {FORMAT}; COMMIT")

    def _check_version(self, writer: Any, version: int) -> None:
        """Refuse another version, unless this is opened to migrate it."""
        if self._mode is None or version >= FORMAT:
            check_version(self.path, version)
            return
        writer.execute("BEGIN IMMEDIATE")
        self.migration = migrate(_runner(writer), SQLITE, version)
        writer.execute(f"PRAGMA user_version = {FORMAT}")
        writer.execute("ROLLBACK" if self._mode == "rehearse" else "COMMIT")

    def check_file(self) -> list[str]:
        """What SQLite finds wrong with its file."""
        found = [line for (line,) in self._query("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else found

    def rebuild_indexes(self) -> None:
        """Make all indexes anew."""
        with self._transaction():
            self._write("REINDEX")

    def release(self) -> bool:
        """Give some free pages back to the disk."""
        self.recover()
        with self._guard():
            self._writer.execute(f"PRAGMA incremental_vacuum({FREE_BATCH})").fetchall()
            ((free,),) = self._write("PRAGMA freelist_count")
            ((mode,),) = self._write("PRAGMA auto_vacuum")
        return bool(free) and mode == 2

    def scrub(self) -> None:
        """Empty the WAL: what is deleted is overwritten in the file itself (`secure_delete`)."""
        self.recover()
        with self._guard():
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def compact(self) -> None:
        """Write the whole file anew, without free pages."""
        self.recover()
        with self._guard():
            self._writer.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

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


def _runner(writer: Any) -> Run:
    return lambda statement, values=(): writer.execute(statement, values).fetchall()


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
