"""The common part of journals in SQL databases: tables and queries.

    events      stream, number, at, kind, body, ref    one row per event; the outcome of a decision refers to it
    answers     key, fingerprint, at, status, body           one row per request with an idempotency key
    snapshots   stream, number, body                   a few per stream

Databases differ in how to connect, how to write and how to mark a parameter.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from driftwise.service.store.journal import Answer, DamagedError, Event, Snapshot, snapshots_to_keep

COLUMNS = "stream, number, at, kind, body, ref"
EVENTS = f"SELECT {COLUMNS} FROM events WHERE stream = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?"
OUTCOME = f"SELECT {COLUMNS} FROM events WHERE stream = ? AND ref = ? AND ref >= 0"  # else by_decision is not used
ANSWER = "SELECT key, fingerprint, at, status, body FROM answers WHERE key = ?"
LATEST = "SELECT stream, number, body FROM snapshots WHERE stream = ? AND number <= ? ORDER BY number DESC LIMIT 1"
ADD_SNAPSHOT = """
INSERT INTO snapshots (stream, number, body) VALUES (?, ?, ?)
ON CONFLICT (stream, number) DO UPDATE SET body = excluded.body
"""
SNAPSHOTS = "SELECT number FROM snapshots WHERE stream = ?"
DROP_SNAPSHOT = "DELETE FROM snapshots WHERE stream = ? AND number = ?"
FORGET = "DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE at < ? ORDER BY at LIMIT ?) RETURNING 1"
FORGET_BATCH = 10_000  # at a time, so that requests do not wait long
PAGE = 1000  # events read at a time, so that a long read holds no snapshot of the store for long
NO_LIMIT = 2**62


class SQLJournal(ABC):
    """Reads of a journal; subclasses say how to connect and write."""

    @abstractmethod
    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write all of it in one transaction."""

    @abstractmethod
    def _query(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """All rows of a query, through a connection that does not write."""

    @abstractmethod
    def _write(self, statement: str, values: Sequence[Any]) -> Any:
        """Run a statement on the connection that writes."""

    def _keep(self, snapshot: Snapshot) -> None:
        """Add a snapshot, and drop those not worth keeping."""
        self._write(ADD_SNAPSHOT, snapshot)
        numbers = [number for (number,) in self._write(SNAPSHOTS, (snapshot.stream,))]
        for number in set(numbers) - snapshots_to_keep(numbers):
            self._write(DROP_SNAPSHOT, (snapshot.stream, number))

    def save(self, snapshot: Snapshot) -> None:
        """Store a snapshot, and keep a few older ones."""
        self.append(snapshots=[snapshot])

    def read(self, stream: int, after: int = -1, upto: int | None = None) -> Iterator[Event]:
        """The events of a stream after number `after`, up to and including `upto`."""
        last, size = NO_LIMIT if upto is None else upto, PAGE
        while True:
            try:
                page = self._query(EVENTS, (stream, after, last, size))
            except DamagedError as error:
                if size == 1:
                    raise DamagedError(str(error), after + 1) from None
                size = 1  # to find the damaged event
                continue
            yield from (Event(*row) for row in page)
            if len(page) < size:
                return
            after = page[-1][1]

    def outcome(self, stream: int, ref: int) -> Event | None:
        """The outcome of a decision."""
        rows = self._query(OUTCOME, (stream, ref))
        return Event(*rows[0]) if rows else None

    def answer(self, key: str) -> Answer | None:
        """The answer to the request with this idempotency key."""
        rows = self._query(ANSWER, (key,))
        return Answer(*rows[0]) if rows else None

    def latest(self, stream: int, upto: int | None = None) -> Snapshot | None:
        """The newest snapshot not beyond event `upto`."""
        rows = self._query(LATEST, (stream, NO_LIMIT if upto is None else upto))
        return Snapshot(*rows[0]) if rows else None
