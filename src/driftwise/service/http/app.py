"""The HTTP application: endpoints, middleware and the pages of the dashboard."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec
from starlette.routing import BaseRoute, Route, Router

from driftwise.service.dashboard.pages import pages
from driftwise.service.deployments.background_tasks import check_ready
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import Reply
from driftwise.service.deployments.readiness import Ready
from driftwise.service.http.endpoint import Call, Endpoint, MethodRouter, Service, StreamingResponse, not_found
from driftwise.service.http.errors import Unavailable
from driftwise.service.http.metrics import CONTENT_TYPE, ServiceMetrics
from driftwise.service.http.middleware import HttpMetrics, Middleware
from driftwise.service.http.openapi import document
from driftwise.service.http.routes import endpoints
from driftwise.service.http.schemas.responses import Health
from driftwise.service.members.endpoints import gather_list, member_endpoints
from driftwise.service.members.receiving import Receiver

log = logging.getLogger("driftwise.service")


def make_app(
    service: Service,
    *,
    log_requests: bool = False,
    background: Callable[[Engine], Awaitable[None]] | None = None,
    more: Sequence[Endpoint] = (),
) -> Middleware:
    """The application for a service; the engine starts and ends with it, and so does the task `background`."""
    http_metrics = HttpMetrics(log_requests=log_requests)
    metrics = ServiceMetrics(service.engine, http_metrics, service.router)

    async def health(call: Call) -> Health:
        """Whether the process is alive."""
        return Health(alive=True)

    async def readiness(call: Call) -> Reply:
        """Whether requests are served: 503 with the reason until kernels are compiled, and while the store fails."""
        result = await check_ready(service.engine)
        return 200 if result.ready else 503, msgspec.json.encode(result)

    async def get_metrics(call: Call) -> StreamingResponse:
        """Metrics in the text format of Prometheus."""
        journal = service.engine.journal
        try:
            metrics.store_bytes = await service.engine.query(journal.size)
            metrics.free_bytes = await service.engine.query(journal.free_bytes)
        except Unavailable:
            metrics.store_bytes = metrics.free_bytes = None  # the other metrics are known
        text = metrics.text()

        async def chunks() -> AsyncIterator[bytes]:
            yield text

        return StreamingResponse(chunks(), CONTENT_TYPE, "")

    async def openapi(call: Call) -> Reply:
        """The OpenAPI document."""
        return 200, openapi_document

    table = [
        *endpoints(),
        *member_endpoints(service.router),
        *more,
        Endpoint("GET", "/healthz", health, scope=None, response=Health),
        Endpoint("GET", "/readyz", readiness, scope=None, response=Ready),
        Endpoint("GET", "/metrics", get_metrics, scope="read", response=str, media=(CONTENT_TYPE,)),
    ]
    if service.router is not None:
        gather_list(service.router, table)
    openapi_document = msgspec.json.encode(document(table))
    table.append(Endpoint("GET", "/openapi.json", openapi, scope=None, response=None))
    paths: dict[str, list[Endpoint]] = {}
    for each in table:
        each.service = service
        paths.setdefault(each.path, []).append(each)
    routes: list[BaseRoute] = [Route(path.replace(":int}", "}"), MethodRouter(group)) for path, group in paths.items()]
    routes += pages()

    receiver = None if service.router is None else Receiver(service.router, {e.label: e for e in table}, http_metrics)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        membership = None if service.router is None else service.router.membership
        if membership is not None:
            await membership.join()
        await service.engine.start()
        if membership is not None:
            membership.start()
        task = None if background is None else asyncio.ensure_future(_logged(background(service.engine)))
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
            await service.engine.close()
            if service.router is not None and membership is not None and receiver is not None:
                receiver.close()
                service.router.close()
                await membership.close()

    app = Router(routes, redirect_slashes=False, default=not_found, lifespan=lifespan)
    return Middleware(app, http_metrics, receiver)


async def _logged(work: Awaitable[None]) -> None:
    """Run a background task; a failure is logged."""
    try:
        await work
    except Exception:
        log.exception("a background task failed")
