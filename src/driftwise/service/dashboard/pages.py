"""The pages people open in a browser: files that are read once, and served by name from memory.

No path is ever made from a request: a file that was not here at the start cannot be asked for. Pages hold no data;
they ask the endpoints for it, as any other client does, with a key where keys are needed.
"""

import hashlib
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute, Route

from driftwise.service.http.endpoint import answer, method_not_allowed

STATIC = Path(__file__).parent / "static"
MEDIA = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}


class Page:
    """A file, answered whole, or with 304 to a browser that has it."""

    def __init__(self, path: Path) -> None:
        self.body, self.media = path.read_bytes(), MEDIA[path.suffix]
        self.tag = f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["endpoint_label"] = "GET a page"
        if scope["method"] not in ("GET", "HEAD"):
            await method_not_allowed(scope, send, b"GET, HEAD")
            return
        more = [(b"etag", self.tag), (b"cache-control", b"no-cache")]
        known = dict(scope["headers"]).get(b"if-none-match") == self.tag
        await answer(send, 304 if known else 200, b"" if known else self.body, self.media, more)


def pages() -> list[BaseRoute]:
    """The list of deployments at `/`, one deployment under its name, and what they are made of under `/static`."""
    found = {path.name: Page(path) for path in sorted(STATIC.iterdir()) if path.suffix in MEDIA}
    routes: list[BaseRoute] = [Route(f"/static/{name}", page) for name, page in found.items()]
    front = [Route("/", found["index.html"]), Route("/deployments/{name}", found["deployment.html"])]
    return [*routes, *front, Route("/favicon.ico", found["icon.svg"])]
