"""The HTTP application: a list of endpoints, what watches them, and the pages people open."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.routing import BaseRoute, Route, Router

from driftwise.serve.endpoints import endpoints
from driftwise.serve.engine import Engine
from driftwise.serve.guard import Guard, Times
from driftwise.serve.health import metrics
from driftwise.serve.http import Call, Endpoint, Methods, Service, Stream, nothing_here
from driftwise.serve.openapi import document
from driftwise.serve.pages import pages
from driftwise.serve.refusals import Unavailable

log = logging.getLogger("driftwise.serve")


def make_app(
    service: Service,
    *,
    log_requests: bool = False,
    beside: Callable[[Engine], Awaitable[None]] | None = None,
    more: Sequence[Endpoint] = (),
) -> Guard:
    """The application for a service; the engine starts and ends with it, and so does what runs `beside` it."""
    times, table = Times(), [*endpoints(), *more]
    paper = msgspec.json.encode(document(table))

    async def healthy(call: Call) -> Any:
        """Whether it is alive."""
        return {"alive": True}

    async def ready(call: Call) -> Any:
        """Whether it is ready: 503 until kernels are warm."""
        done = service.engine.ready
        return 200 if done else 503, msgspec.json.encode({"ready": done})

    async def counted(call: Call) -> Any:
        """Counts and times for Prometheus."""
        try:
            size = await service.engine.look(service.engine.journal.size)
        except Unavailable:
            size = None  # the rest can be told
        text = metrics(service.engine, times, size).encode()

        async def chunks() -> AsyncIterator[bytes]:
            yield text

        return Stream(chunks(), "text/plain; version=0.0.4; charset=utf-8", "")

    async def described(call: Call) -> Any:
        """What can be asked."""
        return 200, paper

    table += [
        Endpoint("GET", "/healthz", healthy, scope=None, gives=None),
        Endpoint("GET", "/readyz", ready, scope=None, gives=None),
        Endpoint("GET", "/metrics", counted, scope="read", gives=None),
        Endpoint("GET", "/openapi.json", described, scope=None, gives=None),
    ]
    paths: dict[str, list[Endpoint]] = {}
    for each in table:
        each.service = service
        paths.setdefault(each.path, []).append(each)
    routes: list[BaseRoute] = [Route(path.replace(":int}", "}"), Methods(group)) for path, group in paths.items()]
    routes += pages()

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        await service.engine.start()
        company = None if beside is None else asyncio.ensure_future(_logged(beside(service.engine)))
        try:
            yield
        finally:
            if company is not None:
                company.cancel()
                await asyncio.wait([company])
            await service.engine.close()

    app = Router(routes, redirect_slashes=False, default=nothing_here, lifespan=lifespan)
    return Guard(app, times, log_requests=log_requests)


async def _logged(work: Awaitable[None]) -> None:
    """Work that nobody waits for; when it fails, the log says so."""
    try:
        await work
    except Exception:
        log.exception("what ran beside the service failed")
