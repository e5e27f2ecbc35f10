"""From a request to the process that owns its deployment: here, or forwarded; and back.

Access is checked once, where the request comes in, and the owner is told the id of the caller. When the owner is gone
or not known, the request waits for the next one. A request that was sent and not answered is sent again only if it
changes nothing or has an idempotency key.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from driftwise.service.http.access import TOKEN_KEY
from driftwise.service.http.errors import NotOwner, Unauthorized, Unavailable
from driftwise.service.members.forwarding import ForwardedResponse, MemberLink, NotAnsweredError, NotSentError
from driftwise.service.members.frames import RoutedRequest
from driftwise.service.members.membership import Membership
from driftwise.service.members.roster import Member
from driftwise.service.store.events import ApiKeyCreated

T = TypeVar("T")
MISDIRECTED = 421  # the status with which a member answers for what it does not own
WAIT_S = 10.0  # for an owner
UNKNOWN = "the process that owns this deployment did not answer; repeat the request with the same idempotency key"


class Router:
    """Passes requests to the member that owns their deployment."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self.n_forwarded = 0
        self._links: dict[int, MemberLink] = {}
        membership.on_gone = self._close

    async def key_of(self, id: str) -> ApiKeyCreated | None:
        """The API key with an id; None where auth is off."""
        if not id:
            return None
        if id == TOKEN_KEY.id:
            return TOKEN_KEY
        keys = self.membership.engine.catalogue.keys
        if id not in keys:
            await self.refresh()
        if id not in keys:
            raise Unauthorized("this API key is unknown, expired or revoked")
        return keys[id]

    async def refresh(self) -> None:
        """Read what other processes have written to the catalogue; while the store fails, what is known must do."""
        with suppress(Unavailable):
            await self.membership.lock.follow_now()

    async def route(
        self, request: RoutedRequest, local: Callable[[], Awaitable[T]], *, forwarded: bool
    ) -> ForwardedResponse | T:
        """Do a request here, or forward it; one that was `forwarded` to this process is not forwarded again."""
        end = time.monotonic() + WAIT_S
        entries = self.membership.engine.catalogue.entries
        if request.name not in entries:
            await self.refresh()
        renewed = False
        while True:
            entry = entries.get(request.name)
            if entry is None or self.membership.owns(entry.stream):
                try:
                    return await local()
                except NotOwner:
                    if entry is None:
                        raise
            if forwarded:
                if renewed:
                    return ForwardedResponse(MISDIRECTED)
                await self.membership.renew_now()  # it may have been handed over to this process just now
                renewed = True
                continue
            response = await self._forward(request, self.membership.owner(entry.stream))
            if response is not None:
                return response
            if self.membership.problem is not None and not self.membership.valid:
                raise Unavailable(
                    f"the store cannot be read now ({self.membership.problem.reason}); repeat the request"
                )
            if time.monotonic() > end:
                raise Unavailable(f"deployment {request.name} has no owner now; repeat the request")
            await self.membership.wait_for_change(0.1)

    async def _forward(self, request: RoutedRequest, owner: Member | None) -> ForwardedResponse | None:
        """Send a request to the owner; None if it was not done, and may be sent again."""
        if owner is None or owner.id == self.membership.id:
            return None
        try:
            response = await self.send(owner, request)
        except NotSentError:
            return None
        except NotAnsweredError:
            if request.repeatable:
                return None
            raise Unavailable(UNKNOWN) from None
        return None if response.status == MISDIRECTED else response

    async def send(self, member: Member, request: RoutedRequest) -> ForwardedResponse:
        """Send a request to a member."""
        link = self._links.get(member.id)
        if link is None:
            link = self._links[member.id] = MemberLink(member)
        self.n_forwarded += 1
        return await link.send(request)

    async def ask_all(self, request: RoutedRequest, seconds: float) -> AsyncIterator[tuple[Member, ForwardedResponse]]:
        """Send a request to all other members; those that do not answer in time are left out."""
        others = [member for id, member in self.membership.view.members.items() if id != self.membership.id]
        tasks = {member: asyncio.ensure_future(self.send(member, request)) for member in others}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=seconds)
        for member, task in tasks.items():
            if not task.done():
                task.cancel()
            elif task.exception() is None:
                yield member, task.result()

    def _close(self, id: int) -> None:
        link = self._links.pop(id, None)
        if link is not None:
            link.close()

    def close(self) -> None:
        """Close all connections to other members."""
        for id in list(self._links):
            self._close(id)
