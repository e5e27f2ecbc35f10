"""Frames between members: many requests and responses over one connection, side by side.

A member opens the connection as HTTP, shows the secret of the other, and asks for this protocol instead (`Upgrade`). A
frame is the length of its content, its kind, the number of its request, and the content. To the owner of a deployment:

    REQUEST     a `RoutedRequest`
    MORE        the next part of a long response is wanted
    CANCEL      a long response is not wanted any more

and back:

    RESPONSE    a `ResponseMessage`, whole
    START       a `ResponseMessage` without its body
    PART, END   a part of the body, and that there is none any more
    CUT         it failed after it was started
    LEAVE       the owner stops: requests go elsewhere from now on, and the connection ends with the last response

A part is sent when it is wanted: a client that reads slowly fills no memory, and other responses do not wait for it.
"""

import asyncio
import socket
import struct
from abc import ABC, abstractmethod
from typing import NamedTuple

import msgspec

PROTOCOL = b"driftwise-frames"  # the name in the header `upgrade`
SECRET = b"x-driftwise-secret"  # the header with the secret
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: %s\r\n\r\n" % PROTOCOL
REQUEST, MORE, CANCEL, RESPONSE, START, PART, END, CUT, LEAVE = range(9)
PART_SIZE = 1 << 16  # bytes; a longer body is sent in parts
HEAD = struct.Struct(">IBQ")
KEEP_ALIVE = [  # an idle connection is tried now and then, and one is lost when nothing has arrived there for 10 s
    (level, getattr(socket, name), value)
    for level, name, value in (
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 15),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 5),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", 2),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", 10_000),
    )
    if hasattr(socket, name)
]


class RoutedRequest(msgspec.Struct, array_like=True, gc=False):
    """A request whose caller may do it, as any process can do it."""

    endpoint: str  # its label
    path: str
    name: str  # of the deployment; empty where the path has none
    id: str
    query: dict[str, str]
    idempotency_key: str | None
    request_id: str
    caller: str  # the id of the API key; empty where auth is off
    body: bytes
    repeatable: bool  # whether it may be sent twice


class ResponseMessage(msgspec.Struct, array_like=True, gc=False):
    """A response. One in parts has no body yet: either its `length` is known, or it is a stream for a file."""

    status: int
    body: bytes
    media: bytes
    headers: list[tuple[bytes, bytes]]
    length: int | None = None
    filename: str = ""


class Frame(NamedTuple):
    """A frame that has arrived."""

    kind: int
    number: int
    content: bytes


class FrameReader:
    """Makes frames of bytes as they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now.

        >>> reader, sent = FrameReader(), frame_bytes(REQUEST, 7, b"abc")
        >>> reader.feed(sent[:9]), reader.feed(sent[9:])
        ([], [Frame(kind=0, number=7, content=b'abc')])
        """
        buffer, start, frames = self._buffer, 0, []
        buffer += data
        while len(buffer) - start >= HEAD.size:
            length, kind, number = HEAD.unpack_from(buffer, start)
            end = start + HEAD.size + length
            if end > len(buffer):
                break
            frames.append(Frame(kind, number, bytes(buffer[start + HEAD.size : end])))
            start = end
        del buffer[:start]
        return frames


def frame_bytes(kind: int, number: int, content: bytes = b"") -> bytes:
    """A frame, ready to be sent."""
    return HEAD.pack(len(content), kind, number) + content


def keep_alive(transport: asyncio.BaseTransport) -> None:
    """Find out when the other end of a connection has gone without a word."""
    end = transport.get_extra_info("socket")
    if end is not None and end.family in (socket.AF_INET, socket.AF_INET6):
        for level, option, value in KEEP_ALIVE:
            end.setsockopt(level, option, value)


class FrameConnection(asyncio.Protocol, ABC):
    """One end of a connection: `on_frame` is called with what arrives, `on_end` when nothing can any more."""

    def __init__(self) -> None:
        self.closed = False
        self._transport: asyncio.Transport  # one that buffers
        self._reader = FrameReader()

    def write(self, kind: int, number: int, content: bytes = b"") -> None:
        """Send a frame, with all others of this round of the event loop."""
        if not self.closed:
            self._transport.write(frame_bytes(kind, number, content))

    def close(self) -> None:
        """Close when everything is sent."""
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    @abstractmethod
    def on_frame(self, frame: Frame) -> None:
        """A frame has arrived."""

    @abstractmethod
    def on_end(self) -> None:
        """The connection is closed."""

    # ---- events of the transport ----

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits."""
        self.closed = True
        self.on_end()

    def data_received(self, data: bytes) -> None:
        """Read frames."""
        for frame in self._reader.feed(data):
            self.on_frame(frame)
