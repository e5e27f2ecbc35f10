"""What journals in SQL databases have in common: the same tables, asked the same questions.

    events      stream, number, at, kind, body, ref    one row per event; the outcome of a decision refers to it
    answers     key, print, at, status, body           one row per keyed request
    snapshots   stream, number, body                   a few per stream

A database has its own way to connect, to write and to mark where a value goes.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from driftwise.service.store.journal import Answer, DamagedError, Event, Snapshot, kept_snapshots

COLUMNS = "stream, number, at, kind, body, ref"
EVENTS = f"SELECT {COLUMNS} FROM events WHERE stream = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?"
OUTCOME = f"SELECT {COLUMNS} FROM events WHERE stream = ? AND ref = ? AND ref >= 0"  # else by_decision is not used
ANSWER = "SELECT key, print, at, status, body FROM answers WHERE key = ?"
LATEST = "SELECT stream, number, body FROM snapshots WHERE stream = ? AND number <= ? ORDER BY number DESC LIMIT 1"
ADD_SNAPSHOT = """
INSERT INTO snapshots (stream, number, body) VALUES (?, ?, ?)
ON CONFLICT (stream, number) DO UPDATE SET body = excluded.body
"""
SNAPSHOTS = "SELECT number FROM snapshots WHERE stream = ?"
DROP_SNAPSHOT = "DELETE FROM snapshots WHERE stream = ? AND number = ?"
FORGET = "DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE at < ? ORDER BY at LIMIT ?) RETURNING 1"
FORGOTTEN = 10_000  # at a time: nobody shall wait long for it
PAGE = 1000  # events read at a time, so that a long read holds no snapshot of the store for long
EVER = 2**62


class SQLJournal(ABC):
    """What can be asked of a journal; how to write, and through which connection, its database says."""

    @abstractmethod
    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write all of it in one transaction."""

    @abstractmethod
    def _ask(self, question: str, values: tuple[Any, ...]) -> list[Any]:
        """All rows that answer a question, through a connection that does not write."""

    @abstractmethod
    def _write(self, statement: str, values: Sequence[Any]) -> Any:
        """Run a statement on the connection that writes."""

    def _keep(self, snapshot: Snapshot) -> None:
        """Add a snapshot, and drop those that are not worth keeping any more."""
        self._write(ADD_SNAPSHOT, snapshot)
        numbers = [number for (number,) in self._write(SNAPSHOTS, (snapshot.stream,))]
        for number in set(numbers) - kept_snapshots(numbers):
            self._write(DROP_SNAPSHOT, (snapshot.stream, number))

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, and of older ones a few."""
        self.append(snapshots=[snapshot])

    def read(self, stream: int, after: int = -1, upto: int | None = None) -> Iterator[Event]:
        """The events of a stream after number `after`, up to and including `upto`."""
        last, size = EVER if upto is None else upto, PAGE
        while True:
            try:
                page = self._ask(EVENTS, (stream, after, last, size))
            except DamagedError as error:
                if size == 1:
                    raise DamagedError(str(error), after + 1) from None
                size = 1  # find out which event it is
                continue
            yield from (Event(*row) for row in page)
            if len(page) < size:
                return
            after = page[-1][1]

    def outcome(self, stream: int, ref: int) -> Event | None:
        """What came of a decision."""
        found = self._ask(OUTCOME, (stream, ref))
        return Event(*found[0]) if found else None

    def answer(self, key: str) -> Answer | None:
        """What was answered."""
        found = self._ask(ANSWER, (key,))
        return Answer(*found[0]) if found else None

    def latest(self, stream: int, upto: int | None = None) -> Snapshot | None:
        """The newest snapshot not beyond event `upto`."""
        found = self._ask(LATEST, (stream, EVER if upto is None else upto))
        return Snapshot(*found[0]) if found else None
