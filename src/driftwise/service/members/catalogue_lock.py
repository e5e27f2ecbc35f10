"""The catalogue among several processes: all follow it, and whoever writes to it holds its lock in the roster.

The lock is slot 0 of the roster: a member that is expelled loses it. It is given back only after everything that was
written under it is committed, so that the next one reads it all.
"""

import asyncio
import time
from typing import TYPE_CHECKING

from driftwise.service.http.errors import Unavailable
from driftwise.service.members.roster import CATALOGUE_SLOT, NOBODY
from driftwise.service.store.journal import CATALOGUE, DamagedError, JournalError

if TYPE_CHECKING:
    from driftwise.service.members.membership import Membership

WAIT_S = 10.0  # for the lock
PAUSE_S = 0.01
FOLLOW_S = 0.05  # between two reads of the catalogue that requests cause


class CatalogueLock:
    """An asynchronous context in which this process alone may write to the catalogue, of which it has read all."""

    def __init__(self, membership: "Membership") -> None:
        self._membership = membership
        self._local = asyncio.Lock()
        self._has_slot = False
        self._followed_at = 0.0

    async def __aenter__(self) -> None:
        await self._local.acquire()
        try:
            await self._take()
            await self._catch_up()
        except BaseException:
            self._local.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(asyncio.ensure_future(self._end()))

    async def _end(self) -> None:
        try:
            await self._give_back()
        finally:
            self._local.release()

    async def _take(self) -> None:
        """Take the slot from nobody, or from a member that is gone."""
        membership = self._membership
        end = time.monotonic() + WAIT_S
        while not self._has_slot:
            view = membership.view
            owner = view.owners[CATALOGUE_SLOT]
            old = NOBODY if owner in view.members else owner
            try:
                taken = await asyncio.to_thread(membership.roster.move, [CATALOGUE_SLOT], old, membership.id)
            except JournalError as error:
                raise membership.engine.unreadable(error) from None
            self._has_slot = bool(taken)
            if not taken:
                if time.monotonic() > end:
                    raise Unavailable("another process is changing the catalogue; repeat the request")
                await self._catch_up()
                await asyncio.sleep(PAUSE_S)

    async def _give_back(self) -> None:
        """Give the slot back, when everything is written; after a failure `tend` does it later."""
        membership = self._membership
        try:
            await membership.engine.commit()
            if self._has_slot:
                await asyncio.to_thread(membership.roster.move, [CATALOGUE_SLOT], membership.id, NOBODY)
                self._has_slot = False
        except (JournalError, Unavailable):
            pass

    async def tend(self) -> None:
        """Give the slot back, if that has failed before."""
        if self._has_slot and not self._local.locked():
            async with self._local:
                await self._give_back()

    def lose(self) -> None:
        """The slot has gone: this process was expelled."""
        self._has_slot = False

    async def follow(self) -> None:
        """Read what other processes have written, unless this one is writing: then it has read all."""
        if not self._local.locked():
            async with self._local:
                await self._catch_up()

    async def follow_now(self) -> None:
        """The same, and wait for it; at most a few times a second, so that unknown names and keys cost little."""
        arrived = time.monotonic()
        await asyncio.sleep(max(0.0, self._followed_at + FOLLOW_S - arrived))
        async with self._local:
            if self._followed_at <= arrived:
                await self._catch_up()

    async def _catch_up(self) -> None:
        self._followed_at = time.monotonic()
        engine, journal = self._membership.engine, self._membership.journal
        try:
            events = await engine.query(lambda: list(journal.read(CATALOGUE, engine.catalogue.number - 1)))
        except DamagedError as error:
            raise engine.unreadable(error) from None
        if events:
            journal.forget(CATALOGUE)
        for event in events:
            engine.catalogue.apply(event)
