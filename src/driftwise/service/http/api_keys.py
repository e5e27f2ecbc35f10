"""API keys: 256 random bits, of which only a hash is stored.

A key is `dw_ID_SECRET`. It is looked up by its id and compared by its hash in constant time. The hash is a plain
SHA-256: a slow one protects passwords that people choose, and a random key cannot be guessed anyway.
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
    "read": "read deployments, decisions, statistics and metrics",
    "decide": "make decisions",
    "learn": "send outcomes and cancel decisions",
    "admin": "all of these, and create, change and retire deployments and API keys",
}
_NOBODY = hashlib.sha256(b"nobody").digest()


def new_key(
    name: str, scopes: Iterable[str], *, expires: int | None = None, deployments: list[str] | None = None
) -> tuple[str, ApiKeyCreated]:
    """The text of a new key, and the event that records it. `expires` is in microseconds since 1970."""
    names = sorted(set(scopes))
    unknown = [scope for scope in names if scope not in SCOPES]
    if unknown or not names:
        raise ParameterError(f"scopes={','.join(names)} are not some of {', '.join(SCOPES)}")
    if not name.isprintable() or not 1 <= len(name) <= 100:
        raise ParameterError(f"name={name!r} is not printable text of at most 100 letters")
    id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    text = f"dw_{id}_{secret}"
    return text, ApiKeyCreated(id, name, hashlib.sha256(text.encode()).digest(), names, expires, deployments)


def find_api_key(text: str, catalogue: Catalogue, now: int) -> ApiKeyCreated:
    """The key with this text, or an error that does not say why, because that would help guessing."""
    id = text.split("_")[1] if text.startswith("dw_") and text.count("_") >= 2 else ""
    key = catalogue.keys.get(id)
    digest = hashlib.sha256(text.encode(errors="replace")).digest()
    same = hmac.compare_digest(digest, key.hash if key else _NOBODY)
    if key is None or not same or (key.expires is not None and key.expires <= now):
        raise Unauthorized("this API key is unknown, expired or revoked")
    return key


def is_admin(key: ApiKeyCreated, now: int) -> bool:
    """Whether a key can administer all of the service, now."""
    return "admin" in key.scopes and key.deployments is None and (key.expires is None or key.expires > now)


def allows(key: ApiKeyCreated, scope: str, deployment: str | None, *, filtered: bool = False) -> bool:
    """Whether a key has a scope for a deployment.

    A key for some deployments has no others, except for requests without a deployment that are `filtered` for it.
    """
    if key.deployments is not None and deployment not in key.deployments and not (filtered and deployment is None):
        return False
    return scope in key.scopes or "admin" in key.scopes
