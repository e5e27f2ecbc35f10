"""The journal is the truth. Everything else, the state of every policy included, is a fold of it.

A journal holds *streams* of events, numbered from 0 without gaps: stream 0 is the catalogue, every other one a
deployment. Beside them it keeps *answers*, by which a request that is sent twice is answered alike, and *snapshots*,
which are only a cache of the fold.

    append(events, answers, snapshots)   all of it or nothing; when it returns, it is as durable as was asked for
    read(stream, after, upto)            the events of a stream, in order
    outcome(stream, ref)                 what came of the decision that is event `ref`
    answer(key)                          what a keyed request was answered
    save, latest                         snapshots; `save` is an `append` of one

`append` is called from one thread at a time. Reading never waits for it, nor it for reading.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from driftwise.errors import DriftwiseError, ParameterError

CATALOGUE = 0
NO_REF = -1


class JournalError(DriftwiseError):
    """The store could not do what was asked: it is full, locked, damaged or gone.

    After an append that failed, what is there is to be read anew, after `recover`: where the store is a server, it may
    have written everything, and only its answer got lost. The message is for the log: it may name paths and hosts.
    `reason` is for anybody.
    """

    reason = "the store reports an error"

    def __init__(self, message: str, reason: str = reason) -> None:
        super().__init__(message)
        self.reason = reason


class DamagedError(JournalError):
    """What was read is not what was written, or cannot be replayed; `event` is its number, where that is known."""

    def __init__(self, message: str, event: int | None = None) -> None:
        super().__init__(message, "the store is damaged")
        self.event = event


class InUseError(JournalError):
    """Another process writes to this store."""


class Event(NamedTuple):
    """Something that happened. `at` is in microseconds since 1970; `ref` is the decision this is the outcome of."""

    stream: int
    number: int
    at: int
    kind: str
    body: bytes
    ref: int = NO_REF


class Answer(NamedTuple):
    """What a request with a key was answered. `print` tells its content from another's."""

    key: str
    print: bytes
    at: int
    status: int
    body: bytes


class Snapshot(NamedTuple):
    """The fold of a stream up to and including event `number`."""

    stream: int
    number: int
    body: bytes


class Journal(Protocol):
    """What the engine needs of a store."""

    quick: bool  # whether `answer` and `outcome` take microseconds, so that an event loop may wait for them
    apart: bool  # whether the store can fall and come back without us, perhaps with less than it had

    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None: ...

    def read(self, stream: int, after: int = -1, upto: int | None = None) -> Iterator[Event]: ...

    def outcome(self, stream: int, ref: int) -> Event | None: ...

    def answer(self, key: str) -> Answer | None: ...

    def save(self, snapshot: Snapshot) -> None: ...

    def latest(self, stream: int, upto: int | None = None) -> Snapshot | None: ...

    def forget_answers(self, before: int) -> bool: ...

    def recover(self) -> Any: ...

    def backup(self, path: str) -> None: ...

    def size(self) -> int: ...

    def close(self) -> None: ...


LEVELS = {
    "full": "answered after the disk has it: nothing acknowledged is lost, not even by a power cut",
    "normal": "answered after the operating system has it: a power cut may lose the last moments, a crash does not",
}


def open_journal(url: str, durability: str = "full") -> Any:
    """The journal at `sqlite:///PATH` or `postgresql://...`, made if it is not there."""
    if durability not in LEVELS:
        raise ParameterError(f"durability={durability} is not one of {', '.join(LEVELS)}")
    if "://" not in url and url.endswith((".db", ".sqlite")):
        url = f"sqlite:///{url}"
    kind, _, rest = url.partition("://")
    if kind == "sqlite":
        path = rest.removeprefix("/")
        if not path or rest == path:
            raise ParameterError(f"store={url} names no file: write sqlite:///driftwise.db")
        from driftwise.service.store.sqlite import SQLiteJournal

        return SQLiteJournal(path, durability)
    if kind in ("postgresql", "postgres"):
        from driftwise.service.store.postgres import PostgresJournal

        return PostgresJournal(url, durability)
    shown = f"{kind}://..." if rest else url  # what follows may hold a password
    raise ParameterError(f"store={shown} is neither sqlite:///PATH nor postgresql://...")


def kept_snapshots(numbers: Sequence[int]) -> set[int]:
    """Which snapshots to keep: the newest, and older ones ever farther apart, so that any moment is near one.

    >>> sorted(kept_snapshots([10, 20, 30, 40, 50, 60, 70, 80]))
    [10, 20, 50, 70, 80]
    """
    newest = max(numbers, default=0)
    nearest: dict[int, int] = {}
    for number in sorted(numbers):
        nearest.setdefault((newest - number).bit_length(), number)
    return {*nearest.values(), newest}
