"""A worker: one of several processes on this machine that serve a store, started by `workers`.

    python -m driftwise.service.members.worker          with its settings as a line of JSON on standard input

The settings are not on the command line, where others could read a password. When standard input ends, the parent is
gone, and the worker stops. It writes to a pipe now and then, so that the parent can tell that it is alive and ready.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.endpoint import Limits
from driftwise.service.http.server import listen, serve
from driftwise.service.members.addresses import advertised_address, parse_address
from driftwise.service.members.worker_journal import WorkerJournal
from driftwise.service.store.journal import sqlite_path

PULSE_S = 0.5
ALIVE, READY = b".", b"!"


class WorkerSettings(msgspec.Struct):
    """What a worker serves, and how."""

    store: str
    host: str
    port: int
    durability: str
    limits: Limits
    log_requests: bool
    auth: bool
    keep_answers_s: float
    archive: str | None
    advertise: str | None
    index: int = 0  # of the worker
    listening: int = -1  # the file descriptor of the socket that clients connect to
    pulse: int = -1  # that of the pipe to the parent
    server: str | None = None  # where the parent writes to the store for all workers


class WorkerPlace(NamedTuple):
    """Where a worker listens: on the socket of its parent, and on one of its own, whose address others know."""

    sockets: list[socket.socket]
    address: str
    journal: WorkerJournal | None  # the store, where the parent writes to it


def main() -> int:
    """Serve until a signal."""
    settings = msgspec.json.decode(_read_line(), type=WorkerSettings)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        serve(
            settings.store,
            host=settings.host,
            port=settings.port,
            durability=settings.durability,
            limits=settings.limits,
            log_requests=settings.log_requests,
            auth=settings.auth,
            keep_answers_s=settings.keep_answers_s,
            archive=settings.archive,
            background=_pulse(settings.pulse),
            print_line=lambda _: None,
            worker=_place(settings),
        )
    except DriftwiseError as error:
        print(f"driftwise: {error}", file=sys.stderr)
        return 2
    return 0


def _place(settings: WorkerSettings) -> WorkerPlace:
    port = 0 if settings.advertise is None else parse_address(settings.advertise)[1] + settings.index
    host = settings.host if settings.server is None else "127.0.0.1"  # where all members are on this machine
    own = listen(host, port)
    address = advertised_address(settings.advertise, host, own.getsockname()[1], settings.index)
    return WorkerPlace([socket.socket(fileno=settings.listening), own], address, _journal(settings))


def _journal(settings: WorkerSettings) -> WorkerJournal | None:
    if settings.server is None:
        return None
    return WorkerJournal(sqlite_path(settings.store), Path(settings.server), settings.durability)


def _read_line() -> bytes:
    """A line of standard input, without a buffer: a thread reads on, and would hold its lock at the end."""
    line = b""
    while not line.endswith(b"\n") and (more := os.read(0, 1 << 16)):
        line += more
    return line


def _stop_with_parent() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _pulse(pipe: int) -> Callable[[Engine], Awaitable[None]]:
    async def run(engine: Engine) -> None:
        os.set_blocking(pipe, False)
        while True:
            try:
                os.write(pipe, READY if engine.ready else ALIVE)
            except OSError:
                return  # the parent is gone
            await asyncio.sleep(PULSE_S)

    return run


if __name__ == "__main__":
    sys.exit(main())
