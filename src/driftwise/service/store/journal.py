"""The journal: the only source of truth. Everything else, the state of every policy included, is a fold of it.

A journal has *streams* of events, numbered from 0 without gaps: stream 0 is the catalogue, every other one a
deployment. It also stores *answers*, so that a repeated request gets the same answer, and *snapshots*, which are only a
cache of the fold.

    append(events, answers, snapshots)   all or nothing; when it returns, the data is as durable as `durability` says
    read(stream, after, upto)            the events of a stream, in order
    read_kind(stream, kind, after, upto) only those of one kind
    outcome(stream, ref)                 the outcome of the decision that is event `ref`
    answer(key)                          the answer to the request with an idempotency key
    save, latest                         snapshots; `save` is an `append` of one
    origin, rebase, append_origin        where replays begin, if events before were dropped; see `upkeep`
    trim, drop                           drop events

Everything is stored with a hash (`chain`) and checked when it is read: damage is an error, never another state.

What writes is called from one thread at a time. Reads do not wait for it, nor does it wait for reads.
"""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from driftwise.errors import DriftwiseError, ParameterError

if TYPE_CHECKING:
    from driftwise.service.store.schema import MigrationMode
    from driftwise.service.store.upkeep import SQLUpkeep

CATALOGUE = 0
NO_REF = -1


class JournalError(DriftwiseError):
    """An operation of the store failed: it is full, locked, damaged or gone.

    After an append that failed, the store must be read again, after `recover`: a server may have written everything,
    and only its answer was lost. The message is for the log: it may name paths and hosts. `reason` may be published.
    """

    reason = "the store reports an error"

    def __init__(self, message: str, reason: str = reason) -> None:
        super().__init__(message)
        self.reason = reason


class DamagedError(JournalError):
    """The data is corrupt or cannot be replayed; `event` is the number of the event, where that is known."""

    def __init__(self, message: str, event: int | None = None) -> None:
        super().__init__(message, "the store is damaged")
        self.event = event


class InUseError(JournalError):
    """Another process writes to this store."""


class NoStoreError(ParameterError):
    """There is no store under this name; only `driftwise serve` and the first API key create one."""

    def __init__(self, found: str) -> None:
        super().__init__(f"{found}: name the one that `driftwise serve` uses")


class ExpelledError(JournalError):
    """The other processes of this store took this one for dead, and own its deployments now."""

    def __init__(self) -> None:
        super().__init__("the other processes took this one for dead", "another process has taken over")


class Event(NamedTuple):
    """An event. `at` is in microseconds since 1970; `ref` is the decision that an outcome belongs to."""

    stream: int
    number: int
    at: int
    kind: str
    body: bytes
    ref: int = NO_REF


class Answer(NamedTuple):
    """The answer to a request with an idempotency key. `fingerprint` identifies the content of the request."""

    key: str
    fingerprint: bytes
    at: int
    status: int
    body: bytes


class Snapshot(NamedTuple):
    """The fold of a stream up to and including event `number`."""

    stream: int
    number: int
    body: bytes


class Origin(NamedTuple):
    """Where replays of a stream begin: the state after event `number`, in place of events that may be gone.

    `first` is the number of the first event that is still there, and `before` the link before it (see `chain`). `link`
    is that of event `number`. Events from `first` to `number` are history: they can be exported, not replayed.
    """

    stream: int
    number: int
    first: int
    before: int
    link: int
    body: bytes


