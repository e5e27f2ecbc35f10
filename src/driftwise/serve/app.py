"""The HTTP application: a list of endpoints, what watches them, and static files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from driftwise.serve.endpoints import endpoints
from driftwise.serve.guard import Guard, Times
from driftwise.serve.health import metrics
from driftwise.serve.http import JSON, Call, Endpoint, Service, Stream
from driftwise.serve.openapi import document
from driftwise.serve.wire import Problem

STATIC = Path(__file__).parent / "static"


def make_app(service: Service, *, log_requests: bool = False) -> Guard:
    """The application for a service; the engine starts and ends with it."""
    times, table = Times(), endpoints()
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
        text = metrics(service.engine, times).encode()

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
    routes: list[Any] = []
    for each in table:
        each.service = service
        routes.append(Route(each.path, each, methods=[each.method]))
    routes.append(Mount("/static", StaticFiles(directory=STATIC)))
    if (STATIC / "index.html").exists():
        routes.append(Mount("/", StaticFiles(directory=STATIC, html=True)))

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        await service.engine.start()
        try:
            yield
        finally:
            await service.engine.close()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _not_found})
    app.router.redirect_slashes = False
    return Guard(app, times, log_requests=log_requests)


async def _not_found(request: Request, error: Exception) -> Response:
    """A path or method that is not there."""
    assert isinstance(error, HTTPException)
    code = "unknown" if error.status_code == 404 else "refused"
    body = msgspec.json.encode(Problem(code, f"there is nothing to {request.method} here"))
    return Response(body, error.status_code, headers=error.headers, media_type=JSON.decode())
