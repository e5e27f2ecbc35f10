"""Around every answer: headers that keep browsers safe, counts and times, a line in the log; and a limit."""

import asyncio
import logging
import time
from collections import Counter
from typing import Any

from driftwise.service.http.endpoint import answer
from driftwise.service.http.errors import Unavailable, error_reply

HEALTH = ("/healthz", "/readyz")  # what is answered where there is no place for anything else
SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
]
NO_STORE = [*SAFE, (b"cache-control", b"no-store")]
BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
log = logging.getLogger("driftwise.service")


class HttpMetrics:
    """How many answers of each status an endpoint gave, and how long they took."""

    def __init__(self) -> None:
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.buckets: dict[str, list[int]] = {}
        self.sums: Counter[str] = Counter()

    def note(self, label: str, status: int, seconds: float) -> None:
        """One answer."""
        self.statuses[label, status] += 1
        buckets = self.buckets.get(label)
        if buckets is None:
            buckets = self.buckets[label] = [0] * (len(BOUNDS) + 1)
        place = 0
        while place < len(BOUNDS) and seconds > BOUNDS[place]:
            place += 1
        buckets[place] += 1
        self.sums[label] += seconds  # type: ignore[assignment]


class Middleware:
    """An ASGI application around another."""

    def __init__(self, app: Any, times: HttpMetrics, *, log_requests: bool = False) -> None:
        self.app, self.times, self.log_requests = app, times, log_requests

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def guarded(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", ())
                kept = any(name == b"cache-control" for name, _ in given)
                message["headers"] = [*given, *(SAFE if kept else NO_STORE)]
            await send(message)

        try:
            if scope.get("surplus") and scope["path"] not in HEALTH:
                full = Unavailable("there are as many connections as the service takes; ask again in a moment")
                await answer(guarded, *error_reply(full))
            else:
                await self.app(scope, receive, guarded)
        except asyncio.CancelledError:  # the service stops, and this takes longer than it waits
            if not status:
                await answer(guarded, *error_reply(Unavailable("the service stops; ask again, with the same key")))
        finally:
            seconds = time.perf_counter() - began
            label = scope.get("endpoint_label", "other")
            self.times.note(label, status, seconds)
            if self.log_requests or status == 500:  # what keeps the store from its work is said once, not at every 503
                self._log(scope, label, status, seconds)

    def _log(self, scope: Any, label: str, status: int, seconds: float) -> None:
        params = scope.get("path_params") or {}
        facts = {"endpoint": label, "status": status, "ms": round(1000 * seconds, 3), "key": scope.get("caller")}
        log.info("answered", extra={"facts": facts | {"deployment": params.get("name")}})
