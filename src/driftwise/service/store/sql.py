"""The common part of journals in SQL databases: what is written is hashed, what is read is checked.

`schema` has the tables, `upkeep` what is dropped and moved. Databases differ in how to connect, how to write and how to
mark a parameter.
"""

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec

from driftwise.service.store import chain
from driftwise.service.store.events import next_number
from driftwise.service.store.journal import (
    CATALOGUE,
    Answer,
    DamagedError,
    Event,
    JournalError,
    Origin,
    Snapshot,
    snapshots_to_keep,
)
from driftwise.service.store.schema import EVENT, Migration, Run

EVENTS = f"SELECT {EVENT}, link FROM events WHERE stream = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?"
OF_KIND = (
    f"SELECT {EVENT}, link FROM events WHERE stream = ? AND kind = ? AND number > ? AND number <= ? "
    "ORDER BY number LIMIT ?"
)
OUTCOME = f"SELECT {EVENT}, link FROM events WHERE stream = ? AND ref = ? AND ref >= 0"  # else by_decision is not used
LAST = f"SELECT {EVENT}, link FROM events WHERE stream = ? AND number <= ? ORDER BY number DESC LIMIT 1"
LINK = "SELECT link FROM events WHERE stream = ? AND number = ?"
ANSWER = "SELECT key, fingerprint, at, status, body, digest FROM answers WHERE key = ?"
LATEST = """
SELECT snapshots.stream, snapshots.number, snapshots.body, snapshots.digest,
coalesce(origins.link, events.link, heads.link) FROM snapshots
LEFT JOIN events ON events.stream = snapshots.stream AND events.number = snapshots.number
LEFT JOIN origins ON origins.stream = snapshots.stream AND origins.number = snapshots.number
LEFT JOIN heads ON heads.stream = snapshots.stream AND heads.number = snapshots.number
WHERE snapshots.stream = ? AND snapshots.number <= ? ORDER BY snapshots.number DESC LIMIT 1
"""
ADD_SNAPSHOT = """
INSERT INTO snapshots (stream, number, body, digest) VALUES (?, ?, ?, ?)
ON CONFLICT (stream, number) DO UPDATE SET body = excluded.body, digest = excluded.digest
"""
SNAPSHOTS = "SELECT number FROM snapshots WHERE stream = ?"
DROP_SNAPSHOT = "DELETE FROM snapshots WHERE stream = ? AND number = ?"
ORIGIN = "SELECT stream, number, first, before, link, body, digest FROM origins WHERE stream = ?"
HEAD = "SELECT stream, number, link, digest FROM heads WHERE stream = ?"
SET_HEAD = """
INSERT INTO heads (stream, number, link, digest) VALUES (?, ?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET number = excluded.number, link = excluded.link, digest = excluded.digest
"""
FORGET = "DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE at < ? ORDER BY at LIMIT ?) RETURNING 1"
FORGET_BATCH = 10_000  # at a time, so that requests do not wait long
PAGE = 1000  # events read at a time, so that a long read holds no snapshot of the store for long
NO_LIMIT = 2**62
P = ParamSpec("P")
DROPPED = "events were dropped while they were read; repeat the request"


class Tail(NamedTuple):
    """The end of a stream: the number of the next event, and the link of the last."""

    next: int
    link: int


