"""One connection: it waits only so long for a request, and sends an answer in one piece."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S = 10  # a request that has not said what it wants after this, or twice this, is given up
LARGE = 1 << 16


class Whole:
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
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))


class Connection(HttpToolsProtocol):
    """A connection that does not come to the point is closed; one that rests between requests has longer."""

    def connection_made(self, transport: Any) -> None:
        """Start looking."""
        super().connection_made(Whole(transport, self.loop))  # type: ignore[arg-type]
        self._seen: Any = None
        self.loop.call_later(HEADERS_S, self._look)

    def _look(self) -> None:
        """Close when nothing has been asked yet, or when half a request is all there was at the last look."""
        asked = self.scope
        if self.transport.is_closing():
            return
        if asked is None or (asked is self._seen and "path" not in asked):
            self.transport.close()
        else:
            self._seen = asked
            self.loop.call_later(HEADERS_S, self._look)
