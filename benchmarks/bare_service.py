"""The service with one endpoint more that only writes, to measure it against; run in a process of its own.

    python benchmarks/bare_service.py STORE PORT DURABILITY

`/bare` is an endpoint of the same server, found, let in, read and answered like any other. It writes an event of the
same bytes as a decision's through the same writer to the same store, and answers when it is committed.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from driftwise.service.deployments.clock import utc
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.access import Access
from driftwise.service.http.app import make_app
from driftwise.service.http.endpoint import Call, Endpoint, Limits, Service
from driftwise.service.http.schemas.requests import DecideRequest
from driftwise.service.http.schemas.responses import DecideResponse
from driftwise.service.http.server import make_server
from driftwise.service.store import events
from driftwise.service.store.events import Decided
from driftwise.service.store.journal import Event, open_journal

BODY = events.encode(Decided("red", None, {}))
REPLY = DecideResponse(id=12345, action="red", propensity=None, decided_at=utc(1_794_850_411_016_538))
STREAM = 10**6  # no deployment's
NUMBERS = itertools.count()


async def bare(call: Call) -> Any:
    """Write what a decision would write."""
    await call.engine.writer.submit([Event(STREAM, next(NUMBERS), call.engine.clock(), "decided", BODY)])
    return REPLY


def main() -> None:
    """Serve."""
    store, port, durability = sys.argv[1:]
    engine = Engine(open_journal(store, durability))
    more = [
        Endpoint("POST", "/bare", bare, scope="decide", request=DecideRequest, response=DecideResponse, idempotent=True)
    ]
    make_server(make_app(Service(engine, access=Access(auth=False)), more=more), "127.0.0.1", int(port), Limits()).run()


if __name__ == "__main__":
    main()
