"""`driftwise keys`: create, list and revoke API keys, in a store that is not in use, or through a running service."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import msgspec

from driftwise.cli.store import opened
from driftwise.errors import DriftwiseError, ParameterError
from driftwise.service.deployments.catalogue import Catalogue, read_catalogue
from driftwise.service.deployments.clock import now_us, utc
from driftwise.service.http.api_keys import new_key
from driftwise.service.http.schemas.responses import ApiKeyList
from driftwise.service.http.token import drop_token
from driftwise.service.store.events import ApiKeyRevoked, Body
from driftwise.service.store.journal import NoStoreError

DAY_S = 86_400


def create(
    store: str, url: str | None, *, name: str, scopes: list[str], days: float | None, deployments: list[str] | None
) -> str:
    """Create a key; returns its text."""
    if days is not None and not 0 < days <= 10_000:
        raise ParameterError(f"days={days:g} is outside (0, 10000]")
    if url:
        seconds = None if days is None else days * DAY_S
        request = {"name": name, "scopes": scopes, "expires_in": seconds, "deployments": deployments}
        key: str = _call(url, "POST", "/v1/keys", request)["key"]
        return key
    expires = None if days is None else now_us() + int(1e6 * days * DAY_S)
    text, body = new_key(name, scopes, expires=expires, deployments=deployments)
    can_be_first = "admin" in scopes and deployments is None
    try:
        with _catalogue(store, create=can_be_first) as (catalogue, write):
            if catalogue.keys or can_be_first:
                write(body)
                drop_token(store)
                return text
    except NoStoreError as error:
        raise NoStoreError(f"{error}; the first key of a new store needs --scopes admin") from None
    raise ParameterError(
        f"scopes={','.join(scopes)} will not do for the first API key: from now on every request needs a key, "
        "so create one with --scopes admin, for all deployments, first"
    )


def list_keys(store: str, url: str | None) -> Iterator[str]:
    """A line of text per key."""
    if url:
        for key in msgspec.convert(_call(url, "GET", "/v1/keys"), ApiKeyList).keys:
            yield _line(key.id, key.name, key.scopes, key.deployments, key.expires_at)
        return
    with _catalogue(store) as (catalogue, _):
        for entry in catalogue.keys.values():
            expires_at = None if entry.expires is None else utc(entry.expires)
            yield _line(entry.id, entry.name, entry.scopes, entry.deployments, expires_at)


def _line(id: str, name: str, scopes: list[str], deployments: list[str] | None, expires_at: datetime | None) -> str:
    where = "everywhere" if deployments is None else ",".join(deployments)
    until = "for ever" if expires_at is None else f"until {expires_at:%Y-%m-%d %H:%M} UTC"
    return f"{id}  {name}  {','.join(scopes)}  {where}  {until}"


def revoke(store: str, url: str | None, id: str) -> None:
    """Revoke a key."""
    if url:
        _call(url, "DELETE", f"/v1/keys/{urllib.request.pathname2url(id)}")
        return
    with _catalogue(store) as (catalogue, write):
        if id not in catalogue.keys:
            raise ParameterError(f"there is no API key {id}; `driftwise keys list` lists them")
        write(ApiKeyRevoked(id))


@contextmanager
def _catalogue(store: str, *, create: bool = False) -> Iterator[tuple[Catalogue, Callable[[Body], None]]]:
    with opened(store, create=create, instead="give --url and an admin key in DRIFTWISE_KEY") as journal:
        catalogue = read_catalogue(journal)

        def write(body: Body) -> None:
            journal.append([catalogue.event(body, now_us())])

        yield catalogue, write


def _call(url: str, method: str, path: str, body: object = None) -> Any:
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
            detail = json.load(error)["detail"]
        except (ValueError, KeyError):
            detail = f"HTTP {error.code}"
        hint = "" if error.code != 401 else "; put an admin key into DRIFTWISE_KEY, or stop the service and use --store"
        raise DriftwiseError(f"the service answered {error.code}: {detail}{hint}") from None
    except urllib.error.URLError as error:
        raise DriftwiseError(f"no answer from {url}: {error.reason}") from None
