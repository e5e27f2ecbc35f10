"""The service with two endpoints beside it that do next to nothing, to measure it against; run in a process of its own.

    python benchmarks/bare_service.py STORE PORT DURABILITY

`/bare` writes an event of the same bytes as a decision's through the same writer to the same store, and answers when it
is committed. `/empty` answers at once. Both read and write JSON; neither asks for keys or finds its way by a table.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec
import uvicorn

from driftwise.serve import events as kinds
from driftwise.serve.app import make_app
from driftwise.serve.engine import Engine
from driftwise.serve.events import Decided
from driftwise.serve.http import Limits, Service, answer
from driftwise.serve.journal import Event, open_journal
from driftwise.serve.server import SWITCH_S, Patient

BODY = kinds.encode(Decided("red", None, {}))
REPLY = {"id": 12345, "action": "red", "propensity": None, "at": 1794850411.016538, "held": False, "budgets": None}
STREAM = 10**6  # no deployment's


class Beside:
    """The router of the app, and the two beside it: inside the same guard, so that what differs is the work."""

    def __init__(self, router: Any, engine: Engine) -> None:
        self.router, self.engine, self.number = router, engine, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path")
        if path not in ("/bare", "/empty"):
            await self.router(scope, receive, send)
            return
        msgspec.json.decode((await receive())["body"])
        if path == "/bare":
            self.number += 1
            await self.engine.writer.submit([Event(STREAM, self.number, self.engine.clock(), "decided", BODY)])
        await answer(send, 200, msgspec.json.encode(REPLY))


def main() -> None:
    """Serve."""
    store, port, durability = sys.argv[1:]
    engine = Engine(open_journal(f"sqlite:///{store}", durability), durable=durability != "none")
    app = make_app(Service(engine, Limits()))
    app.app = Beside(app.app, engine)
    sys.setswitchinterval(SWITCH_S)
    uvicorn.run(app, port=int(port), loop="uvloop", http=Patient, access_log=False, log_config=None, lifespan="on")


if __name__ == "__main__":
    main()
