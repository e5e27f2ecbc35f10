"""Requests to another member, over one connection that stays open: see `frames`.

A request that could not be sent is told from one that was sent and not answered: only the first has certainly not been
done.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.service.http.buffered_transport import BufferedTransport
from driftwise.service.members.frames import (
    CANCEL,
    CUT,
    END,
    LEAVE,
    MORE,
    PART,
    PROTOCOL,
    REQUEST,
    RESPONSE,
    SECRET,
    START,
    SWITCH,
    Frame,
    FrameConnection,
    ResponseMessage,
    RoutedRequest,
    keep_alive,
)
from driftwise.service.members.roster import Member

MAX_WAITING = 256  # requests without a response; more wait to be sent
CONNECT_S = 2.0
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ResponseMessage).decode


class NotSentError(DriftwiseError):
    """The request could not be sent: it was not done."""


class NotAnsweredError(DriftwiseError):
    """The request was sent and not answered: whether it was done is unknown."""


class ForwardedResponse(NamedTuple):
    """A response; `chunks` are the body of one that is a stream."""

    status: int
    body: bytes = b""
    media: bytes = b""
    headers: Sequence[tuple[bytes, bytes]] = ()
    filename: str = ""
    chunks: AsyncIterator[bytes] | None = None


class MemberConnection(FrameConnection):
    """The end of a connection that sends requests."""

    def __init__(self, member: Member) -> None:
        super().__init__()
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = loop.create_future()  # when requests can be sent
        self.leaving = False  # whether the member answers what it has, and nothing more
        self._loop, self._member = loop, member
        self._numbers = itertools.count()
        self._open: set[int] = set()  # requests whose response is not complete
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._room = asyncio.Semaphore(MAX_WAITING)
        self._writable = asyncio.Event()
        self._writable.set()
        self._head = b""  # the response to the upgrade request, as far as it has come

    async def send(self, request: RoutedRequest) -> ForwardedResponse:
        """Send a request and return the response; of a stream, its beginning."""
        number = next(self._numbers)
        async with self._room:
            await self._writable.wait()
            if self.closed or self.leaving:
                raise NotSentError
            self._open.add(number)
            try:
                frame = await self._ask(REQUEST, number, _encode(request))
                message = _decode(frame.content)
            except BaseException as error:
                if not isinstance(error, NotAnsweredError):
                    self.write(CANCEL, number)  # a long response may have begun
                self._finish(number)
                raise
        response = ForwardedResponse(message.status, message.body, message.media, message.headers, message.filename)
        if frame.kind == RESPONSE:
            self._finish(number)
            return response
        parts = self._parts(number)
        if message.length is None:
            return response._replace(chunks=parts)
        return response._replace(body=b"".join([part async for part in parts]))

    async def _ask(self, kind: int, number: int, content: bytes = b"") -> Frame:
        """Send a frame, and return the one that comes back."""
        waiting: asyncio.Future[Frame] = self._loop.create_future()
        self._waiting[number] = waiting
        self.write(kind, number, content)
        try:
            return await waiting
        finally:
            del self._waiting[number]

    async def _parts(self, number: int) -> AsyncIterator[bytes]:
        kind = PART
        try:
            while not self.closed:
                kind, _, content = await self._ask(MORE, number)
                if kind == END:
                    return
                if kind == CUT:
                    break
                yield content
            raise NotAnsweredError
        finally:
            if kind == PART:
                self.write(CANCEL, number)
            self._finish(number)

    def _finish(self, number: int) -> None:
        self._open.discard(number)
        self._close_if_left()

    def _close_if_left(self) -> None:
        if self.leaving and not self._open:
            self.close()

    def on_frame(self, frame: Frame) -> None:
        """Hand a frame to the request that waits for it."""
        waiting = self._waiting.get(frame.number)
        if frame.kind == LEAVE:
            self.leaving = True
            self._close_if_left()
        elif waiting is None or waiting.done():  # nobody waits any more
            if frame.kind in (START, PART):
                self.write(CANCEL, frame.number)
        else:
            waiting.set_result(frame)

    def on_end(self) -> None:
        """Fail all requests that wait."""
        self._writable.set()
        futures: list[asyncio.Future[Any]] = [self.ready, *self._waiting.values()]
        for future in futures:
            if not future.done():
                future.set_exception(NotAnsweredError())

    # ---- events of the transport ----

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Ask for the protocol of members."""
        self._transport = BufferedTransport(transport, self._loop)  # type: ignore[assignment]
        keep_alive(transport)
        upgrade = (
            f"GET / HTTP/1.1\r\nhost: {self._member.address}\r\nconnection: upgrade\r\nupgrade: {PROTOCOL.decode()}\r\n"
            f"{SECRET.decode()}: {self._member.secret}\r\n\r\n"
        )
        transport.write(upgrade.encode())

    def data_received(self, data: bytes) -> None:
        """Read frames, after the response to the upgrade request."""
        if self.ready.done():
            super().data_received(data)
            return
        self._head += data
        if self._head.startswith(SWITCH):
            self.ready.set_result(None)
            super().data_received(self._head[len(SWITCH) :])
        elif not SWITCH.startswith(self._head):  # it is another process, or stops
            self.abort()

    def pause_writing(self) -> None:
        """The member does not read: let requests wait."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The member reads again."""
        self._writable.set()


class MemberLink:
    """The connection to a member: made when it is needed, and again after it was lost."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._gone = False
        self._connection: MemberConnection | None = None
        self._all: set[MemberConnection] = set()  # with those that end with their last response
        self._connecting: asyncio.Task[MemberConnection] | None = None

    async def send(self, request: RoutedRequest) -> ForwardedResponse:
        """Send a request, and return the response."""
        connection = self._connection
        if connection is None or connection.closed or connection.leaving:
            if self._connecting is None or self._connecting.done():  # requests that come meanwhile share it
                self._connecting = asyncio.ensure_future(self._connect())
            connection = await asyncio.shield(self._connecting)
        return await connection.send(request)

    async def _connect(self) -> MemberConnection:
        host, _, port = self._member.address.rpartition(":")
        loop = asyncio.get_running_loop()
        connection = None
        try:
            async with asyncio.timeout(CONNECT_S):
                _, connection = await loop.create_connection(
                    lambda: MemberConnection(self._member), host.strip("[]"), int(port)
                )
                await connection.ready
        except (OSError, TimeoutError, NotAnsweredError) as error:
            if connection is not None:
                connection.abort()
            raise NotSentError from error
        if self._gone:
            connection.abort()
            raise NotSentError
        self._connection = connection
        self._all = {connection} | {each for each in self._all if not each.closed}
        return connection

    def close(self) -> None:
        """Close the connection, the member is gone; requests under way are not answered."""
        self._gone = True
        for connection in self._all:
            connection.abort()
