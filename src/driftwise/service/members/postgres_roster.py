"""The roster in PostgreSQL: two small tables, and the advisory locks of the sessions that members write with."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import psycopg

from driftwise.service.members.roster import LEASE_S, SLOTS, Member, RosterView
from driftwise.service.store.journal import ExpelledError, JournalError
from driftwise.service.store.postgres import PostgresJournal, runner
from driftwise.service.store.postgres_session import Session, take_turn
from driftwise.service.store.schema import create_roster

T = TypeVar("T")
LEASE = f"clock_timestamp() + interval '{LEASE_S} seconds'"
HAS_TABLES = "SELECT FROM pg_class WHERE relname = 'slots' AND relnamespace = current_schema()::regnamespace"
FILL = "INSERT INTO slots SELECT n, 0 FROM generate_series(0, %s) AS n ON CONFLICT DO NOTHING"
JOIN = f"INSERT INTO members VALUES (%s, %s, %s, %s, {LEASE})"
RENEW = f"UPDATE members SET expires_at = {LEASE}, ready = %s WHERE id = %s"
MEMBERS = "SELECT id, address, secret, ready, expires_at < clock_timestamp() FROM members"
OWNERS = "SELECT array_agg(member ORDER BY slot), (SELECT max(number) FROM events WHERE stream = 0) FROM slots"
EXPIRED = "SELECT FROM members WHERE id = %s AND expires_at < clock_timestamp() FOR UPDATE"
END_WRITER = """
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND classid = %s AND objid = %s
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
MOVE = "UPDATE slots SET member = %s WHERE slot = ANY(%s) AND member = %s RETURNING slot"
REMOVE = "DELETE FROM members WHERE id = %s"


class PostgresRoster:
    """See `roster.Roster`. It has a session of its own, so that a long commit does not delay a renewal."""

    def __init__(self, journal: PostgresJournal) -> None:
        self._journal = journal
        self._session: Session | None = None
        self._lock = threading.Lock()

    def join(self, member: Member) -> None:
        """Add a member; create the tables where they are missing, and fill what a crash has emptied."""

        def work(session: Session) -> None:
            with session.transaction():
                take_turn(session, self._journal.schema)
                if not session.execute(HAS_TABLES).rowcount:
                    self._create_tables(session)
                session.execute(FILL, (SLOTS,))
                for (id,) in session.execute("SELECT id FROM members").fetchall():
                    if session.execute("SELECT pg_try_advisory_xact_lock(%s)", (id,)).fetchone() == (True,):
                        session.execute(REMOVE, (id,))  # it has no session to write with: it has ended
                session.execute(JOIN, (member.id, member.address, member.secret, member.ready))
            self._journal.joined = True

        self._run(work)

    def _create_tables(self, session: Session) -> None:
        try:
            create_roster(runner(session))
        except psycopg.errors.InsufficientPrivilege:
            raise JournalError(
                f"{self._journal.path} has no tables of members, and this role may not create them: their owner runs "
                "`driftwise store upgrade`"
            ) from None

    def renew(self, id: int, *, ready: bool) -> RosterView:
        """Renew a lease, and read the tables."""

        def work(session: Session) -> RosterView:
            if not session.execute(RENEW, (ready, id)).rowcount:
                raise ExpelledError
            members = {row[0]: Member(*row) for row in session.execute(MEMBERS)}
            owners, catalogue = session.execute(OWNERS).fetchone() or ([], None)
            if len(owners or ()) != SLOTS + 1:  # a crash of the server has emptied the tables since
                raise ExpelledError
            return RosterView(members, owners, -1 if catalogue is None else catalogue)

        return self._run(work)

    def expel(self, id: int) -> bool:
        """End the session that a member writes with, wait for its end, and remove the member."""

        def work(session: Session) -> bool:
            with session.transaction():
                if not session.execute(EXPIRED, (id,)).rowcount:
                    return False
                session.execute(END_WRITER, (id >> 32, id % 2**32))
                session.execute("SELECT pg_advisory_xact_lock(%s)", (id,))
                session.execute(REMOVE, (id,))
            return True

        return self._run(work)

    def move(self, slots: Sequence[int], old: int, new: int) -> list[int]:
        """Let slots have another owner."""
        return self._run(lambda session: [slot for (slot,) in session.execute(MOVE, (new, list(slots), old))])

    def leave(self, id: int) -> None:
        """Remove a member."""
        self._run(lambda session: session.execute(REMOVE, (id,)))

    def close(self) -> None:
        """Close the session."""
        with self._lock:
            self._give_up()

    def _run(self, work: Callable[[Session], T]) -> T:
        """Run statements; whatever fails, the session is given up."""
        with self._lock:
            try:
                if self._session is None:
                    self._session = self._journal.connect("member", synchronous_commit="off")
                    self._session.patience = LEASE_S
                return work(self._session)
            except psycopg.Error as error:
                self._give_up()
                raise self._journal.error("used by its members", error) from None
            except ExpelledError:
                raise
            except BaseException:
                self._give_up()
                raise

    def _give_up(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(psycopg.Error):
                session.close()
