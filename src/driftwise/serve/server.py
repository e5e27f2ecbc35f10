"""Run the service: open the store, refuse what is unsafe, listen, and end in good order."""

import gc
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from driftwise.errors import ParameterError
from driftwise.serve.app import make_app
from driftwise.serve.catalogue import read_catalogue
from driftwise.serve.connection import Connection
from driftwise.serve.engine import Engine
from driftwise.serve.health import log_to_stderr
from driftwise.serve.http import Limits, Service
from driftwise.serve.journal import open_journal

GARBAGE = 50_000, 20, 100  # decisions that wait are no garbage: they are not to be looked through again and again
log = logging.getLogger("driftwise.serve")


class Server(uvicorn.Server):
    """A server that ends in good order when told to, and calls that no failure."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at the first signal, at once at the second."""
        before = {sign: signal.signal(sign, self.handle_exit) for sign in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)


@contextmanager
def orderly() -> Iterator[None]:
    """Let SIGTERM end the process as `sys.exit` does, so that what was made for it is cleared away."""

    def leave(*_: Any) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def scratch() -> Iterator[str]:
    """A folder that goes with the process; signals wait while it is made, or it would be nobody's."""
    signs = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signs)
    folder = TemporaryDirectory(prefix="driftwise-demo-", ignore_cleanup_errors=True)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signs)
        yield folder.name
    finally:
        folder.cleanup()


def serve(
    store: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    durability: str = "full",
    limits: Limits | None = None,
    log_requests: bool = False,
    beside: Callable[[Engine], Awaitable[None]] | None = None,
) -> None:
    """Serve until told to stop; `beside` is given the engine, and runs as long."""
    limits = limits or Limits()
    log_to_stderr()
    journal = open_journal(store, durability)
    here = is_loopback(host)
    try:
        if not here:
            _need_keys(journal, host)
        service = Service(Engine(journal), limits, here)
        listening = _listen(host, port)
        server = server_of(make_app(service, log_requests=log_requests, beside=beside), host, port, limits)
        facts = {"store": str(journal.path), "host": host, "port": port, "durability": durability}
        log.info("serving", extra={"facts": facts})
        server.run([listening])
        if not server.started:
            raise ParameterError("the service could not be started: the log says why")
        log.info("stopped")
    finally:
        journal.close()


def server_of(app: Any, host: str, port: int, limits: Limits) -> Server:
    """A server for an app, and the interpreter set for it."""
    gc.set_threshold(*GARBAGE)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=Connection,
        ws="none",
        lifespan="on",
        interface="asgi3",
        proxy_headers=False,
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=limits.connections,
        backlog=min(2048, 2 * limits.connections),
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
    )
    return Server(config)


def _listen(host: str, port: int) -> socket.socket:
    """Take the port, or say why not, before anything else is done."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None) or 0
        why = os.strerror(number) if number > 0 else str(error)
        raise ParameterError(f"{host}:{port} cannot be listened on ({why}): try another --port") from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _need_keys(journal: Any, host: str) -> None:
    if not read_catalogue(journal).keys:
        raise ParameterError(
            f"host={host} can be reached from other machines, and there are no keys: "
            "make one first, driftwise keys create --scopes admin, or listen on 127.0.0.1"
        )
