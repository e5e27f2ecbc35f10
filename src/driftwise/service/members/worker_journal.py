"""The journal of a worker over a SQLite file: it reads the file itself, and its parent writes for it."""

import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from driftwise.service.members.roster import Member, RosterView
from driftwise.service.members.store_protocol import ERRORS, receive, send
from driftwise.service.store.journal import Answer, Event, JournalError, Origin, Snapshot, new_member
from driftwise.service.store.sqlite import SQLiteJournal
from driftwise.service.store.upkeep import SQLUpkeep

ANSWER_S = 120.0  # how long the parent may take to write


class StoreConnection:
    """A connection to the parent, for one call at a time; a new one is made after a failure."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def call(self, operation: str, member: int, *arguments: object) -> Any:
        """Call the parent; its errors are raised here."""
        with self._lock:
            try:
                if self._socket is None:
                    self._socket = socket.socket(socket.AF_UNIX)
                    self._socket.settimeout(ANSWER_S)
                    self._socket.connect(str(self._path))
                send(self._socket, operation, member, arguments)
                answer = receive(self._socket)
            except OSError as error:
                self.close()
                raise JournalError(f"the parent process does not answer: {error}", "the store is closed") from None
            if answer is None:
                self.close()
                raise JournalError("the parent process has ended", "the store is closed")
        kind, values = answer
        if kind:
            raise ERRORS[kind](*values)
        return values

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class WorkerJournal(SQLiteJournal):
    """See `journal.SharedJournal`. The parent knows where streams end; this knows only what it has read."""

    shared = True

    def __init__(self, path: Path, server: Path, durability: str = "full") -> None:
        SQLUpkeep.__init__(self)
        self.path, self.server, self.durability = path, server, durability
        self.vfs, self._mode, self._file, self._writer = None, None, None, None
        self._readers, self._open, self._closed = threading.local(), [], False
        self._parent = StoreConnection(server)
        self.member = new_member()

    def enter(self) -> None:
        """Take another number as a member."""
        self.member = new_member()

    def append(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Let the parent write it, in one commit with what other workers send."""
        self._call("append", events, answers, snapshots)

    def _call(self, operation: str, *arguments: object) -> Any:
        if self._closed:
            raise JournalError(f"{self.path} is closed", "the store is closed")
        try:
            return self._parent.call(operation, self.member, *arguments)
        finally:
            if operation not in ("append", "recover"):
                self._origins.clear()

    def recover(self) -> None:
        """Wait until the parent can write."""
        self._call("recover")

    def forget_answers(self, before: int) -> bool:
        """Drop old answers."""
        return bool(self._call("forget_answers", before))

    def rebase(self, origin: Origin, erased: Sequence[Event] = ()) -> None:
        """Let replays begin at an origin."""
        self._call("rebase", origin, erased)

    def append_origin(self, events: Sequence[Event], answers: Sequence[Answer], origin: Snapshot) -> None:
        """Write events, and let replays begin at a snapshot after them."""
        self._call("append_origin", events, answers, origin)

    def erase(self, stream: int, erased: Sequence[Event]) -> None:
        """Replace events of which something was erased."""
        self._call("erase", stream, erased)

    def trim(self, stream: int) -> bool:
        """Drop events before the origin."""
        return bool(self._call("trim", stream))

    def drop(self, stream: int) -> bool:
        """Drop a stream."""
        return bool(self._call("drop", stream))

    def scrub(self) -> None:
        """Overwrite what was replaced."""
        self._call("scrub")

    def release(self) -> bool:
        """Give free pages back."""
        return bool(self._call("release"))

    def compact(self) -> None:
        """Give all free pages back."""
        self._call("compact")

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self._parent.close()


class WorkerRoster:
    """See `roster.Roster`: that of the parent."""

    def __init__(self, server: Path) -> None:
        self._parent = StoreConnection(server)

    def join(self, member: Member) -> None:
        """Add a member."""
        self._parent.call("join", 0, member)

    def renew(self, id: int, *, ready: bool) -> RosterView:
        """Renew a lease, and return the view of all."""
        members, owners, catalogue = self._parent.call("renew", 0, id, ready)
        return RosterView({int(key): Member(*each) for key, each in members.items()}, owners, catalogue)

    def expel(self, id: int) -> bool:
        """Remove a member whose lease has expired."""
        return bool(self._parent.call("expel", 0, id))

    def move(self, slots: Sequence[int], old: int, new: int) -> list[int]:
        """Let slots have another owner."""
        return msgspec.convert(self._parent.call("move", 0, slots, old, new), list[int])

    def leave(self, id: int) -> None:
        """Remove a member."""
        self._parent.call("leave", 0, id)

    def close(self) -> None:
        """Close the connection."""
        self._parent.close()
