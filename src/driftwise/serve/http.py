"""One request: who asks, what is asked, and how it is answered. Endpoints are values; the app is a list of them.

An endpoint says what it takes and gives, in types; from that come decoding, refusing, and the OpenAPI document. It is
an ASGI application of its own, so that nothing stands between the server and it.
"""

import asyncio
import functools
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.serve.answers import Problem
from driftwise.serve.engine import NO_KEY, Engine, Keyed, Reply
from driftwise.serve.events import KeyMade
from driftwise.serve.journal import JournalError
from driftwise.serve.keys import allows, opened_by
from driftwise.serve.refusals import Forbidden, Malformed, Refusal, TooLarge, Unauthorised, Unavailable, Unknown

BODY_S = 20  # how long a body may take to arrive
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
NAME_PATTERN = "{1,64}"  # as decoders tell it
KEY = re.compile(r"[\x21-\x7e]{1,200}\Z")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
JSON = b"application/json"
log = logging.getLogger("driftwise.serve")


@dataclass(frozen=True)
class Limits:
    """What a service lets a request bring."""

    body: int = 1 << 18
    connections: int = 1000


@dataclass
class Service:
    """What every endpoint needs. `open` is True where no key is asked for: on this machine, before any was made."""

    engine: Engine
    limits: Limits = field(default_factory=Limits)
    loopback: bool = True

    @property
    def open(self) -> bool:
        """Whether anybody may do anything."""
        return self.loopback and not self.engine.catalogue.made_at


class Call:
    """A request, as a handler sees it."""

    __slots__ = ("body", "caller", "engine", "key", "path", "query", "service")

    def __init__(self, service: Service, path: dict[str, Any], query: dict[str, str]) -> None:
        self.service, self.engine, self.path, self.query = service, service.engine, path, query
        self.body: Any = None
        self.key: Keyed = NO_KEY
        self.caller: KeyMade | None = None

    @property
    def name(self) -> str:
        """The deployment in the path."""
        name: str = self.path["name"]
        return name

    def number(self, word: str, default: int, low: int, high: int) -> int:
        """A whole number from the query."""
        text = self.query.get(word)
        if text is None:
            return default
        if not re.fullmatch(r"-?[0-9]{1,16}", text) or not low <= int(text) <= high:
            raise Malformed(f"{word} is not a whole number from {low} to {high}")
        return int(text)


class Stream:
    """An answer that is too long to be held: chunks, and what they are."""

    def __init__(self, chunks: AsyncIterator[bytes], media: str, filename: str) -> None:
        self.chunks, self.media, self.filename = chunks, media, filename


Handler = Callable[[Call], Awaitable[Any]]


class Endpoint:
    """A method, a path, who may use it, what it takes and gives, and what does it."""

    def __init__(
        self,
        method: str,
        path: str,
        handler: Handler,
        *,
        scope: str | None,
        gives: Any,
        takes: Any = None,
        status: int = 200,
        keyed: bool = False,
        query: dict[str, tuple[Any, str]] | None = None,
    ) -> None:
        self.method, self.path, self.handler, self.scope = method, path, handler, scope
        self.takes, self.gives, self.status, self.keyed, self.query = takes, gives, status, keyed, query or {}
        self._decoder = None if takes is None else msgspec.json.Decoder(takes)
        self.service: Service  # set when the app is made
        self.label = f"{method} {path}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["endpoint_label"] = self.label
        first = b""
        try:
            reply = await self._reply(scope, receive)
            if isinstance(reply, Stream):  # when it cannot even begin, that can still be said
                first = await anext(reply.chunks, b"")
        except DriftwiseError as error:
            reply = refusal(error)
        except Exception:
            log.exception("a request failed", extra={"facts": {"endpoint": self.label}})
            self.service.engine.doubt((scope.get("path_params") or {}).get("name"))
            reply = 500, msgspec.json.encode(Problem("internal", "something went wrong here; it has been logged"))
        if isinstance(reply, Stream):
            try:
                await _stream(reply, first, send)
            except DriftwiseError as error:  # too late to refuse: the server ends the connection, the log says why
                log.error("an answer was cut off", extra={"facts": {"endpoint": self.label, "why": str(error)}})
        else:
            await answer(send, *reply)

    async def _reply(self, scope: Any, receive: Any) -> Reply | Stream:
        headers = dict(scope["headers"])
        path = scope.get("path_params") or {}
        name = path.get("name")
        service = self.service
        caller = _caller(service, headers, self.scope, name)
        if name is not None and not NAME.match(name):
            raise Unknown("there is no deployment of that name")
        call = Call(service, path, _query(scope, self.query))
        call.caller = caller
        if caller is not None:
            scope["caller"] = caller.id
        if self._decoder is not None:
            if headers.get(b"content-type", b"").split(b";")[0].strip().lower() != JSON:
                raise Malformed("the body must be JSON: content-type: application/json")
            body = await read_body(scope, headers, receive, service.limits.body)
            try:
                call.body = self._decoder.decode(body)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise Malformed(_why_malformed(body, str(error))) from None
        key = headers.get(b"idempotency-key")
        if key is not None and self.keyed:
            text = key.decode("latin-1")
            if not KEY.match(text):
                raise Malformed("the idempotency key is not 1 to 200 visible ASCII characters")
            what = f"{self.method} {scope['path']} ".encode() + msgspec.json.encode(call.body)
            call.key = Keyed(caller.id if caller is not None else "", text, what)
        done = await self.handler(call)
        if isinstance(done, Stream):
            return done
        return done if isinstance(done, tuple) else (self.status, msgspec.json.encode(done))


