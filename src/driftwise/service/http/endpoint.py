"""Endpoints: from a request to the call of a handler, and from its result to a response.

An endpoint declares the types of its request and response; decoding, validation and the OpenAPI document follow from
them. It is an ASGI application of its own, so that nothing stands between the server and it.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope, Send

from driftwise.errors import DriftwiseError
from driftwise.service.deployments import audit
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import NO_KEY, IdempotencyKey, Replayed, Reply
from driftwise.service.http.access import MAX_QUOTE, Access, Headers
from driftwise.service.http.decode_errors import decode_error
from driftwise.service.http.errors import (
    BadRequest,
    ContentTooLarge,
    InternalError,
    LimitReached,
    MethodNotAllowed,
    NotFound,
    Replaying,
    Unauthorized,
    Unavailable,
    error_reply,
)
from driftwise.service.http.rate_limits import RateLimiter, RateLimits
from driftwise.service.members.forwarding import ForwardedResponse, NotAnsweredError
from driftwise.service.members.frames import RoutedRequest
from driftwise.service.members.router import Router
from driftwise.service.store.events import ApiKeyCreated, Audited

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
KEY = re.compile(r"[\x21-\x7e]{1,200}\Z")
MAX_ID = 2**53 - 1
JSON = b"application/json"
REPLAYED = ((b"idempotency-replayed", b"true"),)
QueryParameter = tuple[type, str]  # its type, and what it means
RawHeaders = Sequence[tuple[bytes, bytes]]
log = logging.getLogger("driftwise.service")


@dataclass(frozen=True)
class Limits:
    """Limits of a service: bytes of a body, connections in all and per client address, and seconds to wait."""

    max_body: int = 1 << 18
    max_connections: int = 1000
    max_per_client: int = 500
    max_health: int = 16  # connections beyond the limits, so that health checks are answered even then
    head_s: float = 10.0  # from the connection to the end of its first headers
    body_s: float = 20.0  # from the headers to the end of the body
    idle_s: float = 75.0  # from an answer to the end of the next headers, or until the client reads on
    rates: RateLimits = field(default_factory=RateLimits)  # of each API key


@dataclass
class Service:
    """What every endpoint uses."""

    engine: Engine
    limits: Limits = field(default_factory=Limits)
    access: Access = field(default_factory=Access)
    router: Router | None = None  # to other processes, where several serve the store
    rates: RateLimiter = field(init=False)

    def __post_init__(self) -> None:
        self.rates = RateLimiter(self.limits.rates)


class Call:
    """A request, decoded for a handler."""

    __slots__ = ("body", "caller", "engine", "forwarded", "id", "key", "name", "query")

    def __init__(
        self, engine: Engine, request: RoutedRequest, caller: ApiKeyCreated | None, *, forwarded: bool = False
    ) -> None:
        self.engine, self.caller = engine, caller
        self.name, self.id, self.query = request.name, request.id, request.query
        self.forwarded = forwarded  # whether another process asks
        self.body: Any = None
        self.key: IdempotencyKey = NO_KEY

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from the query."""
        text = self.query.get(name)
        if text is None:
            return default
        if not re.fullmatch(r"-?[0-9]{1,16}", text) or not low <= int(text) <= high:
            raise BadRequest(f"query parameter {name}={_quote(text)} is not a whole number from {low} to {high}")
        return int(text)


class StreamingResponse:
    """A response in chunks, too long to build in memory."""

    def __init__(self, chunks: AsyncIterator[bytes], media: str, filename: str) -> None:
        self.chunks, self.media, self.filename = chunks, media, filename


FullReply = Reply | tuple[int, bytes, bytes] | tuple[int, bytes, bytes, RawHeaders] | StreamingResponse
Result = Reply | StreamingResponse | msgspec.Struct | dict[str, Any]
Handler = Callable[[Call], Awaitable[Result]]


