"""The service with two endpoints more that do next to nothing, to measure it against; run in a process of its own.

    python benchmarks/bare_service.py STORE PORT DURABILITY

Both are endpoints of the same server, found, let in, read and answered like any other. `/bare` writes an event of the
same bytes as a decision's through the same writer to the same store, and answers when it is committed. `/empty`
answers at once.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from driftwise.serve import events as kinds
from driftwise.serve.access import Access
from driftwise.serve.answers import Decision
from driftwise.serve.app import make_app
from driftwise.serve.engine import Engine
from driftwise.serve.events import Decided
from driftwise.serve.http import Call, Endpoint, Limits, Service
from driftwise.serve.journal import Event, open_journal
from driftwise.serve.server import server_of
from driftwise.serve.wire import Asked

BODY = kinds.encode(Decided("red", None, {}))
REPLY = Decision(12345, "red", None, 1794850411.016538)
STREAM = 10**6  # no deployment's
NUMBERS = itertools.count()


async def bare(call: Call) -> Any:
    """Write what a decision would write."""
    await call.engine.writer.submit([Event(STREAM, next(NUMBERS), call.engine.clock(), "decided", BODY)])
    return REPLY


async def empty(call: Call) -> Any:
    """Answer."""
    return REPLY


def main() -> None:
    """Serve."""
    store, port, durability = sys.argv[1:]
    engine = Engine(open_journal(store, durability), durable=durability != "none")
    more = [
        Endpoint("POST", f"/{work.__name__}", work, scope="decide", takes=Asked, gives=Decision, keyed=True)
        for work in (bare, empty)
    ]
    server_of(make_app(Service(engine, access=Access(auth=False)), more=more), "127.0.0.1", int(port), Limits()).run()


if __name__ == "__main__":
    main()
