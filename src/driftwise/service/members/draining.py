"""The end of a member that is not the last: others own its deployments before it stops to listen.

Meanwhile it forwards what arrives. Each response asks the client to close the connection and to open another, which a
proxy or the port of all workers leads to another process.
"""

import asyncio
import time
from typing import TYPE_CHECKING

from driftwise.service.http.middleware import Middleware
from driftwise.service.members.router import Router

if TYPE_CHECKING:
    from driftwise.service.http.server import Server

DRAIN_S = 3.0  # for clients to learn that their connection ends
PAUSE_S = 0.05


async def drain(server: "Server", app: Middleware, router: Router) -> None:
    """Hand everything over, and let connections end; at once, where there is no other member that is ready."""
    end = time.monotonic() + DRAIN_S
    app.draining = True
    if await router.membership.drain():
        while server.server_state.connections and time.monotonic() < end and not server.force_exit:
            await asyncio.sleep(PAUSE_S)
    if app.receiver is not None:
        app.receiver.leave()
