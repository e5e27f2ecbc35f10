"""Middleware: security headers, metrics, a line in the log, and the answer to connections beyond the limit."""

import asyncio
import logging
import time
from collections import Counter
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftwise.service.histogram import SECONDS, Histogram
from driftwise.service.http.endpoint import answer
from driftwise.service.http.errors import Unavailable, error_reply
from driftwise.service.http.request_id import HEADER, request_id

if TYPE_CHECKING:
    from driftwise.service.members.receiving import Receiver

HEALTH = ("/healthz", "/readyz")  # what is answered on connections beyond the limit
SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
]
NO_STORE = [*SAFE, (b"cache-control", b"no-store")]
log = logging.getLogger("driftwise.service")


STOPPING = Unavailable("the service is stopping; repeat the request with the same idempotency key")


class HttpMetrics:
    """Counts of responses by endpoint and status, and their times; with `log_requests`, each has a line in the log."""

    def __init__(self, *, log_requests: bool = False) -> None:
        self.log_requests = log_requests
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}

    def add(
        self, label: str, status: int, seconds: float, name: str | None, request_id: str, key: str | None = None
    ) -> None:
        """Count a response."""
        self.statuses[label, status] += 1
        times = self.seconds.get(label)
        if times is None:
            times = self.seconds[label] = Histogram(SECONDS)
        times.add(seconds)
        if self.log_requests or status == 500:  # a failure of the store is logged once, not at every 503
            facts = {"endpoint": label, "status": status, "ms": round(1000 * seconds, 3), "key": key}
            log.info("answered", extra={"facts": facts | {"deployment": name or None, "request_id": request_id}})


class Middleware:
    """An ASGI application around another; requests of other members go past it, to the `receiver`."""

    def __init__(self, app: ASGIApp, metrics: HttpMetrics, receiver: "Receiver | None" = None) -> None:
        self.app, self.metrics, self.receiver = app, metrics, receiver
        self.draining = False  # whether connections are closed after the next response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 0
        id = scope["request_id"] = request_id(scope["headers"])

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message.get("headers", ())
                cached = any(name == b"cache-control" for name, _ in headers)
                message["headers"] = [*headers, *(SAFE if cached else NO_STORE), (HEADER, id)]
                if self.draining:
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        try:
            if scope.get("surplus") and scope["path"] not in HEALTH:
                full = Unavailable("the limit of connections is reached; repeat the request later")
                await answer(send_safely, *error_reply(full))
            else:
                await self.app(scope, receive, send_safely)
        except asyncio.CancelledError:  # the service is stopping, and this takes longer than it waits
            if not status:
                await answer(send_safely, *error_reply(STOPPING))
        finally:
            seconds = time.perf_counter() - start
            label, name = scope.get("endpoint_label", "other"), (scope.get("path_params") or {}).get("name")
            self.metrics.add(label, status, seconds, name, id.decode(), scope.get("caller"))
