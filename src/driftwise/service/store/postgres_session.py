"""Sessions with a PostgreSQL server, with timeouts: whatever hangs, a request gets an answer.

Settings of a session limit how long the server works on a statement, and how long it waits for a lock. When the server
itself does not answer (it hangs, or the network is gone), the session stops waiting a little later. The other way
round, the server looks after its clients, so that the lock of one that vanished is free again in half a minute.

The one that writes holds an advisory lock, as long as its session lives: not even `kill -9` leaves it behind. Where
several processes write to a store, they share that lock, and each has one of its own, for the number of a member.
"""

import os
import platform
import zlib
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from driftwise.errors import ParameterError
from driftwise.service.store.journal import InUseError, JournalError

STATEMENT_S = 10
PATIENCE_S = 12  # longer than the server takes to give up
CONNECT_S = 5
LOCK_S = 2  # a process that was killed may need a moment to let go
SESSION_SETTINGS = {
    "statement_timeout": f"{STATEMENT_S}s",
    "lock_timeout": f"{LOCK_S}s",
    "idle_in_transaction_session_timeout": f"{2 * STATEMENT_S}s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
PREPARE_AFTER = 5  # times a statement is run before it is prepared
LOCKS = 0x6477  # the first half of the number of all our locks
HOLDER = """
SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid = %s AND objid = %s AND objsubid = 2 AND granted
"""
SESSION_ID = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"


class Session(psycopg.Connection[Any]):
    """A connection that does not wait for ever, but for `patience` seconds."""

    patience: float = PATIENCE_S

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """Wait for an answer, but not longer than is reasonable; then the session is over."""
        try:
            return super().wait(gen, *args, **({"timeout": self.patience} | options))
        except psycopg.OperationalError:
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            self.close()
            raise psycopg.OperationalError(f"no answer in {self.patience} seconds") from None


class SessionId(NamedTuple):
    """Identity of a session of the server: pids are reused, pid and start time together are not."""

    pid: int
    at: datetime


class Address:
    """Where a store is: `postgresql://user@host/database?schema=shop&prepared=0`. No error repeats a password."""

    def __init__(self, url: str) -> None:
        base, _, query = url.partition("?")
        ours = {"schema": "driftwise", "prepared": "1"}
        theirs = []
        for part in filter(None, query.split("&")):
            name, _, value = part.partition("=")
            if name in ours:
                ours[name] = value
            else:
                theirs.append(part)
        self.schema = ours["schema"]
        if not (self.schema.isidentifier() and self.schema.isascii() and len(self.schema) <= 50):
            raise ParameterError(f"schema={self.schema!r} is not a name of at most 50 letters, digits and _")
        if ours["prepared"] not in ("0", "1"):
            raise ParameterError(f"prepared={ours['prepared']} is neither 0 nor 1")
        self.prepared = ours["prepared"] == "1"
        try:
            self._parts = conninfo_to_dict(f"{base}?{'&'.join(theirs)}" if theirs else base)
        except psycopg.Error:
            raise ParameterError(
                "store=postgresql://... is not a URL that PostgreSQL understands (it is not repeated here, for it may "
                "hold a password): in names and passwords write / as %2F, @ as %40, : as %3A, ? as %3F and % as %25"
            ) from None

    def connect(self, role: str, **settings: str) -> Session:
        """A session, with all settings made by statements: a pooler lets no others through."""
        name = f"driftwise {role}, process {os.getpid()} on {platform.node()}"[:63]
        parts: dict[str, Any] = {"application_name": name, "connect_timeout": CONNECT_S} | self._parts
        threshold = PREPARE_AFTER if self.prepared else None
        session = Session.connect(**parts, autocommit=True, prepare_threshold=threshold)
        try:
            settings = SESSION_SETTINGS | settings | {"search_path": f'"{self.schema}"'}
            calls = ", ".join(["set_config(%s, %s, false)"] * len(settings))
            session.execute(f"SELECT {calls}", [part for setting in settings.items() for part in setting])
        except BaseException:
            session.close()
            raise
        return session


def take_lock(session: Session, schema: str, before: SessionId | None, member: int | None = None) -> SessionId:
    """Take the lock of the writer of a schema; a `member` shares it, and takes its own. `before` is an earlier session
    of ours, which is ended.

    With the lock, an earlier session is over: what it did is done, and what it did not do never will be.
    """
    number = zlib.crc32(schema.encode())
    if before is not None:
        session.execute(END, before)
    try:
        kind = "" if member is None else "_shared"
        session.execute(f"SELECT pg_advisory_lock{kind}(%s, %s)", (LOCKS, number - 2**31))
        if member is not None:
            session.execute("SELECT pg_advisory_lock(%s)", (member,))
    except psycopg.errors.LockNotAvailable:
        holder = session.execute(HOLDER, (LOCKS, (number - 2**31) % 2**32)).fetchone()
        who = holder[0] if holder and holder[0] else "another process"
        raise InUseError(
            f"postgresql schema {schema} is in use by {who}: only one can write to a store; "
            "use another schema, or wait until it has ended"
        ) from None
    return SessionId(*session.execute(SESSION_ID).fetchone())  # type: ignore[misc]


def take_turn(session: Session, schema: str) -> None:
    """Wait, in a transaction, until no other process creates or changes tables of the schema."""
    session.execute("SELECT pg_advisory_xact_lock(%s)", ((LOCKS << 32) + zlib.crc32(schema.encode()),))


def reject_transaction_pooling(writer: SessionId, other: Session) -> None:
    """Refuse a pooler in transaction mode: there an advisory lock excludes nobody."""
    if SessionId(*other.execute(SESSION_ID).fetchone()) == writer:  # type: ignore[misc]
        with suppress(psycopg.Error):
            other.execute("SELECT pg_advisory_unlock_all()")
        raise JournalError(
            "a pooler between us and PostgreSQL lends out sessions between transactions: let it pool sessions "
            "(PgBouncer: pool_mode = session), or connect to the server itself"
        )


def short(error: Exception) -> str:
    """The first line of an error of PostgreSQL: later lines repeat values."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
