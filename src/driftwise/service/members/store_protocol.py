"""Messages between workers and the parent that has their SQLite store: a call and its result, as msgpack.

A frame is its length in four bytes and a message: `[operation, member, arguments]` there, `[error, values]` back, where
error is empty if there is none. Over one connection one call is made at a time.
"""

import socket
import struct
from typing import Any

import msgspec

from driftwise.service.members.roster import Member
from driftwise.service.store.journal import (
    Answer,
    DamagedError,
    Event,
    ExpelledError,
    JournalError,
    Origin,
    Snapshot,
)

LENGTH = struct.Struct(">I")
WRITES: dict[str, Any] = {  # operations of the journal, and the types of their arguments
    "append": tuple[list[Event], list[Answer], list[Snapshot]],
    "forget_answers": tuple[int],
    "rebase": tuple[Origin, list[Event]],
    "append_origin": tuple[list[Event], list[Answer], Snapshot],
    "erase": tuple[int, list[Event]],
    "trim": tuple[int],
    "drop": tuple[int],
    "scrub": tuple[()],
    "release": tuple[()],
    "compact": tuple[()],
    "recover": tuple[()],
}
ROSTER: dict[str, Any] = {
    "join": tuple[Member],
    "renew": tuple[int, bool],
    "expel": tuple[int],
    "move": tuple[list[int], int, int],
    "leave": tuple[int],
}
ERRORS: dict[str, type[JournalError]] = {
    "expelled": ExpelledError,
    "damaged": DamagedError,
    "failed": JournalError,
}
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
for _kind in (*WRITES.values(), *ROSTER.values()):
    msgspec.msgpack.Decoder(_kind)  # so that msgspec knows the type before several threads need it


def send(connection: socket.socket, *message: object) -> None:
    """Send a message."""
    content = _encode(message)
    connection.sendall(LENGTH.pack(len(content)) + content)


def receive(connection: socket.socket) -> list[Any] | None:
    """The next message; None at the end of the connection."""
    head = _read(connection, LENGTH.size)
    content = None if head is None else _read(connection, *LENGTH.unpack(head))
    return None if content is None else _decode(content)


def _read(connection: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def error_message(error: Exception) -> tuple[str, list[object]]:
    """An error, as it is sent."""
    if isinstance(error, ExpelledError):
        return "expelled", []
    if isinstance(error, DamagedError):
        return "damaged", [str(error), error.event]
    if isinstance(error, JournalError):
        return "failed", [str(error), error.reason]
    return "failed", [repr(error)]
