"""One request: who asks, what is asked, and how it is answered. Endpoints are values; the app is a list of them.

An endpoint says what it takes and gives, in types; from that come decoding, refusing, and the OpenAPI document. It is
an ASGI application of its own, so that nothing stands between the server and it.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.serve.access import Access
from driftwise.serve.answers import Problem
from driftwise.serve.engine import NO_KEY, Engine, Keyed, Reply
from driftwise.serve.events import KeyMade
from driftwise.serve.journal import JournalError
from driftwise.serve.refusals import Malformed, Refusal, TooLarge, Unavailable, Unknown

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
NAME_PATTERN = "{1,64}"  # as decoders tell it
KEY = re.compile(r"[\x21-\x7e]{1,200}\Z")
MAX_ID = 2**53 - 1
JSON = b"application/json"
log = logging.getLogger("driftwise.serve")


@dataclass(frozen=True)
class Limits:
    """What a service takes: bytes of a body, connections in all and per client address, and seconds to wait."""

    body: int = 1 << 18
    connections: int = 1000
    per_client: int = 500
    health: int = 16  # connections beyond the limits, so that health checks are answered even then
    head_s: float = 10.0  # from the connection to the end of its first headers
    body_s: float = 20.0  # from the headers to the end of the body
    idle_s: float = 75.0  # from an answer to the end of the next headers, or until the client reads on


@dataclass
class Service:
    """What every endpoint needs."""

    engine: Engine
    limits: Limits = field(default_factory=Limits)
    access: Access = field(default_factory=Access)


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
        filtered: bool = False,
        query: dict[str, tuple[Any, str]] | None = None,
    ) -> None:
        self.method, self.path, self.handler, self.scope = method, path, handler, scope
        self.takes, self.gives, self.status, self.keyed, self.query = takes, gives, status, keyed, query or {}
        self.filtered = filtered  # what a key for some deployments may not see is left out of the answer
        self._numbered = "{id:int}" in path
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
            if self.keyed:  # it changes a deployment, and may have left it half changed; reading changes nothing
                self.service.engine.doubt((scope.get("path_params") or {}).get("name"))
            reply = 500, msgspec.json.encode(Problem("internal", "something went wrong here; it has been logged"))
        if isinstance(reply, Stream):
            await _stream(reply, first, send)
        else:
            await answer(send, *reply)

    async def _reply(self, scope: Any, receive: Any) -> Reply | Stream:
        headers = dict(scope["headers"])
        path = scope.get("path_params") or {}
        name = path.get("name")
        service = self.service
        caller = self._caller(headers, name)
        if name is not None and not NAME.match(name):
            raise Unknown("there is no deployment of that name")
        if self._numbered:
            path = path | {"id": decision_id(path["id"])}
        call = Call(service, path, _query(scope, self.query))
        call.caller = caller
        if caller is not None:
            scope["caller"] = caller.id
        if self._decoder is not None:
            if headers.get(b"content-type", b"").split(b";")[0].strip().lower() != JSON:
                raise Malformed("the body must be JSON: content-type: application/json")
            body = await read_body(headers, receive, service.limits)
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

    def _caller(self, headers: dict[bytes, bytes], name: str | None) -> KeyMade | None:
        if self.scope is None:
            return None
        engine = self.service.engine
        return self.service.access.caller(
            headers, engine.catalogue, engine.clock(), self.scope, name, filtered=self.filtered
        )


class Methods:
    """What a path answers to, by method."""

    def __init__(self, table: list[Endpoint]) -> None:
        self.table = {each.method: each for each in table}
        if "GET" in self.table:
            self.table["HEAD"] = self.table["GET"]  # the server leaves the body out
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


def decision_id(text: str) -> int:
    """The id of a decision in a path."""
    if re.fullmatch(r"[0-9]{1,16}", text) and int(text) <= MAX_ID:
        return int(text)
    shown = text if len(text) <= 20 else f"{text[:20]}..."
    raise Unknown(f"there is no decision {shown!r}: ids are whole numbers from 0 to {MAX_ID}")


async def read_body(headers: dict[bytes, bytes], receive: Any, limits: Limits) -> bytes:
    """A body that comes in time and is not too large; bytes are counted, for `content-length` may be a lie."""
    length = headers.get(b"content-length", b"0")
    left = limits.body if length.isdigit() and len(length) <= 16 and int(length) <= limits.body else -1
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(limits.body_s):
            while left >= 0:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Malformed("the body ended too early")
                parts.append(message.get("body", b""))
                left -= len(parts[-1])
                if left >= 0 and not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        raise Malformed(f"the body took longer than {limits.body_s:g} seconds") from None
    raise TooLarge(f"the body is larger than {limits.body} bytes")


def refusal(error: DriftwiseError) -> Reply:
    """What a refused request is answered. Other errors of driftwise are about what was asked for: 422."""
    if isinstance(error, JournalError):
        error = Unavailable("the store cannot be read just now; ask again")
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