class Endpoint:
    """A method, a path, the scope it needs, the types of its request and response, and its handler.

    With `idempotent` it accepts an idempotency key. With `filtered` an API key for some deployments may use it, though
    the path has no deployment: the handler leaves out what the key may not see. With `audited` it is recorded who used
    it, when it was done.
    """

    def __init__(
        self,
        method: str,
        path: str,
        handler: Handler,
        *,
        scope: str | None,
        response: type | None,
        request: type | None = None,
        status: int = 200,
        idempotent: bool = False,
        filtered: bool = False,
        audited: bool = False,
        query: Mapping[str, QueryParameter] | None = None,
        media: Sequence[str] = ("application/json",),
    ) -> None:
        self.method, self.path, self.handler, self.scope = method, path, handler, scope
        self.request, self.response, self.status = request, response, status
        self.idempotent, self.query = idempotent, query or {}
        self.filtered, self.audited, self.media = filtered, audited, media
        self._decoder: msgspec.json.Decoder[Any] | None = None if request is None else msgspec.json.Decoder(request)
        self.service: Service  # set when the app is made
        self.label = f"{method} {path}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["endpoint_label"] = self.label
        name = (scope.get("path_params") or {}).get("name", "")
        reply, first = await self._guard(self._reply(scope, receive), name, _text(scope))
        if isinstance(reply, StreamingResponse):
            try:
                await _stream(reply, first, send)
            except DriftwiseError as error:
                # The status is sent: the server ends the connection, the log has the reason.
                log.error("a response was cut off", extra={"facts": {"endpoint": self.label, "why": str(error)}})
        else:
            await answer(send, *reply)

    async def answer_forwarded(self, request: RoutedRequest, router: Router) -> tuple[FullReply, bytes]:
        """The reply to a request that another member has let in, and the first chunk if it is a stream."""
        return await self._guard(self._forwarded(request, router), request.name, request.request_id)

    async def _guard(self, work: Awaitable[FullReply], name: str, request_id: str) -> tuple[FullReply, bytes]:
        """The reply, or that of the error, and the first chunk of a stream: it can still fail and be answered."""
        try:
            reply = await work
            first = await anext(reply.chunks, b"") if isinstance(reply, StreamingResponse) else b""
            return reply, first
        except DriftwiseError as error:
            return (*error_reply(error), _retry_after(error)), b""
        except Exception:
            log.exception("a request failed", extra={"facts": {"endpoint": self.label, "request_id": request_id}})
            if self.idempotent:  # it may have left a deployment half changed
                self.service.engine.discard_after_failure(name or None)
            return error_reply(InternalError("the service failed unexpectedly; its log has the details")), b""

    async def _reply(self, scope: Scope, receive: Receive) -> FullReply:
        """Let a request in, read it, and do it here or forward it."""
        headers = dict(scope["headers"])
        path = scope.get("path_params") or {}
        name = path.get("name")
        service, router = self.service, self.service.router
        caller = None if self.scope is None else await self._caller(headers, self.scope, name)
        if name is not None and not NAME.match(name):
            raise NotFound(f"there is no deployment {_quote(name)}")
        query = _query(scope["query_string"], self.query) if scope["query_string"] else {}
        if caller is not None:
            scope["caller"] = caller.id
            service.engine.catalogue.key_uses[caller.id] = service.engine.clock()
            service.rates.check(caller.id)
        key = headers.get(b"idempotency-key") if self.idempotent else None
        request = RoutedRequest(
            self.label,
            scope["path"],
            name or "",
            path.get("id", ""),
            query,
            None if key is None else key.decode("latin-1"),
            _text(scope),
            "" if caller is None else caller.id,
            await self._body(headers, receive),
            repeatable=self.method == "GET" or key is not None,
        )
        call = Call(service.engine, request, caller)
        return await (self._do(call, request) if router is None else self._route(call, request, router))

    async def _forwarded(self, request: RoutedRequest, router: Router) -> FullReply:
        """Do a request that another member has let in."""
        if len(request.body) > self.service.limits.max_body:
            raise ContentTooLarge(f"the body is larger than {self.service.limits.max_body} bytes")
        call = Call(self.service.engine, request, await router.key_of(request.caller), forwarded=True)
        return await self._route(call, request, router)

    async def _route(self, call: Call, request: RoutedRequest, router: Router) -> FullReply:
        """Do a request where it belongs."""
        if not request.name:
            if self.scope is not None:
                await router.refresh()  # it may be about what another process has just written
            return await self._do(call, request)
        reply = await router.route(request, lambda: self._do(call, request), forwarded=call.forwarded)
        return _passed_on(reply) if isinstance(reply, ForwardedResponse) else reply

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        if self._decoder is None:
            return b""
        if headers.get(b"content-type", b"").split(b";")[0].strip().lower() != JSON:
            raise BadRequest("the header content-type must be application/json")
        return await read_body(headers, receive, self.service.limits)

    async def _caller(self, headers: Headers, scope: str, name: str | None) -> ApiKeyCreated | None:
        """The API key of a request; one that is not known here may have been created by another process."""
        service = self.service
        catalogue, clock = service.engine.catalogue, service.engine.clock
        try:
            return service.access.caller(headers, catalogue, clock, scope, name, filtered=self.filtered)
        except Unauthorized:
            if service.router is None:
                raise
        await service.router.refresh()
        return service.access.caller(headers, catalogue, clock, scope, name, filtered=self.filtered)

    async def _do(self, call: Call, request: RoutedRequest) -> FullReply:
        """Do a request in this process."""
        engine, key = call.engine, request.idempotency_key
        if self._decoder is not None:
            try:
                call.body = self._decoder.decode(request.body)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BadRequest(decode_error(request.body, str(error), self.request)) from None
        if key is not None:
            if not KEY.match(key):
                raise BadRequest("the idempotency key is not 1 to 200 visible ASCII characters")
            what = f"{self.method} {request.path} ".encode() + msgspec.json.encode(call.body)
            call.key = IdempotencyKey(request.caller, key, what)
            result: Result = await engine.run_once_per_key(call.key, lambda: self.handler(call))
        else:
            result = await self.handler(call)
        if isinstance(result, Replayed):
            return (*result, JSON, REPLAYED)
        if self.audited:
            with suppress(Unavailable) if self.method == "GET" else nullcontext():  # what can be read is not held back
                await audit.record(engine, self._entry(call, request))
        if isinstance(result, StreamingResponse | tuple):
            return result
        return self.status, msgspec.json.encode(result)

    def _entry(self, call: Call, request: RoutedRequest) -> Audited:
        target = "/".join(filter(None, (call.name, call.id, str(getattr(call.body, "name", "")))))
        return Audited(request.caller, self.handler.__name__, target, request.request_id)


