"""Requests that other members forward to this one: see `frames`. Access is checked where a request arrives.

Whoever opens the connection shows the secret of this process, which only the store and the members have.
"""

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.service.http.endpoint import JSON, Endpoint, FullReply, RawHeaders, StreamingResponse
from driftwise.service.http.errors import BadRequest, NotFound, error_reply
from driftwise.service.http.middleware import STOPPING, HttpMetrics
from driftwise.service.members.frames import (
    CUT,
    END,
    LEAVE,
    MORE,
    PART,
    PART_SIZE,
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
from driftwise.service.members.router import MISDIRECTED, Router

Tasks = set["asyncio.Task[None]"]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RoutedRequest).decode
log = logging.getLogger("driftwise.service")


class Receiver:
    """The connections that other members have opened to this process, and what answers their requests."""

    def __init__(self, router: Router, endpoints: Mapping[str, Endpoint], metrics: HttpMetrics) -> None:
        self.router, self.endpoints, self.metrics = router, endpoints, metrics
        self.leaving = False
        self.connections: set[ReceivingConnection] = set()

    def accepts(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether it is another member that wants to open a connection."""
        secret = self.router.membership.secret.encode()
        return not self.leaving and hmac.compare_digest(headers.get(SECRET, b""), secret)

    def open(self, transport: asyncio.Transport, tasks: Tasks) -> FrameConnection:
        """Switch a connection over to frames; its requests are among the `tasks` while they are done."""
        connection = ReceivingConnection(self, transport, tasks)
        keep_alive(transport)
        transport.write(SWITCH)
        transport.set_protocol(connection)
        return connection

    def leave(self) -> None:
        """Do what has come, and nothing more: others own the deployments now, or will."""
        self.leaving = True
        for connection in self.connections:
            connection.write(LEAVE, 0)

    def close(self) -> None:
        """Close all connections."""
        for connection in list(self.connections):
            connection.close()


class ReceivingConnection(FrameConnection):
    """The end of a connection that answers requests, each in a task of its own."""

    def __init__(self, receiver: Receiver, transport: asyncio.Transport, tasks: Tasks) -> None:
        super().__init__()
        self._receiver, self._transport, self._tasks = receiver, transport, tasks
        self._loop = asyncio.get_running_loop()
        self._part_requests: dict[int, asyncio.Queue[bool]] = {}  # for the next part of a long response, or for no more
        receiver.connections.add(self)

    def on_frame(self, frame: Frame) -> None:
        """Begin a request, or go on with a long response."""
        if frame.kind == REQUEST:
            try:
                request = _decode(frame.content)
            except msgspec.DecodeError:  # of another version, perhaps
                unread = BadRequest("a forwarded request cannot be read: members have one version")
                self.write(RESPONSE, frame.number, _encode(_whole(*error_reply(unread))))
                return
            task = self._loop.create_task(self._answer(frame.number, request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif frame.number in self._part_requests:
            self._part_requests[frame.number].put_nowait(frame.kind == MORE)

    def on_end(self) -> None:
        """What was begun is done all the same, but nobody reads long responses any more."""
        self._receiver.connections.discard(self)
        for wanted in self._part_requests.values():
            wanted.put_nowait(False)

    async def _answer(self, number: int, request: RoutedRequest) -> None:
        start = time.perf_counter()
        try:
            reply, first = await self._reply(request)
        except asyncio.CancelledError:  # the process is stopping, and this takes longer than it waits
            reply, first = error_reply(STOPPING), b""
        message, parts = _message(reply, first)
        if parts is None:
            self.write(RESPONSE, number, _encode(message))
        else:
            await self._send_parts(number, message, parts, request)
        seconds = time.perf_counter() - start
        self._receiver.metrics.add(request.endpoint, message.status, seconds, request.name, request.request_id)

    async def _reply(self, request: RoutedRequest) -> tuple[FullReply, bytes]:
        endpoint = self._receiver.endpoints.get(request.endpoint)
        if self._receiver.leaving:
            return (MISDIRECTED, b""), b""
        if endpoint is None:
            return error_reply(NotFound(f"there is no endpoint {request.endpoint}: members have one version")), b""
        return await endpoint.answer_forwarded(request, self._receiver.router)

    async def _send_parts(
        self, number: int, message: ResponseMessage, parts: AsyncIterator[bytes], request: RoutedRequest
    ) -> None:
        """Send a long response: a frame for each part that is asked for."""
        wanted = self._part_requests[number] = asyncio.Queue()
        self.write(START, number, _encode(message))
        last = CUT
        try:
            while not self.closed and await wanted.get():  # the connection may have gone before this response
                part = await anext(parts, None)
                if part is None:
                    last = END
                    break
                self.write(PART, number, part)
        except DriftwiseError as error:
            log.error("a response was cut off", extra={"facts": {"endpoint": request.endpoint, "why": str(error)}})
        except Exception:
            log.exception("a response was cut off", extra={"facts": {"endpoint": request.endpoint}})
        finally:
            del self._part_requests[number]
            self.write(last, number)


def _message(reply: FullReply, first: bytes) -> tuple[ResponseMessage, AsyncIterator[bytes] | None]:
    """A reply as it is sent, and the parts of one that is long."""
    if isinstance(reply, StreamingResponse):
        return ResponseMessage(200, b"", reply.media.encode(), [], None, reply.filename), _parts(first, reply.chunks)
    message = _whole(*reply)
    body = message.body
    if len(body) <= PART_SIZE:
        return message, None
    message.body, message.length = b"", len(body)
    return message, _parts(body)


def _whole(status: int, body: bytes, media: bytes = JSON, headers: RawHeaders = ()) -> ResponseMessage:
    return ResponseMessage(status, body, media, list(headers))


async def _parts(first: bytes, chunks: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    for part in _slices(first):
        yield part
    if chunks is not None:
        async for chunk in chunks:
            for part in _slices(chunk):
                yield part


def _slices(chunk: bytes) -> Iterator[bytes]:
    return (chunk[start : start + PART_SIZE] for start in range(0, len(chunk), PART_SIZE))
