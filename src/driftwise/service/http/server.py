"""Run the service: open the store, check that access is safe, listen, and shut down."""

import functools
import gc
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from tempfile import gettempdir
from typing import TYPE_CHECKING

import uvicorn

from driftwise.errors import ParameterError
from driftwise.service.deployments.archive import check_folder
from driftwise.service.deployments.catalogue import Catalogue
from driftwise.service.deployments.engine import KEEP_ANSWERS_S, Engine
from driftwise.service.http.access import Access, is_loopback
from driftwise.service.http.app import make_app
from driftwise.service.http.connection import Connection
from driftwise.service.http.connection_limits import ConnectionLimiter
from driftwise.service.http.endpoint import Limits, Service
from driftwise.service.http.log_lines import log_to_stderr
from driftwise.service.http.middleware import Middleware
from driftwise.service.http.token import drop_token, ensure_token, load_token, token_file
from driftwise.service.members.addresses import advertised_address
from driftwise.service.members.draining import drain
from driftwise.service.members.opening import make_router
from driftwise.service.store.journal import open_journal
from driftwise.service.store.store_file import check_platform

if TYPE_CHECKING:
    from driftwise.service.members.worker import WorkerPlace

SPARE_FILES = 200  # for the store, its readers, sessions with its server
GARBAGE = 50_000, 20, 100  # pending decisions are no garbage: do not scan them often
log = logging.getLogger("driftwise.service")


class Server(uvicorn.Server):
    """A server that shuts down at a signal, with exit code 0; `drain` is awaited before it stops to listen."""

    drain: Callable[[], Awaitable[None]] | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then stop."""
        if self.drain is not None:
            await self.drain()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Shut down at the first signal, at once at the second."""
        before = {sign: signal.signal(sign, self.handle_exit) for sign in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process as `sys.exit` does, so that temporary files are removed."""

    def leave(*_: object) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def temporary_folder(stack: ExitStack) -> Path:
    """A new folder that goes with the stack. How it goes is settled before it is there: a signal may come at any time.

    Blocking signals meanwhile would not do: another thread takes them, and Python's own handler runs in this one.
    """
    folder = Path(gettempdir()) / f"driftwise-demo-{token_hex(8)}"
    stack.callback(rmtree, folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    return folder


def serve(
    store: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    durability: str = "full",
    limits: Limits | None = None,
    log_requests: bool = False,
    auth: bool = True,
    keep_answers_s: float = KEEP_ANSWERS_S,
    archive: str | None = None,
    advertise: str | None = None,
    background: Callable[[Engine], Awaitable[None]] | None = None,
    print_line: Callable[[str], None] = print,
    worker: "WorkerPlace | None" = None,
) -> None:
    """Serve until a signal; `background` runs as long, with the engine. `print_line` prints how to sign in.

    Several processes may serve a store in PostgreSQL; they reach this one at `advertise`, by default at its address. A
    `worker` is one of several processes on this machine, and gets its sockets from their parent.
    """
    check_platform()
    limits = limits or Limits()
    log_to_stderr()
    check_address(host, auth=auth)
    folder = None if archive is None else check_folder(Path(archive))
    address = advertised_address(advertise, host, port) if worker is None else worker.address
    journal = (worker and worker.journal) or open_journal(store, durability, shared=True)
    try:
        engine = Engine(journal, keep_answers_s=keep_answers_s, archive=folder)
        access = make_access(engine.catalogue, store, host, auth=auth)
        service = Service(engine, limits, access, router=make_router(engine, journal, address))
        sockets = [listen(host, port)] if worker is None else worker.sockets
        print_line(welcome(store, access, host, port))
        app = make_app(service, log_requests=log_requests, background=background)
        server = make_server(app, host, port, limits)
        if service.router is not None:
            server.drain = functools.partial(drain, server, app, service.router)
        facts = {"store": str(journal.path), "host": host, "port": port, "durability": durability}
        log.info("serving", extra={"facts": facts})
        server.run(sockets)
        if not server.started:
            raise ParameterError("the service could not be started: the log says why")
        log.info("stopped")
    finally:
        journal.close()


def make_server(app: Middleware, host: str, port: int, limits: Limits) -> Server:
    """A server for an app; sets up garbage collection and the limit of open files."""
    gc.set_threshold(*GARBAGE)
    _allow_files(limits.max_connections + limits.max_health + SPARE_FILES)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=functools.partial(Connection, limiter=ConnectionLimiter(limits), receiver=app.receiver),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        interface="asgi3",
        proxy_headers=False,
        access_log=False,
        log_config=None,
        server_header=False,
        backlog=min(2048, 2 * limits.max_connections),
        timeout_graceful_shutdown=10,
    )
    return Server(config)


def listen(host: str, port: int, *, share_port: bool = False) -> socket.socket:
    """Bind the port, or fail, before anything else; with `share_port`, other sockets of this user may bind it, too."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048, reuse_port=share_port)
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None) or 0
        why = os.strerror(number) if number > 0 else str(error)
        raise ParameterError(f"{host}:{port} cannot be listened on ({why}): try another --port") from None


def _allow_files(number: int) -> None:
    """Raise the limit of open files, sockets included, as far as the system permits."""
    import resource  # Windows has none, and can import this module

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < number:
        log.warning("too few open files are permitted", extra={"facts": {"needed": number, "permitted": hard}})
        number = hard
    if soft != resource.RLIM_INFINITY and soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))


# ---- access ----


def check_address(host: str, *, auth: bool) -> None:
    """Refuse an address where `auth` is off, unless only this machine can reach it."""
    if not auth and not is_loopback(host):
        raise ParameterError(f"host={host} can be reached from other machines: --no-auth is for this machine only")


def make_access(keys: Catalogue, store: str, host: str, *, auth: bool) -> Access:
    """What requests need while there are no API keys; an error where that is not safe."""
    if not is_loopback(host) and not keys.keys:
        raise ParameterError(
            f"host={host} can be reached from other machines, and there are no API keys: "
            "create one first, driftwise keys create --scopes admin, or listen on 127.0.0.1"
        )
    if keys.key_created_at and not auth:
        raise ParameterError("--no-auth is not allowed: this store has API keys")
    if keys.key_created_at:
        drop_token(store)
    if keys.key_created_at or not auth:
        return Access(auth=auth)
    token, error = ensure_token(store)
    if error is not None:
        log.warning("the token could not be stored: the next start has another", extra={"facts": {"why": error}})
    return Access(token)


def welcome(store: str, access: Access, host: str, port: int) -> str:
    """The message at the start."""
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if not access.auth:
        log.warning("auth is off: every program on this machine may do everything")
        return f"{url}/ is open to every program on this machine: auth is off (--no-auth)"
    if access.token is None:
        return f"{url}/ needs an API key"
    where = f"stored in {token_file(store)}" if load_token(store) == access.token else "not stored"
    return (
        f"No API keys exist yet, so the service needs its token ({where}).\n\n"
        f"  dashboard  {url}/?token={access.token}\n"
        f"  requests   authorization: Bearer {access.token}\n\n"
        "It can do everything but create API keys, on this machine only, until the first API key exists."
    )
