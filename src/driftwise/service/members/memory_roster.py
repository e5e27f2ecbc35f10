"""The roster of workers, in the memory of their parent."""

import threading
import time
from collections.abc import Callable, Sequence

from driftwise.service.members.roster import LEASE_S, NOBODY, SLOTS, Member, RosterView
from driftwise.service.store.journal import ExpelledError


class MemoryRoster:
    """See `roster.Roster`. `last_event` is the number of the last event of the catalogue.

    `quiet` is a lock that is held during each commit: who has it knows that no commit is under way, and those that
    follow ask whether their member is still one.
    """

    def __init__(self, last_event: Callable[[], int], quiet: threading.Lock) -> None:
        self._last_event, self._quiet = last_event, quiet
        self._members: dict[int, Member] = {}
        self._expiry: dict[int, float] = {}
        self._owners = [NOBODY] * (SLOTS + 1)
        self._lock = threading.Lock()

    def __contains__(self, id: int) -> bool:
        return id in self._members

    def join(self, member: Member) -> None:
        """Add a member."""
        with self._lock:
            self._members[member.id] = member
            self._expiry[member.id] = time.monotonic() + LEASE_S

    def renew(self, id: int, *, ready: bool) -> RosterView:
        """Renew a lease, and return the view of all."""
        with self._lock:
            if id not in self._members:
                raise ExpelledError
            now = time.monotonic()
            self._members[id] = self._members[id]._replace(ready=ready)
            self._expiry[id] = now + LEASE_S
            members = {each.id: each._replace(expired=self._expiry[each.id] <= now) for each in self._members.values()}
            owners = list(self._owners)
        return RosterView(members, owners, self._last_event())

    def expire(self, id: int) -> None:
        """Let the lease of a member end now."""
        with self._lock:
            if id in self._members:
                self._expiry[id] = time.monotonic()

    def expel(self, id: int) -> bool:
        """Remove a member whose lease has expired, when no commit is under way."""
        with self._quiet, self._lock:
            if id in self._members and self._expiry[id] > time.monotonic():
                return False
            return self._members.pop(id, None) is not None

    def move(self, slots: Sequence[int], old: int, new: int) -> list[int]:
        """Let slots have another owner."""
        with self._lock:
            moved = [slot for slot in slots if self._owners[slot] == old]
            for slot in moved:
                self._owners[slot] = new
            return moved

    def leave(self, id: int) -> None:
        """Remove a member, when no commit is under way."""
        with self._quiet, self._lock:
            self._members.pop(id, None)

    def close(self) -> None:
        """Nothing to close."""
