"""Hashes by which damage is found: a chain over the events of a stream, and a digest of every other row.

The link of an event is the hash of the link before it and of the event's own digest. So a changed event, one that is
lost, and one in another place all show where they are. Hashes are 64 bits, as integers that both databases store.

They find accidents, not intruders: whoever can write to the store can compute them, too.
"""

import struct
from hashlib import blake2b

import msgspec

from driftwise.service.store.events import Body, Erased, encode
from driftwise.service.store.journal import Answer, Event, Origin, Snapshot

START = 0  # the link before the first event of a stream
ERASED = "erased"
_EVENT = struct.Struct("<qqqqH")
_LINK = struct.Struct("<qq")
_ERASED = msgspec.msgpack.Decoder(Erased)


def link(before: int, event: Event) -> int:
    """The link of an event, from the link before it."""
    return _hash(_LINK.pack(before, digest_of(event)))


def digest_of(event: Event) -> int:
    """The digest of an event; of an erased one, that of the event as it was."""
    if event.kind == ERASED:
        return _original_digest(event)
    return content_digest(event)


def content_digest(event: Event) -> int:
    """The digest of an event as it stands."""
    stream, number, at, kind, body, ref = event
    return _hash(_EVENT.pack(stream, number, at, ref, len(kind)) + kind.encode() + body)


def _original_digest(event: Event) -> int:
    """The digest that an erased event stores of what it was, if its own digest fits."""
    try:
        erased = _ERASED.decode(event.body)
    except msgspec.DecodeError:
        return ~content_digest(event)  # it fits nothing
    check = content_digest(event._replace(body=erased.body))
    return erased.original if erased.check == check else ~erased.original


def erase(event: Event, body: Body) -> Event:
    """An event with another body in place of its own, and the same link."""
    erased = event._replace(kind=ERASED, body=encode(body))
    return erased._replace(body=encode(Erased(digest_of(event), content_digest(erased), erased.body)))


def answer_digest(answer: Answer) -> int:
    """The digest of an answer."""
    key, fingerprint, at, status, body = answer
    return _fields(at, status, key.encode(), fingerprint, body)


def snapshot_digest(snapshot: Snapshot, last: int) -> int:
    """The digest of a snapshot; `last` is the link of its last event."""
    return _fields(snapshot.stream, snapshot.number, _LINK.pack(last, 0), snapshot.body)


def origin_digest(origin: Origin) -> int:
    """The digest of an origin."""
    return _fields(
        origin.stream, origin.number, _LINK.pack(origin.first, origin.before), _LINK.pack(origin.link, 0), origin.body
    )


def head_digest(stream: int, number: int, last: int) -> int:
    """The digest of a head."""
    return _fields(stream, number, _LINK.pack(last, 0))


def _fields(one: int, two: int, *parts: bytes) -> int:
    lengths = b"".join(len(part).to_bytes(8, "little") for part in parts)
    return _hash(b"".join([_LINK.pack(one, two), lengths, *parts]))


def _hash(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little", signed=True)
