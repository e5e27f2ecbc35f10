"""The roster of a store: the processes that serve it (*members*), and which of them owns which deployments.

Streams are grouped into *slots*; a slot has one owner at a time, and only the owner writes to its streams. Slot 0 is
the lock of the catalogue, whose owner of the moment may write to stream 0.

The store keeps the roster and its clock decides. A member renews its *lease*; one whose lease has expired is expelled
by the others. Expelling ends the session that the member writes with, and only then removes it: what the member did is
done, and what it did not do never will be, however long it sleeps and whenever it wakes up. So the session is the
fence, and commits need no other.

    join, renew, leave        what a member does for itself; `renew` returns the view of all, unless it was expelled
    expel                     what members do to another whose lease has expired
    move                      slots from one owner to another, where they have that owner still

An id is used once: a member that was expelled joins again under another.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from driftwise.service.store.journal import CATALOGUE

SLOTS = 256  # of deployments; fewer would be hard to balance, more cost time at each renewal
CATALOGUE_SLOT = 0
NOBODY = 0
LEASE_S = 3.0
RENEW_S = 0.5


class Member(NamedTuple):
    """A process: where others reach it, and the secret that they show there.

    It is `ready` when it has loaded the kernels of policies, and takes deployments over from then on. `expired` is
    whether its lease has expired, by the clock of the store.
    """

    id: int
    address: str
    secret: str
    ready: bool = False
    expired: bool = False


class RosterView(NamedTuple):
    """What the roster says: members by id, the owner of each slot, and the number of the last catalogue event."""

    members: dict[int, Member]
    owners: list[int]
    catalogue: int


class Roster(Protocol):
    """The interface of a roster. A failed operation raises `JournalError`; any thread may call it, one at a time."""

    def join(self, member: Member) -> None:
        """Add a member, whose journal has a session to write with."""

    def renew(self, id: int, *, ready: bool) -> RosterView:
        """Renew the lease of a member, and return the view of all; `ExpelledError` where it was expelled."""

    def expel(self, id: int) -> bool:
        """End the session of a member and remove it, if its lease has expired; returns whether it is gone."""

    def move(self, slots: Sequence[int], old: int, new: int) -> list[int]:
        """Let `new` own those of the slots that `old` owns; returns which."""

    def leave(self, id: int) -> None:
        """Remove a member; slots that it owns have no owner."""

    def close(self) -> None:
        """Close connections."""


def slot_of(stream: int) -> int:
    """The slot of a stream.

    >>> slot_of(1), slot_of(256), slot_of(257)
    (1, 256, 1)
    """
    return CATALOGUE_SLOT if stream == CATALOGUE else 1 + (stream - 1) % SLOTS