class Methods:
    """What a path answers to, by method."""

    def __init__(self, table: list[Endpoint]) -> None:
        self.table = {each.method: each for each in table}
        self.allowed = ", ".join(sorted(self.table)).encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        found = self.table.get(scope["method"])
        if found is not None:
            await found(scope, receive, send)
        else:
            await nothing_here(scope, receive, send, 405, [(b"allow", self.allowed)])


async def nothing_here(scope: Any, receive: Any, send: Any, status: int = 404, more: Any = ()) -> None:
    """A path or a method that is not there."""
    if scope["type"] == "http":
        problem = Problem("unknown", f"there is nothing to {scope['method']} here")
        await answer(send, status, msgspec.json.encode(problem), more=more)


def _why_malformed(body: bytes, error: str) -> str:
    """The decoder's sentence, and what it means."""
    if not body.strip():
        return "the body is empty: send a JSON document, {} at least"
    if NAME_PATTERN in error:
        error = "a name is letters, digits, `_`, `.` and `-`, at most 64 of them"
    if "malformed" in error and re.search(rb"NaN|Infinity|nan|inf", body):
        error += "; NaN and infinity are no numbers in JSON"
    return f"the body is not what is expected: {error}"


def _query(scope: Any, known: dict[str, tuple[Any, str]]) -> dict[str, str]:
    text = scope["query_string"]
    if not text:
        return {}
    given = dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True))
    for word in given:
        if word not in known:
            raise Malformed("the query holds a word that means nothing here")
    return given


def _caller(service: Service, headers: dict[bytes, bytes], scope: str | None, name: str | None) -> KeyMade | None:
    """Who asks, if that may be asked; the service is open where it has no keys and listens to this machine only."""
    if scope is None:
        return None
    if service.open:
        _check_same_site(headers)
        return None
    kind, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if kind.lower() != "bearer" or not text:
        raise Unauthorised("a key is needed: authorization: Bearer dw_...")
    key = opened_by(text.strip(), service.engine.catalogue, service.engine.clock())
    if not allows(key, scope, name):
        raise Forbidden(f"this key does not allow to {scope} here")
    return key


def _check_same_site(headers: dict[bytes, bytes]) -> None:
    """Without keys, a page from elsewhere that is open in a browser on this machine must not be let in."""
    host, origin = headers.get(b"host"), headers.get(b"origin")
    if host and not _is_here(b"//" + host):
        raise Forbidden("without keys only this machine is served, under its own name")
    if origin is not None and not _is_here(origin):
        raise Forbidden("without keys pages from elsewhere are not served")


@functools.lru_cache(maxsize=256)
def _is_here(url: bytes) -> bool:
    try:
        return urlsplit(url.decode("latin-1")).hostname in LOOPBACK
    except ValueError:
        return False


async def read_body(scope: Any, headers: dict[bytes, bytes], receive: Any, most: int) -> bytes:
    """A body of at most `most` bytes, counted as they come: what a header says of its length may be a lie."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > most:
        raise TooLarge(f"the body is larger than {most} bytes")
    message = await receive()
    if not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > most:
            raise TooLarge(f"the body is larger than {most} bytes")
        return body
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                if message["type"] == "http.disconnect":
                    raise Malformed("the body ended too early")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise TooLarge(f"the body is larger than {most} bytes")
                if not message.get("more_body"):
                    return b"".join(parts)
                message = await receive()
    except TimeoutError:
        raise Malformed(f"the body took longer than {BODY_S} seconds") from None


def refusal(error: DriftwiseError) -> Reply:
    """What a refused request is answered. Other errors of driftwise are about what was asked for: 422."""
    if isinstance(error, JournalError):
        log.error("the store failed a request", extra={"facts": {"why": str(error)}})
        error = Unavailable(f"the store cannot be read just now ({error.reason}); ask again")
    status, code = (error.status, error.code) if isinstance(error, Refusal) else (422, "refused")
    return status, msgspec.json.encode(Problem(code, str(error)))


RETRY = {429: b"1", 503: b"1"}


async def answer(send: Any, status: int, body: bytes, media: bytes = JSON, more: Any = ()) -> None:
    """Send a whole answer."""
    headers = [(b"content-type", media), (b"content-length", str(len(body)).encode()), *more]
    if status in RETRY:
        headers.append((b"retry-after", RETRY[status]))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(stream: Stream, first: bytes, send: Any) -> None:
    headers = [(b"content-type", stream.media.encode())]
    if stream.filename:
        headers.append((b"content-disposition", f'attachment; filename="{stream.filename}"'.encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if first:
        await send({"type": "http.response.body", "body": first, "more_body": True})
    async for chunk in stream.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