class Journal(Protocol):
    """The interface of a store. A failed operation raises `JournalError`; `checks.check_journal` tests the promises."""

    path: str | Path  # the name of the store for the log, without secrets
    url: str | None  # for `open_reader` in another process, with secrets; None where no other can read it
    fast_reads: bool  # whether `answer` and `outcome` take microseconds, so that an event loop may call them
    remote: bool  # whether the store is a server, which may restart and lose what it had not flushed

    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write all of it or nothing. Event numbers of a stream must be unique, and so must the refs of outcomes.

        When it returns, the data is as durable as `durability` says. When it raises, it may still have been written:
        read the store again, after `recover`.
        """

    def read(self, stream: int, after: int = -1, upto: int | None = None) -> Iterator[Event]:
        """The events of a stream with `after < number <= upto`, in the order of their numbers."""

    def read_kind(self, stream: int, kind: str, after: int = -1, upto: int | None = None) -> Iterator[Event]:
        """Those of these events that are of one kind, without reading the others.

        Each is checked. That none is missing shows when all events are read.
        """

    def outcome(self, stream: int, ref: int) -> Event | None:
        """The one event whose `ref` is this decision: its outcome, or its cancellation; None while it is pending."""

    def answer(self, key: str) -> Answer | None:
        """The stored answer for an idempotency key; None where there is none, or where it was forgotten."""

    def save(self, snapshot: Snapshot) -> None:
        """Store a snapshot, and drop older ones that are not worth keeping (`snapshots_to_keep`)."""

    def latest(self, stream: int, upto: int | None = None) -> Snapshot | None:
        """The newest snapshot of a stream, of event `upto` at the latest; None where there is none.

        One of an event that the stream does not have is passed over. Streams below 0 have snapshots without events.
        """

    def forget_answers(self, before: int) -> bool:
        """Drop a batch of answers older than a time in microseconds; returns whether there may be more."""

    def origin(self, stream: int) -> Origin | None:
        """Where replays of a stream begin; None where it is event 0."""

    def last(self, stream: int) -> int:
        """The number of the last event of a stream; -1 where there is none."""

    def link_at(self, stream: int, number: int) -> int:
        """The link of an event, or of the last one dropped; needed to make it an origin."""

    def rebase(self, origin: Origin, erased: Sequence[Event] = ()) -> None:
        """Let replays begin at an origin. Snapshots up to it are dropped; `erased` replace the events they were."""

    def append_origin(self, events: Sequence[Event], answers: Sequence[Answer], origin: Snapshot) -> None:
        """Write events and answers, all or nothing; the snapshot after them is the origin, if the stream has one."""

    def erase(self, stream: int, erased: Sequence[Event]) -> None:
        """Replace events by what is left of them after an erasure; snapshots, which may have the rest, are dropped."""

    def scrub(self) -> None:
        """Overwrite what was replaced or dropped, as far as the database can."""

    def snapshot_numbers(self, stream: int) -> list[int]:
        """The numbers of all snapshots of a stream, damaged ones too."""

    def trim(self, stream: int) -> bool:
        """Drop a batch of events before the first that the origin keeps; returns whether there may be more."""

    def drop(self, stream: int) -> bool:
        """Drop a batch of all that is stored of a stream; returns whether there may be more."""

    def release(self) -> bool:
        """Give a batch of free pages back to the disk; returns whether there may be more."""

    def compact(self) -> None:
        """Give all free pages back; it may take long, and nothing else can be done meanwhile."""

    def recover(self) -> object:
        """Make the store usable after a failure; what it returns is the store's own. Without a failure it is cheap."""

    def backup(self, path: str) -> None:
        """Write a consistent copy of the store to a file, while it is in use; refused where the store cannot."""

    def size(self) -> int:
        """Bytes that the store occupies."""

    def free_bytes(self) -> int | None:
        """Bytes free on the disk of the store; None where that is another machine's."""

    def close(self) -> None:
        """Close all connections; it may be called twice."""


class SharedJournal(Journal, Protocol):
    """A journal that several processes write to, each to streams of its own (`members.roster`).

    It writes in a session under the id `member`. Whoever ends that session and has seen the end knows that nothing more
    will be written under this id.
    """

    member: int

    def enter(self) -> None:
        """Take a new id, and a new session to write under it."""

    def forget(self, stream: int) -> None:
        """Forget where a stream ends and begins: another process may have written to it."""


DURABILITY = {
    "full": "answer after the disk has the data: nothing acknowledged is lost, not even by a power cut",
    "normal": "answer after the operating system has the data: a power cut may lose the last moments, a crash does not",
}


def open_journal(
    url: str,
    durability: str = "full",
    *,
    migration: "MigrationMode | None" = None,
    shared: bool = False,
    create: bool = True,
) -> "SQLUpkeep":
    """Open the journal at `sqlite:///PATH` or `postgresql://...`; create it if it does not exist, unless told not to.

    A store of an older version is refused, unless it is opened with a `migration`: to do it, or to rehearse it. With
    `shared`, several processes may write to a store in PostgreSQL.
    """
    if durability not in DURABILITY:
        raise ParameterError(f"durability={durability} is not one of {', '.join(DURABILITY)}")
    if "://" not in url and url.endswith((".db", ".sqlite")):
        url = f"sqlite:///{url}"
    kind, _, rest = url.partition("://")
    if kind == "sqlite":
        from driftwise.service.store.sqlite import SQLiteJournal

        return SQLiteJournal(sqlite_path(url), durability, migration=migration, create=create)
    if kind in ("postgresql", "postgres"):
        from driftwise.service.store.postgres import PostgresJournal

        return PostgresJournal(url, durability, migration=migration, shared=shared, create=create)
    safe = f"{kind}://..." if rest else url  # the rest may contain a password
    raise ParameterError(f"store={safe} is neither sqlite:///PATH nor postgresql://...")


def sqlite_path(url: str) -> Path:
    """The file of `sqlite:///PATH`."""
    rest = url.removeprefix("sqlite://")
    path = rest.removeprefix("/")
    if not path or rest == path:
        raise ParameterError(f"store={url} has no file name: write sqlite:///driftwise.db")
    return Path(path)


def new_member() -> int:
    """The id of a new member: a random number, used once."""
    return 1 + secrets.randbits(62)


def snapshots_to_keep(numbers: Sequence[int]) -> set[int]:
    """Which snapshots to keep: the newest, and older ones at growing distances, so that any moment is near one.

    >>> sorted(snapshots_to_keep([10, 20, 30, 40, 50, 60, 70, 80]))
    [10, 20, 50, 70, 80]
    """
    newest = max(numbers, default=0)
    nearest: dict[int, int] = {}
    for number in sorted(numbers):
        nearest.setdefault((newest - number).bit_length(), number)
    return {*nearest.values(), newest}