def _passed_on(response: ForwardedResponse) -> FullReply:
    """The response of another member, as one of ours."""
    if response.chunks is not None:
        return StreamingResponse(_chunks_of(response.chunks), response.media.decode("latin-1"), response.filename)
    return response.status, response.body, response.media, response.headers


async def _chunks_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks of another member; that it has gone is no fault of the request."""
    try:
        async for chunk in chunks:
            yield chunk
    except NotAnsweredError:
        raise Unavailable("the process that answered has gone; repeat the request") from None


class MethodRouter:
    """The endpoints of a path, by method."""

    def __init__(self, table: list[Endpoint]) -> None:
        self.table = {each.method: each for each in table}
        if "GET" in self.table:
            self.table["HEAD"] = self.table["GET"]  # the server leaves the body out
        self.allowed = ", ".join(sorted(self.table)).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self.table.get(scope["method"])
        if endpoint is not None:
            await endpoint(scope, receive, send)
        else:
            await method_not_allowed(scope, send, self.allowed)


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request for a path that does not exist."""
    if scope["type"] == "http":
        await answer(send, *error_reply(NotFound(f"there is nothing at {_quote(scope['path'])}")))


async def method_not_allowed(scope: Scope, send: Send, methods: bytes) -> None:
    """Answer a request with a method that the path does not have."""
    detail = f"{scope['method']} is not allowed at {_quote(scope['path'])}; allowed: {methods.decode()}"
    await answer(send, *error_reply(MethodNotAllowed(detail)), more=[(b"allow", methods)])


def _query(text: bytes, parameters: Mapping[str, QueryParameter]) -> dict[str, str]:
    query = dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True))
    for name in query:
        if name not in parameters:
            choice = ", ".join(parameters) or "none"
            raise BadRequest(f"unknown query parameter {_quote(name)}; allowed: {choice}")
    return query


def decision_id(text: str) -> int:
    """The id of a decision in a path."""
    if re.fullmatch(r"[0-9]{1,16}", text) and int(text) <= MAX_ID:
        return int(text)
    raise NotFound(f"there is no decision {_quote(text)}: ids are whole numbers from 0 to {MAX_ID}")


def _retry_after(error: DriftwiseError) -> RawHeaders:
    return [(b"retry-after", str(error.retry_after).encode())] if isinstance(error, LimitReached | Replaying) else ()


def _text(scope: Scope) -> str:
    """The id of a request."""
    id: bytes = scope.get("request_id", b"")
    return id.decode()


def _quote(text: str) -> str:
    return repr(text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}...")


async def read_body(headers: Headers, receive: Receive, limits: Limits) -> bytes:
    """The body, within the limits of time and size; bytes are counted, because `content-length` may be wrong."""
    length = headers.get(b"content-length", b"0")
    remaining = limits.max_body if length.isdigit() and len(length) <= 16 and int(length) <= limits.max_body else -1
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(limits.body_s):
            while remaining >= 0:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BadRequest("the body ended too early")
                parts.append(message.get("body", b""))
                remaining -= len(parts[-1])
                if remaining >= 0 and not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        raise BadRequest(f"the body took longer than {limits.body_s:g} seconds") from None
    raise ContentTooLarge(f"the body is larger than {limits.max_body} bytes")


RETRY = {429: b"1", 503: b"1"}


async def answer(send: Send, status: int, body: bytes, media: bytes = JSON, more: RawHeaders = ()) -> None:
    """Send a response in one piece."""
    headers = [(b"content-type", media), (b"content-length", str(len(body)).encode()), *more]
    if status in RETRY and not any(name == b"retry-after" for name, _ in more):
        headers.append((b"retry-after", RETRY[status]))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(stream: StreamingResponse, first: bytes, send: Send) -> None:
    headers = [(b"content-type", stream.media.encode())]
    if stream.filename:
        headers.append((b"content-disposition", f'attachment; filename="{stream.filename}"'.encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if first:
        await send({"type": "http.response.body", "body": first, "more_body": True})
    async for chunk in stream.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
