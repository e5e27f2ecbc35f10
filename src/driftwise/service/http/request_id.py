"""The id of a request: the client's own, where it sends a good one, or sixteen random digits."""

import re
import secrets
from collections.abc import Iterable

HEADER = b"x-request-id"
GOOD = re.compile(rb"[\x21-\x7e]{1,100}")


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The id for the answer and for the log.

    >>> request_id([(b"x-request-id", b"order-17")])
    b'order-17'
    >>> len(request_id([(b"x-request-id", b"two words")]))
    16
    """
    for name, value in headers:
        if name == HEADER and GOOD.fullmatch(value):
            return value
    return secrets.token_hex(8).encode()
