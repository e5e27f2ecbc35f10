"""The pages of the dashboard: files that are read once, and served by name from memory.

A page is a part that stands in `frame.html`, with the form for a key in the place of its comment. Links are relative,
so that the dashboard works in any folder of a host: `ROOT` in them is how the page reaches it.

No file name comes from a request, so that only these files can be read. Pages contain no data; they request it from the
endpoints, as any other client does, with a key where keys are needed.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

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


class PageParts(NamedTuple):
    """Where a page is, seen from the root of the dashboard, and the scripts it needs, in their order."""

    path: str
    root: str
    scripts: tuple[str, ...]


PAGES = {
    "index": PageParts("/", ".", ("api", "list")),
    "compare": PageParts("/compare", ".", ("uplot", "api", "charts", "series", "compare")),
    "deployment": PageParts(
        "/deployments/{name}", "..", ("uplot", "api", "charts", "series", "tables", "actions", "deployment")
    ),
    "decision": PageParts("/deployments/{name}/decisions/{id}", "../../..", ("api", "decision")),
}


def whole_page(name: str) -> bytes:
    """A page in its frame."""
    parts = PAGES[name]
    frame, door, page = (STATIC.joinpath(f"{each}.html").read_text("utf-8") for each in ("frame", "door", name))
    styles = [each for each in ("uplot", "dashboard") if each == "dashboard" or each in parts.scripts]
    links = (f'<link rel="stylesheet" href="ROOT/static/{each}.css">' for each in styles)
    scripts = (f'<script src="ROOT/static/{each}.js" defer></script>' for each in parts.scripts)
    text = frame.replace("STYLES", "\n".join(links)).replace("SCRIPTS", "\n".join(scripts))
    text = text.replace("<!-- page -->\n", page.replace("<!-- door -->\n", door))
    return text.replace("ROOT/", f"{parts.root}/").encode()


class Page:
    """What a browser reads; 304 for one that has it."""

    def __init__(self, body: bytes, suffix: str) -> None:
        self.body, self.media = body, MEDIA[suffix]
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
    files = {path.name: path for path in sorted(STATIC.iterdir()) if path.suffix in MEDIA and path.suffix != ".html"}
    return [
        *(Route(f"/static/{name}", Page(path.read_bytes(), path.suffix)) for name, path in files.items()),
        *(Route(parts.path, Page(whole_page(name), ".html")) for name, parts in PAGES.items()),
        Route("/favicon.ico", Page(files["icon.svg"].read_bytes(), ".svg")),
    ]
