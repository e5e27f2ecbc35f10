"""The pages of the dashboard: files that are read once, and served by name from memory.

No file name comes from a request, so that only these files can be read. Pages contain no data; they request it from the
endpoints, as any other client does, with a key where keys are needed.
"""

import hashlib
from pathlib import Path

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

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
    """A file; 304 for a browser that has it."""

    def __init__(self, path: Path) -> None:
        self.body, self.media = path.read_bytes(), MEDIA[path.suffix]
        self.tag = f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["endpoint_label"] = "GET a page"
        if scope["method"] not in ("GET", "HEAD"):
            await method_not_allowed(scope, send, b"GET, HEAD")
            return
        more = [(b"etag", self.tag), (b"cache-control", b"no-cache")]
        cached = dict(scope["headers"]).get(b"if-none-match") == self.tag
        await answer(send, 304 if cached else 200, b"" if cached else self.body, self.media, more)


def pages() -> list[BaseRoute]:
    """Routes: the list of deployments at `/`, those to compare, a page per deployment and decision, and `/static`."""
    files = {path.name: Page(path) for path in sorted(STATIC.iterdir()) if path.suffix in MEDIA}
    routes: list[BaseRoute] = [Route(f"/static/{name}", page) for name, page in files.items()]
    return [
        *routes,
        Route("/", files["index.html"]),
        Route("/compare", files["compare.html"]),
        Route("/deployments/{name}", files["deployment.html"]),
        Route("/deployments/{name}/decisions/{id}", files["decision.html"]),
        Route("/favicon.ico", files["icon.svg"]),
    ]
