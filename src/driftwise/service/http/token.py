"""The token of a service without API keys: created at its first start, in a file that only its owner can read.

A SQLite store has it beside it, as STORE.token. For PostgreSQL it lies in the user's state directory,
`$XDG_STATE_HOME/driftwise` or `~/.local/state/driftwise`, under a name made from the address of the store. It is no
part of the store, so that no copy or dump of a store holds it.
"""

import hashlib
import os
import re
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from driftwise.errors import ParameterError

TOKEN = re.compile(r"dwt_[\w-]{43}")
OTHERS = 0o077  # permissions of anybody but the owner


def token_file(store: str) -> Path:
    """Where the token of a store is."""
    kind, separator, rest = store.partition("://")
    if kind not in ("postgresql", "postgres"):
        path = Path(rest.removeprefix("/") if separator else store)
        return Path(f"{path.resolve()}.token")
    address = rest.rpartition("@")[2]  # without user and password
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return folder / "driftwise" / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}.token"


def load_token(store: str) -> str | None:
    """The token of a store; None where there is none, or where other users could have read or written it."""
    try:
        with os.fdopen(os.open(token_file(store), os.O_RDONLY | os.O_NOFOLLOW), encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            text = file.read(100).strip()
    except (OSError, RuntimeError, UnicodeDecodeError):
        return None
    private = status.st_uid == os.geteuid() and not status.st_mode & OTHERS
    return text if private and TOKEN.fullmatch(text) else None


def ensure_token(store: str) -> tuple[str, str | None]:
    """The token of a store, created if there is none, and the reason if it could not be stored."""
    token = load_token(store)
    if token is not None:
        return token, None
    token = f"dwt_{secrets.token_urlsafe(32)}"
    try:
        path = token_file(store)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{token}\n")
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except (OSError, RuntimeError) as error:
        return token, str(error)
    return token, None


def drop_token(store: str) -> None:
    """Delete the token: an API key exists, so it has no use."""
    with suppress(OSError, RuntimeError):
        token_file(store).unlink()


def show_token(store: str) -> str:
    """The token of a store, for people."""
    token = load_token(store)
    if token is None:
        raise ParameterError(
            f"there is no token at {token_file(store)}: `driftwise serve` creates it at its first start, and creating "
            "the first API key deletes it"
        )
    return token
