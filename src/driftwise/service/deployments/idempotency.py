"""Idempotency keys: the same request with the same key is done once, and answered alike each time."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from driftwise.service.store.journal import Answer

Reply = tuple[int, bytes]


class IdempotencyKey:
    """The idempotency key of a request, with its caller and a fingerprint of the request."""

    __slots__ = ("fingerprint", "key")

    def __init__(self, caller: str = "", key: str | None = None, request: bytes = b"") -> None:
        self.key = f"{caller}/{key}" if key else ""
        self.fingerprint = hashlib.sha256(request).digest() if key else b""

    def answers(self, reply: Reply, at: int) -> Sequence[Answer]:
        """What to store of the reply."""
        return [Answer(self.key, self.fingerprint, at, *reply)] if self.key else ()


NO_KEY = IdempotencyKey()


class Replayed(NamedTuple):
    """The stored answer of a request that was done before, under the same key."""

    status: int
    body: bytes
