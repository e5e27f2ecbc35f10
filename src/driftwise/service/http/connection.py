"""A connection with limits on time and size before a request, which sends a response in one piece."""

import asyncio
import time
from typing import TYPE_CHECKING, Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from driftwise.service.http.buffered_transport import BufferedTransport
from driftwise.service.http.connection_limits import ConnectionLimiter
from driftwise.service.http.errors import BadRequest, HeadersTooLarge, HttpError, Unauthorized, error_reply
from driftwise.service.http.middleware import STOPPING
from driftwise.service.members.frames import PROTOCOL

if TYPE_CHECKING:
    from driftwise.service.members.receiving import Receiver

MAX_HEAD = 1 << 15  # bytes of request line and headers; also of what is between or after chunks of a body
PIECE = 1 << 12  # bytes parsed at a time
LINGER_S = 1.0  # for a client to read an error while it is still sending, or the last response of a service that stops


class Connection(HttpToolsProtocol):
    """A connection with limits of its own.

    One timer runs while the service waits for a request: from the start, and again from each response, until headers
    are complete. Bytes do not stop it, so that a client cannot keep a connection by sending a few now and then.
    """

    def __init__(
        self, *args: Any, limiter: ConnectionLimiter, receiver: "Receiver | None" = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.limiter, self.limits, self.receiver = limiter, limiter.limits, receiver
        self.timeout_keep_alive = self.limits.idle_s  # type: ignore[assignment]  # seconds: a loop takes fractions
        self.address, self.since = "", 0.0
        self.surplus = False  # beyond the limits: only health checks are answered
        self._overhead = 0  # bytes since the last headers or part of a body
        self._refused = self._switching = False
        self._stalled: Any = None

    @property
    def waiting(self) -> bool:
        """Whether the service waits for the client: to send a request or a body, or to read the response."""
        cycle = self.cycle
        working = cycle is not None and not cycle.response_complete and not cycle.more_body
        return self.flow.write_paused or not (working or self.pipeline)

    def leave(self) -> None:
        """Close, without waiting for a client that does not read."""
        if self.flow.write_paused:
            self.transport.abort()
        else:
            self.transport.close()

    # ---- events of the transport ----

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register with the limiter, and start the timer."""
        super().connection_made(BufferedTransport(transport, self.loop))  # type: ignore[arg-type]
        self.since = time.monotonic()
        self.address = self.client[0] if self.client else ""
        if not self.limiter.enter(self):
            self.leave()
            return
        self.timeout_keep_alive_task = self.loop.call_later(self.limits.head_s, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Unregister."""
        self.limiter.free(self)
        self._unset_keepalive_if_required()
        self._stop_stalling()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data, and count what is not body."""
        for start in range(0, len(data), PIECE):
            if self._refused or self.transport.is_closing():
                return
            piece = data[start : start + PIECE]
            self._overhead += len(piece)
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as upgrade:  # to a client that is no member the response is in HTTP
                if self._switching and not self._refused:
                    self._switch(data[start + upgrade.args[0] :])
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

    # ---- events of the parser and the server ----

    def on_headers_complete(self) -> None:
        """Stop the timer, and pass the request on."""
        self._overhead = 0
        self._unset_keepalive_if_required()
        self.since = time.monotonic()
        if self.surplus:
            self.scope["surplus"] = True  # type: ignore[typeddict-unknown-key]
        if self.receiver is not None and self.parser.should_upgrade() and self._get_upgrade() == PROTOCOL:
            self._switching = True
            self._check_member(self.receiver)
        super().on_headers_complete()
        self.headers = []  # trailers are no headers of the request
        if self.surplus and self.cycle is not None:
            self.cycle.keep_alive = False

    def _should_upgrade(self) -> bool:
        """Whether another protocol follows this request, so that it has no response."""
        return self._switching

    def _check_member(self, receiver: "Receiver") -> None:
        """Refuse to switch to the protocol of members where it is none, or something else is under way."""
        if receiver.leaving:
            self._refuse(STOPPING)
        elif not receiver.accepts(dict(self.headers)):
            self._refuse(Unauthorized("this is not the secret of this process"))
        elif self.pipeline or (self.cycle is not None and not self.cycle.response_complete):
            self._refuse(BadRequest("a connection is switched to another protocol when all requests are answered"))

    def _switch(self, data: bytes) -> None:
        """Go on with the protocol of members: limits are for clients."""
        assert self.receiver is not None
        self.limiter.free(self)
        self.connections.discard(self)
        self.receiver.open(self.transport, self.tasks).data_received(data)

    def on_body(self, body: bytes) -> None:
        """Pass on a part of a body, which the reader counts."""
        self._overhead = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = time.monotonic()
        super().on_response_complete()

    def shutdown(self) -> None:
        """Finish a request that is complete; close otherwise. A client that does not read is waited for a moment."""
        if self.waiting:
            self.leave()
        else:
            super().shutdown()
        self.loop.call_later(LINGER_S, self._abort_if_unread)

    def _abort_if_unread(self) -> None:
        """Abort where only the client can go on: what it has not read would keep the connection open."""
        if self.transport.is_closing() or self.waiting:
            self.transport.abort()
        else:
            self.loop.call_later(LINGER_S, self._abort_if_unread)

    def _refuse(self, error: HttpError) -> None:
        """Answer with an error, and close when the client had time to read it.

        What the client still sends is dropped. If it were left unread, the system would reset the connection, and the
        response could be lost.
        """
        if self._refused:
            return
        self._refused = True
        self._unset_keepalive_if_required()
        status, body, media = error_reply(error)
        head = [STATUS_LINE[status], b"content-type: %s\r\nconnection: close\r\n" % media]
        if self.cycle is None or self.cycle.response_complete:  # else it would be in the middle of a response
            self.transport.write(b"".join([*head, b"content-length: %d\r\n\r\n" % len(body), body]))
        self.loop.call_later(LINGER_S, self.transport.close)
