"""Requests to other members: HTTP over connections that stay open, a few to each.

A request that could not be sent is told from one that was sent and not answered: only the first has certainly not been
done.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

import httptools

from driftwise.errors import DriftwiseError

MAX_CONNECTIONS = 64  # to each member; more requests wait
CONNECT_S = 2.0
BUFFER = 1 << 18  # bytes of a long response that may wait to be read
PASSED = (b"content-type", b"content-disposition", b"retry-after", b"idempotency-replayed")


class NotSentError(DriftwiseError):
    """The request could not be sent: it was not done."""


class NotAnsweredError(DriftwiseError):
    """The request was sent and not answered: whether it was done is unknown."""


class ForwardedResponse(NamedTuple):
    """A response; `chunks` is what follows of a body that has no length."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    chunks: AsyncIterator[bytes] | None = None


class MemberConnection(asyncio.Protocol):
    """A connection to a member, for one request at a time."""

    def __init__(self) -> None:
        self.closed = False
        self.keep_alive = True
        self._transport: asyncio.Transport
        self._parser: httptools.HttpResponseParser
        self._start: asyncio.Future[None] | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._long = self._complete = False
        self._more = asyncio.Event()

    async def send(self, request: bytes) -> ForwardedResponse:
        """Send a request and return the response, or its beginning if it is long."""
        if self.closed:
            raise NotSentError
        self._parser, self._headers, self._parts = httptools.HttpResponseParser(self), [], []
        self._size, self._long, self._complete = 0, False, False
        self._start = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        await self._start
        headers = [(name, value) for name, value in self._headers if name in PASSED]
        status = self._parser.get_status_code()
        if self._long:
            return ForwardedResponse(status, headers, b"", self._chunks())
        return ForwardedResponse(status, headers, b"".join(self._parts))

    def abort(self) -> None:
        """Close at once; a request that waits is not answered."""
        self.closed = True
        self._transport.abort()

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            while not (self._parts or self._complete or self.closed):
                await self._more.wait()
                self._more.clear()
            parts, self._parts, self._size = self._parts, [], 0
            self._transport.resume_reading()
            if parts:
                yield b"".join(parts)
            elif self._complete:
                return
            else:
                raise NotAnsweredError

    # ---- events of the transport ----

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Be ready."""
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the request that waits."""
        self.closed = True
        self._more.set()
        if self._start is not None and not self._start.done():
            self._start.set_exception(NotAnsweredError())

    def data_received(self, data: bytes) -> None:
        """Parse a response."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, AttributeError):
            self.abort()
        self._more.set()

    # ---- events of the parser ----

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """A response without a length is long: it is passed on as it comes."""
        self.keep_alive = self._parser.should_keep_alive()
        if not any(name == b"content-length" for name, _ in self._headers):
            self._long = True
            self._set_started()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._parts.append(body)
        self._size += len(body)
        if self._long and self._size > BUFFER:
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        """The response is complete."""
        self._complete = True
        self._set_started()

    def _set_started(self) -> None:
        if self._start is not None and not self._start.done():
            self._start.set_result(None)


class ConnectionPool:
    """Connections to one member."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._idle: list[MemberConnection] = []
        self._all: set[MemberConnection] = set()
        self._room = asyncio.Semaphore(MAX_CONNECTIONS)

    async def send(self, request: bytes) -> ForwardedResponse:
        """Send a request over a free connection."""
        await self._room.acquire()
        connection: MemberConnection | None = None
        try:
            connection = await self._connection()
            response = await connection.send(request)
            if response.chunks is not None:
                return response._replace(chunks=self._rest(connection, response.chunks))
        except BaseException:
            self._put_back(connection, reusable=False)
            raise
        self._put_back(connection, reusable=True)
        return response

    async def _rest(self, connection: MemberConnection, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        whole = False
        try:
            async for chunk in chunks:
                yield chunk
            whole = True
        finally:
            self._put_back(connection, reusable=whole)

    async def _connection(self) -> MemberConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                return connection
            self._all.discard(connection)
        host, _, port = self._address.rpartition(":")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_S):
                _, connection = await loop.create_connection(MemberConnection, host.strip("[]"), int(port))
        except (OSError, TimeoutError) as error:
            raise NotSentError from error
        self._all.add(connection)
        return connection

    def _put_back(self, connection: MemberConnection | None, *, reusable: bool) -> None:
        self._room.release()
        if connection is None:
            return
        if reusable and connection.keep_alive and not connection.closed:
            self._idle.append(connection)
        else:
            self._all.discard(connection)
            connection.abort()

    def close(self) -> None:
        """Close all connections; requests under way are not answered."""
        for connection in self._all:
            connection.abort()
        self._idle.clear()


def request_bytes(method: str, target: str, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bytes:
    """A request, ready to be sent."""
    lines = [f"{method} {target} HTTP/1.1".encode("latin-1")]
    lines += [name + b": " + value for name, value in headers]
    lines.append(b"content-length: %d\r\n\r\n" % len(body))
    return b"\r\n".join(lines) + body
