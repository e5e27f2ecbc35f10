"""`driftwise keys`: make, list and revoke keys, in a store nobody serves, or through the service that does."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from driftwise.errors import DriftwiseError, ParameterError
from driftwise.serve.catalogue import Catalogue
from driftwise.serve.engine import now_us
from driftwise.serve.events import Body, KeyRevoked
from driftwise.serve.journal import CATALOGUE, InUseError, open_journal
from driftwise.serve.keys import new_key
from driftwise.serve.token import drop_token

DAY_S = 86_400


def create(
    store: str, url: str | None, *, name: str, scopes: list[str], days: float | None, deployments: list[str] | None
) -> str:
    """A new key, as text."""
    if days is not None and not 0 < days <= 10_000:
        raise ParameterError(f"days={days:g} is outside (0, 10000]")
    if url:
        seconds = None if days is None else days * DAY_S
        wanted = {"name": name, "scopes": scopes, "expires_in": seconds, "deployments": deployments}
        made: str = _ask(url, "POST", "/v1/keys", wanted)["key"]
        return made
    expires = None if days is None else now_us() + int(1e6 * days * DAY_S)
    text, body = new_key(name, scopes, expires=expires, deployments=deployments)
    with _catalogue(store) as (catalogue, write):
        if not catalogue.keys and ("admin" not in scopes or deployments is not None):
            raise ParameterError(
                f"scopes={','.join(scopes)} will not do for the first API key: from now on every request needs a key, "
                "so create one with --scopes admin, for all deployments, first"
            )
        write(catalogue, body)
    drop_token(store)
    return text


def listed(store: str, url: str | None) -> Iterator[str]:
    """A line per key."""
    if url:
        keys = _ask(url, "GET", "/v1/keys")["keys"]
        for key in keys:
            yield _line(key["id"], key["name"], key["scopes"], key.get("deployments"), key.get("expires"))
        return
    with _catalogue(store) as (catalogue, _):
        for made in catalogue.keys.values():
            expires = None if made.expires is None else made.expires / 1e6
            yield _line(made.id, made.name, made.scopes, made.deployments, expires)


def _line(id: str, name: str, scopes: list[str], deployments: list[str] | None, expires: float | None) -> str:
    where = "everywhere" if deployments is None else ",".join(deployments)
    until = "for ever" if expires is None else time.strftime("until %Y-%m-%d %H:%M UTC", time.gmtime(expires))
    return f"{id}  {name}  {','.join(scopes)}  {where}  {until}"


def revoke(store: str, url: str | None, id: str) -> None:
    """Revoke a key."""
    if url:
        _ask(url, "DELETE", f"/v1/keys/{urllib.request.pathname2url(id)}")
        return
    with _catalogue(store) as (catalogue, write):
        if id not in catalogue.keys:
            raise ParameterError(f"there is no key {id}: driftwise keys list shows what there is")
        write(catalogue, KeyRevoked(id))


@contextmanager
def _catalogue(store: str) -> Iterator[Any]:
    try:
        journal = open_journal(store)
    except InUseError as error:
        raise InUseError(f"{error}; stop the service, or give --url and an admin key in DRIFTWISE_KEY") from None
    try:
        catalogue = Catalogue()
        for event in journal.read(CATALOGUE):
            catalogue.apply(event)

        def write(catalogue: Catalogue, body: Body) -> None:
            journal.append([catalogue.event(body, now_us())])

        yield catalogue, write
    finally:
        journal.close()


def _ask(url: str, method: str, path: str, body: Any = None) -> Any:
    """One request to a running service, with the API key or the token in the environment."""
    if not url.startswith(("http://", "https://")):
        raise ParameterError(f"url={url} is not http://... or https://...")
    request = urllib.request.Request(url.rstrip("/") + path, method=method)
    request.add_header("content-type", "application/json")
    if key := os.environ.get("DRIFTWISE_KEY") or os.environ.get("DRIFTWISE_TOKEN"):
        request.add_header("authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, json.dumps(body).encode() if body else None, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        try:
            why = json.load(error)["error"]
        except (ValueError, KeyError):
            why = f"HTTP {error.code}"
        hint = "" if error.code != 401 else "; put an admin key into DRIFTWISE_KEY, or stop the service and use --store"
        raise DriftwiseError(f"the service refused: {why}{hint}") from None
    except urllib.error.URLError as error:
        raise DriftwiseError(f"{url} does not answer: {error.reason}") from None
