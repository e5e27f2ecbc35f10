"""One connection: it waits only so long and reads only so much before a request, and sends an answer in one piece."""

import time
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from driftwise.service.http.connection_limits import ConnectionLimiter
from driftwise.service.http.errors import BadRequest, HeadersTooLarge, HttpError, error_reply

MAX_HEAD = 1 << 15  # bytes of a request line and headers; the same for what is between the parts of a body, or after it
PIECE = 1 << 12  # bytes that are parsed before they are counted
LINGER_S = 1.0  # for a client that is still sending to read why it is refused
LARGE = 1 << 16


class BufferedTransport:
    """A transport that gathers what is written until the event loop comes round again.

    The head of an answer and its body are written one after the other; sent apart, they would cost two calls of the
    operating system, which is a third of the time that a small request takes.
    """

    def __init__(self, transport: Any, loop: Any) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether it is closed, or will be."""
        closing: bool = self._transport.is_closing()
        return closing

    def write(self, data: bytes) -> None:
        """Send this, soon."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)
        if len(data) >= LARGE:  # the transport is to say when it has enough
            self._send()

    def close(self) -> None:
        """Send what was written, then close."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class Connection(HttpToolsProtocol):
    """A connection with limits of its own.

    One timer runs while the service waits for a request: from the start, and again from each answer, until headers are
    complete. Bytes do not stop it, so that a client cannot keep a place by sending a few now and then.
    """

    def __init__(self, *args: Any, places: ConnectionLimiter, **words: Any) -> None:
        super().__init__(*args, **words)
        self.places, self.limits = places, places.limits
        self.timeout_keep_alive = self.limits.idle_s
        self.address, self.since = "", 0.0
        self.surplus = False  # beyond the limits: only health checks are answered
        self._overhead = 0  # bytes since the last headers or part of a body
        self._refused = False
        self._stalled: Any = None

    @property
    def waiting(self) -> bool:
        """Whether the next move is the client's: to ask, to send the body, or to read the answer."""
        cycle = self.cycle
        asked = cycle is not None and not cycle.response_complete and not cycle.more_body
        return self.flow.write_paused or not (asked or self.pipeline)

    def leave(self) -> None:
        """Close, without waiting for a client that does not read."""
        if self.flow.write_paused:
            self.transport.abort()
        else:
            self.transport.close()

    # ---- what the transport tells ----

    def connection_made(self, transport: Any) -> None:
        """Take a place, and start to wait."""
        super().connection_made(BufferedTransport(transport, self.loop))  # type: ignore[arg-type]
        self.since = time.monotonic()
        self.address = self.client[0] if self.client else ""
        if not self.places.enter(self):
            self.leave()
            return
        self.timeout_keep_alive_task = self.loop.call_later(self.limits.head_s, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        self.places.free(self)
        self._unset_keepalive_if_required()
        self._stop_stalling()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, and count what is not body."""
        for start in range(0, len(data), PIECE):
            if self._refused or self.transport.is_closing():
                return
            piece = data[start : start + PIECE]
            self._overhead += len(piece)
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade:  # another protocol is wished for: the request is answered in this one
                return
            except httptools.HttpParserError:
                self._refuse(BadRequest("this is not an HTTP request"))
            if self._overhead > MAX_HEAD:
                self._refuse(HeadersTooLarge(f"request line and headers are larger than {MAX_HEAD} bytes"))

    def pause_writing(self) -> None:
        """The client does not read: wait, but not for ever."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.limits.idle_s, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._stop_stalling()
        super().resume_writing()

    def _stop_stalling(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    # ---- what the parser and the server tell ----

    def on_headers_complete(self) -> None:
        """A request: stop the timer, and hand it over."""
        self._overhead = 0
        self._unset_keepalive_if_required()
        self.since = time.monotonic()
        if self.surplus:
            self.scope["surplus"] = True  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()
        self.headers = []  # what comes after a body is no header of the request
        if self.surplus:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """A part of a body, which is counted by who reads it."""
        self._overhead = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """An answer: wait for the next request."""
        self.since = time.monotonic()
        super().on_response_complete()

    def shutdown(self) -> None:
        """The service stops: finish a request that is complete, wait for nothing else."""
        if self.waiting:
            self.leave()
        else:
            super().shutdown()

    def _refuse(self, error: HttpError) -> None:
        """Answer what is no request, and close when the client had time to read that.

        What it still sends is dropped. If it were left unread, the system would reset the connection, and the answer
        could be lost.
        """
        if self._refused:
            return
        self._refused = True
        self._unset_keepalive_if_required()
        status, body, media = error_reply(error)
        head = [STATUS_LINE[status], b"content-type: %s\r\nconnection: close\r\n" % media]
        if self.cycle is None or self.cycle.response_complete:  # otherwise it would stand in the middle of an answer
            self.transport.write(b"".join([*head, b"content-length: %d\r\n\r\n" % len(body), body]))
        self.loop.call_later(LINGER_S, self.transport.close)
