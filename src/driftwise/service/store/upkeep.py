"""What keeps a store small and sound.

Replays begin at an origin, events before it go, free pages are given back. Each call does a batch, so that requests
never wait long for it, and returns whether there may be more to do. A batch is a transaction; what an interrupted one
has not done is done by the next.

For `check` and `repair`, rows are read as they are, damaged or not, and damaged events are set aside in the table
`quarantine`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from driftwise.service.store import chain
from driftwise.service.store.journal import Answer, Event, Origin, Snapshot
from driftwise.service.store.schema import EVENT
from driftwise.service.store.sql import EVENTS, HEAD, LINK, NO_LIMIT, PAGE, SNAPSHOTS, SQLJournal, fits

BATCH = 5_000  # rows dropped at a time
TABLES = ("events", "snapshots", "origins", "heads", "quarantine")
SET_ORIGIN = """
INSERT INTO origins (stream, number, first, before, link, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET number = excluded.number, first = excluded.first, before = excluded.before,
link = excluded.link, body = excluded.body, digest = excluded.digest
"""
DROP_SNAPSHOTS = "DELETE FROM snapshots WHERE stream = ? AND number >= ? AND number <= ?"
ERASE = "UPDATE events SET kind = ?, body = ? WHERE stream = ? AND number = ?"
TRIM = """
DELETE FROM events WHERE stream = ? AND number IN (
    SELECT number FROM events WHERE stream = ? AND number < ? ORDER BY number LIMIT ?
) RETURNING 1
"""
SET_ASIDE = f"""
INSERT INTO quarantine ({EVENT}, link) SELECT {EVENT}, link FROM events WHERE stream = ? AND number >= ? AND number <= ?
"""
REMOVE = "DELETE FROM events WHERE stream = ? AND number >= ? AND number <= ?"
ADD_EVENT = f"INSERT INTO events ({EVENT}, link) VALUES (?, ?, ?, ?, ?, ?, ?)"
ANSWERS = "SELECT key, fingerprint, at, status, body, digest FROM answers"
DROP_HEAD = "DELETE FROM heads WHERE stream = ?"


class SQLUpkeep(SQLJournal):
    """Drops, moves and replaces what a journal stores."""

    def rebase(self, origin: Origin, erased: Sequence[Event] = ()) -> None:
        """Let replays begin at an origin, and replace events of which something was erased."""
        with self._transaction():
            self._rebase(origin, erased)
        self._origins.pop(origin.stream, None)

    def append_origin(self, events: Sequence[Event], answers: Sequence[Answer], origin: Snapshot) -> None:
        """Write events, and where events were dropped let replays begin at a snapshot after them; all or nothing."""
        stream, number, body = origin
        with self._transaction():
            self._add(events, answers, [origin])
            if (before := self._read_origin(stream, self._write)) is not None:
                ((link,),) = self._write(LINK, (stream, number))
                self._rebase(Origin(stream, number, before.first, before.before, link, body))
        self._origins.pop(stream, None)

    def _rebase(self, origin: Origin, erased: Sequence[Event] = ()) -> None:
        self._write(SET_ORIGIN, (*origin, chain.origin_digest(origin)))
        self._write(DROP_SNAPSHOTS, (origin.stream, 0, origin.number))
        self._erase(erased)
        self._origins.pop(origin.stream, None)
        self._set_head(origin.stream)

    def erase(self, stream: int, erased: Sequence[Event]) -> None:
        """Replace events of which something was erased; snapshots may have it, so all are dropped."""
        with self._transaction():
            self._erase(erased)
            self._write(DROP_SNAPSHOTS, (stream, 0, NO_LIMIT))

    def _erase(self, erased: Sequence[Event]) -> None:
        for event in erased:
            self._write(ERASE, (event.kind, event.body, event.stream, event.number))

    def trim(self, stream: int) -> bool:
        """Drop events before the first that the origin keeps."""
        self.recover()
        origin = self._origin(stream, self._write)
        if origin is None:
            return False
        with self._transaction():
            return len(self._write(TRIM, (stream, stream, origin.first, BATCH))) == BATCH

    def drop(self, stream: int) -> bool:
        """Drop all that is stored of a stream; events first, so that an interrupted drop is found again."""
        with self._transaction():
            self._tails.pop(stream, None)
            if len(self._write(TRIM, (stream, stream, 2**62, BATCH))) == BATCH:
                return True
            for table in TABLES[1:]:
                self._write(f"DELETE FROM {table} WHERE stream = ?", (stream,))
            self._origins.pop(stream, None)
            return False

    @abstractmethod
    def release(self) -> bool:
        """Give a batch of free pages back."""

    @abstractmethod
    def compact(self) -> None:
        """Give all free pages back."""

    @abstractmethod
    def scrub(self) -> None:
        """Overwrite what was replaced or dropped."""

    # ---- check and repair ----

    @abstractmethod
    def check_file(self) -> list[str]:
        """What the database itself finds wrong with its file, in its own words."""

    @abstractmethod
    def rebuild_indexes(self) -> None:
        """Make all indexes anew from the tables."""

    def rows(self, stream: int, after: int = -1) -> Iterator[tuple[Event, int]]:
        """Events and their links as they are stored, unchecked."""
        while page := self._query(EVENTS, (stream, after, NO_LIMIT, PAGE)):
            yield from ((Event(*row[:-1]), row[-1]) for row in page)
            after = page[-1][1]

    def head(self, stream: int) -> tuple[int, int] | None:
        """The number and link of the last event that is on record; None where the record is missing or damaged."""
        for stream_, number, link, digest in self._query(HEAD, (stream,)):
            if fits(digest, chain.head_digest, stream_, number, link):
                return number, link
        return None

    def snapshot_numbers(self, stream: int) -> list[int]:
        """The numbers of all snapshots of a stream, damaged ones too."""
        return sorted(number for (number,) in self._query(SNAPSHOTS, (stream,)))

    def n_quarantined(self, stream: int) -> int:
        """How many events of a stream are set aside."""
        ((count,),) = self._query("SELECT count(*) FROM quarantine WHERE stream = ?", (stream,))
        return int(count)

    def damaged_answers(self) -> int:
        """How many answers are damaged."""
        return sum(1 for *row, digest in self._query(ANSWERS) if not fits(digest, chain.answer_digest, Answer(*row)))

    def replace(self, stream: int, first: int, last: int, rows: Sequence[tuple[Event, int]]) -> None:
        """Set the events from `first` to `last` aside, and put others with their links in their place."""
        with self._transaction():
            self._write(SET_ASIDE, (stream, first, last))
            self._write(REMOVE, (stream, first, last))
            for event, link in rows:
                self._write(ADD_EVENT, (*event, link))
            self._tails.pop(stream, None)

    def drop_snapshots(self, stream: int, numbers: Sequence[int]) -> None:
        """Drop snapshots that are damaged, or ahead of the events."""
        with self._transaction():
            for number in numbers:
                self._write(DROP_SNAPSHOTS, (stream, number, number))

    def reset_head(self, stream: int) -> None:
        """Note anew where a stream ends."""
        with self._transaction():
            self._write(DROP_HEAD, (stream,))
            self._tails.pop(stream, None)
            self._set_head(stream)