class SQLJournal(ABC):
    """Reads and hashes of a journal; subclasses say how to connect and write."""

    path: str | Path
    url: str | None
    fast_reads: bool
    remote: bool

    def __init__(self) -> None:
        self._tails: dict[int, Tail] = {}  # the end of each stream that was written to
        self._origins: dict[int, Origin | None] = {}  # those that were read, without their bodies
        self.migration: Migration | None = None  # what was done when it was opened

    @abstractmethod
    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write all of it in one transaction."""

    @abstractmethod
    def _add(self, events: Sequence[Event], answers: Sequence[Answer], snapshots: Sequence[Snapshot]) -> None:
        """Write all of it in the transaction that is open."""

    @abstractmethod
    def _query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query, through a connection that does not write."""

    @abstractmethod
    def _write(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement on the connection that writes, and return all rows."""

    @abstractmethod
    def recover(self) -> object:
        """Make the store usable after a failure."""

    @abstractmethod
    def backup(self, path: str) -> None:
        """Write a copy of the store to a file."""

    @abstractmethod
    def size(self) -> int:
        """Bytes that the store occupies."""

    @abstractmethod
    def free_bytes(self) -> int | None:
        """Bytes free on the disk of the store; None where that is another machine's."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[object]:
        """A transaction on the connection that writes; an error rolls it back, and is one of the journal."""

    # ---- writing ----

    def _link_rows(self, events: Sequence[Event]) -> list[tuple[Any, ...]]:
        """Events as rows, each with its link. Numbers must follow those that are there."""
        rows: list[tuple[Any, ...]] = []
        tails = self._tails
        for event in events:
            tail = tails.get(event.stream) or self._find_tail(event.stream)
            if event.number != tail.next:
                raise JournalError(f"{self.path}: event {event.number} cannot be written: {tail.next} comes next")
            link = chain.link(tail.link, event)
            tails[event.stream] = Tail(next_number(event), link)
            rows.append((*event, link))
        return rows

    def forget(self, stream: int) -> None:
        """Forget where a stream ends and begins: another process may have written to it."""
        self._tails.pop(stream, None)
        self._origins.pop(stream, None)

    def _find_tail(self, stream: int) -> Tail:
        """The end of a stream, as the connection sees it that writes."""
        last, link = self._start(stream, NO_LIMIT, self._read_origin(stream, self._write), self._write)
        return Tail(last + 1, chain.START if link is None else link)

    def _answer_rows(self, answers: Sequence[Answer]) -> list[tuple[Any, ...]]:
        return [(*answer, chain.answer_digest(answer)) for answer in answers]

    def _keep(self, events: Sequence[Event], snapshots: Sequence[Snapshot]) -> None:
        """Add snapshots, and drop those not worth keeping; note where their streams end now, and the catalogue."""
        for snapshot in snapshots:
            origin, rows = self._origin(snapshot.stream, self._write), self._write(LINK, snapshot[:2])
            last = rows[0][0] if rows else chain.START
            if origin is not None and origin.number == snapshot.number:
                last = origin.link
            self._write(ADD_SNAPSHOT, (*snapshot, chain.snapshot_digest(snapshot, last)))
            numbers = [number for (number,) in self._write(SNAPSHOTS, (snapshot.stream,))]
            for number in set(numbers) - snapshots_to_keep(numbers):
                self._write(DROP_SNAPSHOT, (snapshot.stream, number))
        for stream in {each.stream for each in snapshots} | {each.stream for each in events if is_vital(each)}:
            self._set_head(stream)

    def _set_head(self, stream: int) -> None:
        tail = self._tails.get(stream) or self._find_tail(stream)
        if tail.next:
            number = tail.next - 1
            self._write(SET_HEAD, (stream, number, tail.link, chain.head_digest(stream, number, tail.link)))

    def save(self, snapshot: Snapshot) -> None:
        """Store a snapshot, and keep a few older ones."""
        self.append(snapshots=[snapshot])

    def forget_answers(self, before: int) -> bool:
        """Drop some answers older than a moment; returns whether there may be more."""
        with self._transaction():
            return len(self._write(FORGET, (before, FORGET_BATCH))) == FORGET_BATCH

    # ---- reading ----

    def read(self, stream: int, after: int = -1, upto: int | None = None) -> Iterator[Event]:
        """The events of a stream after number `after`, up to and including `upto`; the chain is checked.

        Where the stream ends is asked before anything is read: what is written meanwhile may or may not be seen.
        """
        origin, last, size = self._origin(stream), NO_LIMIT if upto is None else upto, PAGE
        head = self._query(HEAD, (stream,))
        after, link = self._start(stream, after, origin)
        while True:
            try:
                page = self._query(EVENTS, (stream, after, last, size))
            except DamagedError as error:
                if size == 1:
                    raise DamagedError(str(error), after + 1) from None
                size = 1  # to find the damaged event
                continue
            for row in page:
                event = Event(*row[:-1])
                link = self._checked(stream, event, row[-1], after + 1, link)
                after = _next_number(event) - 1
                if origin is not None and after == origin.number:
                    link = origin.link
                yield event
            if len(page) < size:
                break
        self._check_end(stream, head, after + 1, last)

    def read_kind(self, stream: int, kind: str, after: int = -1, upto: int | None = None) -> Iterator[Event]:
        """The events of one kind among those that `read` gives."""
        last, (after, _) = NO_LIMIT if upto is None else upto, self._start(stream, after, self._origin(stream))
        while page := self._query(OF_KIND, (stream, kind, after, last, PAGE)):
            for row in page:
                yield self._checked_alone(stream, row)
            after = page[-1][1]

    def _start(self, stream: int, after: int, origin: Origin | None, run: Run | None = None) -> tuple[int, int | None]:
        """After which event a read begins, and the link of that; None where that event is gone.

        After a gap it begins behind the gap; after more events than there are, behind the last.
        """
        if origin is not None and after < origin.first:
            return origin.first - 1, origin.before
        if after < 0:
            return -1, chain.START
        last, link = -1, chain.START
        for row in (run or self._query)(LAST, (stream, after)):
            last, link = _next_number(Event(*row[:-1])) - 1, row[-1]
        if origin is not None and last <= origin.number and origin.number in (last, min(after, origin.number)):
            last, link = origin.number, origin.link
        return (last, link) if last >= after or after == NO_LIMIT else (after, None)

    def _checked(self, stream: int, event: Event, link: int, expected: int, before: int | None) -> int:
        """The link of an event that follows those read before; an error where it does not."""
        lost = expected if event.number != expected else expected - 1
        if event.number != expected or before is None:
            self._origins.pop(stream, None)
            origin = self._origin(stream)
            if origin is not None and origin.first > lost:
                raise JournalError(f"{self.path}: {DROPPED}", DROPPED)
            raise DamagedError(f"it has lost event {lost}: event {event.number} follows", lost)
        if not fits(link, chain.link, before, event):
            raise DamagedError(f"event {event.number} is damaged: its checksum does not fit", event.number)
        return link

    def _check_end(self, stream: int, head: list[tuple[Any, ...]], expected: int, last: int) -> None:
        """Fail when a stream ends before the last event that was known when it was read."""
        for _, number, link, digest in head:
            if not fits(digest, chain.head_digest, stream, number, link):
                raise DamagedError("the record of its last event is damaged", expected)
            if expected <= min(number, last) and self._query(HEAD, (stream,)):  # it may have been deleted meanwhile
                raise DamagedError(f"it has lost event {expected}, and all that follow up to {number}", expected)

    def outcome(self, stream: int, ref: int) -> Event | None:
        """The outcome of a decision."""
        rows = self._query(OUTCOME, (stream, ref))
        if not rows:
            return None
        return self._checked_alone(stream, rows[0])

    def _checked_alone(self, stream: int, row: tuple[Any, ...]) -> Event:
        """An event that was read without the one before it."""
        event = Event(*row[:-1])
        last, before = self._start(stream, event.number - 1, self._origin(stream))
        if last >= event.number:
            raise JournalError(f"{self.path}: {DROPPED}", DROPPED)
        self._checked(stream, event, row[-1], event.number, before)
        return event

    def answer(self, key: str) -> Answer | None:
        """The answer to the request with this idempotency key."""
        for row in self._query(ANSWER, (key,)):
            answer = Answer(*row[:-1])
            if not fits(row[-1], chain.answer_digest, answer):
                raise DamagedError("the stored answer to a request is damaged")
            return answer
        return None

    def latest(self, stream: int, upto: int | None = None) -> Snapshot | None:
        """The newest snapshot not beyond event `upto`; one that is damaged, or ahead of the events, is passed over."""
        last = NO_LIMIT if upto is None else upto
        while rows := self._query(LATEST, (stream, last)):
            *row, digest, link = rows[0]
            snapshot = Snapshot(*row)
            fitting = fits(digest, chain.snapshot_digest, snapshot, chain.START if link is None else link)
            if fitting and (link is not None or not self._is_ahead(snapshot)):
                return snapshot
            last = snapshot.number - 1
        return None

    def _is_ahead(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot has events that the journal does not have. Streams below 0 have snapshots alone."""
        return snapshot.stream >= CATALOGUE and snapshot.number > self.last(snapshot.stream)

    def origin(self, stream: int) -> Origin | None:
        """Where replays of a stream begin."""
        return self._read_origin(stream, self._query)

    @staticmethod
    def _read_origin(stream: int, run: Run) -> Origin | None:
        for row in run(ORIGIN, (stream,)):
            origin = Origin(*row[:-1])
            if not fits(row[-1], chain.origin_digest, origin):
                raise DamagedError("its origin, the state that replays begin with, is damaged")
            return origin
        return None

    def _origin(self, stream: int, run: Run | None = None) -> Origin | None:
        """The same without its body, from memory where it was read before."""
        if stream in self._origins:
            with suppress(KeyError):  # another thread may drop it meanwhile
                return self._origins[stream]
        origin = self._read_origin(stream, run or self._query)
        self._origins[stream] = short = None if origin is None else origin._replace(body=b"")
        return short

    def last(self, stream: int) -> int:
        """The number of the last event; -1 where there is none."""
        return self._start(stream, NO_LIMIT, self._origin(stream))[0]

    def link_at(self, stream: int, number: int) -> int:
        """The link of an event."""
        _, link = self._start(stream, number, self._origin(stream))
        if link is None:
            raise DamagedError(f"it has lost event {number}", number)
        return link


def is_vital(event: Event) -> bool:
    """Whether an event belongs to the catalogue, which is read once, at the start."""
    return event.stream == CATALOGUE


def fits(digest: object, hash_of: Callable[P, int], *args: P.args, **options: P.kwargs) -> bool:
    """Whether a row has the digest that is stored with it; one with values of other types has none."""
    try:
        return digest == hash_of(*args, **options)
    except (TypeError, ValueError, AttributeError, struct.error):
        return False


def _next_number(event: Event) -> int:
    try:
        return next_number(event)
    except TypeError:
        raise DamagedError(f"event {event.number} is damaged: its number is none") from None
