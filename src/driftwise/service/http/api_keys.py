"""API keys: 256 random bits, of which only a hash is kept.

A key is `dw_ID_SECRET`. It is found by its id and compared by its hash in constant time. The hash is a plain SHA-256: a
slow one protects passwords that people choose, and a random key cannot be guessed anyway.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable

from driftwise.errors import ParameterError
from driftwise.service.deployments.catalogue import Catalogue
from driftwise.service.http.errors import Unauthorized
from driftwise.service.store.events import ApiKeyCreated

SCOPES = {
    "read": "see deployments, decisions, statistics and metrics",
    "decide": "ask for decisions",
    "learn": "tell outcomes",
    "admin": "all of it, and make, change and retire deployments and keys",
}
_NOBODY = hashlib.sha256(b"nobody").digest()


def new_key(
    name: str, scopes: Iterable[str], *, expires: int | None = None, deployments: list[str] | None = None
) -> tuple[str, ApiKeyCreated]:
    """A key to give away, and what is kept of it. `expires` is in microseconds since 1970."""
    wanted = sorted(set(scopes))
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        raise ParameterError(f"scopes={','.join(wanted)} are not some of {', '.join(SCOPES)}")
    if not name.isprintable() or not 1 <= len(name) <= 100:
        raise ParameterError(f"name={name!r} is not printable text of at most 100 letters")
    id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    text = f"dw_{id}_{secret}"
    return text, ApiKeyCreated(id, name, hashlib.sha256(text.encode()).digest(), wanted, expires, deployments)


def find_api_key(text: str, catalogue: Catalogue, now: int) -> ApiKeyCreated:
    """The key a caller has shown; it is refused without saying why, for that would help a guesser."""
    id = text.split("_")[1] if text.startswith("dw_") and text.count("_") >= 2 else ""
    found = catalogue.keys.get(id)
    shown = hashlib.sha256(text.encode(errors="replace")).digest()
    same = hmac.compare_digest(shown, found.hash if found else _NOBODY)
    if found is None or not same or (found.expires is not None and found.expires <= now):
        raise Unauthorized("this API key is unknown, expired or revoked")
    return found


def allows(key: ApiKeyCreated, scope: str, deployment: str | None, *, filtered: bool = False) -> bool:
    """Whether a key allows something.

    One for some deployments allows nothing else, except what names no deployment and is `filtered` for it.
    """
    if key.deployments is not None and deployment not in key.deployments and not (filtered and deployment is None):
        return False
    return scope in key.scopes or "admin" in key.scopes
