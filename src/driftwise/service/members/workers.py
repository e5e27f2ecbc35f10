"""`driftwise serve --workers N`: a parent that binds the port and keeps N workers running.

Each worker has a listening socket of its own on the same port, and the system spreads connections over them. The parent
has them open, too: a connection that was made while a worker is being replaced waits for the next one, and is not
refused. A worker that ends is started again; one that has not shown life for long is ended.

    SIGTERM, SIGINT     stop all
    SIGHUP              replace the workers one after another, each when the one before is ready
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from driftwise.errors import ParameterError
from driftwise.service.deployments.catalogue import read_catalogue
from driftwise.service.http.log_lines import log_to_stderr
from driftwise.service.http.server import check_address, listen, make_access, welcome
from driftwise.service.members.addresses import parse_address
from driftwise.service.members.store_server import StoreServer
from driftwise.service.members.worker import READY, WorkerSettings
from driftwise.service.store.journal import open_journal
from driftwise.service.store.sqlite import SQLiteJournal
from driftwise.service.store.store_file import check_platform

MAX_WORKERS = 64
HANG_S = 30.0  # without a sign of life
AGAIN_S = 1.0  # between two starts of a worker, at least
MAX_FAILURES = 5  # starts of a worker, one after another, after which it was never ready
TICK_S = 0.1
STOP_S = 20.0  # for workers to stop by themselves
log = logging.getLogger("driftwise.service")


class WorkerProcess:
    """The process of a worker, and of those before it in its place."""

    def __init__(self, settings: WorkerSettings, listening: socket.socket) -> None:
        self.settings, self.listening = settings, listening
        self.ready = False
        self.leaving = False  # whether it was asked to end, so that another takes its place
        self.failures = 0
        self.start()

    def start(self) -> None:
        """Start a process."""
        self._pulse, write = os.pipe()
        os.set_blocking(self._pulse, False)
        place = msgspec.structs.replace(self.settings, listening=self.listening.fileno(), pulse=write)
        command = [sys.executable, "-m", "driftwise.service.members.worker"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, pass_fds=(place.listening, write), process_group=0
        )
        os.close(write)
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(place) + b"\n")
        self.process.stdin.flush()
        self.ready, self.leaving, self.started_at = False, False, time.monotonic()
        self.alive_at = self.started_at

    def look(self) -> int | None:
        """Read signs of life, end a process that hangs; returns the exit code of one that has ended."""
        try:
            signs = os.read(self._pulse, 1 << 12)
        except BlockingIOError:
            signs = b""
        if signs:
            self.alive_at = time.monotonic()
            self.ready = READY in signs and not self.leaving
            self.failures = 0 if self.ready else self.failures
        code = self.process.poll()
        if code is None and time.monotonic() - self.alive_at > HANG_S and self.failures == 0 and self.ready:
            log.error("a worker hangs and is ended", extra={"facts": {"process": self.process.pid}})
            self.process.kill()
        return code

    def end(self) -> None:
        """Close what belongs to the process that has ended."""
        os.close(self._pulse)
        if self.process.stdin is not None:
            self.process.stdin.close()


class WorkerGroup:
    """All workers, until a signal."""

    def __init__(self, settings: WorkerSettings, sockets: list[socket.socket]) -> None:
        self.stopping = False
        self._replace: list[WorkerProcess] = []
        self.workers = [
            WorkerProcess(msgspec.structs.replace(settings, index=index), each) for index, each in enumerate(sockets)
        ]

    def run(self) -> None:
        """Keep the workers running until a signal."""
        while not self.stopping:
            for worker in self.workers:
                self._tend(worker)
            self._replace_next()
            time.sleep(TICK_S)

    def _tend(self, worker: WorkerProcess) -> None:
        code = worker.look()
        if code is None or time.monotonic() - worker.started_at < AGAIN_S:
            return
        worker.failures += not (worker.ready or worker.leaving)
        level = logging.INFO if worker.leaving else logging.WARNING
        log.log(level, "a worker has ended and is started again", extra={"facts": {"exit_code": code}})
        if worker.failures >= MAX_FAILURES:
            raise ParameterError(f"a worker has ended {MAX_FAILURES} times before it was ready: the log says why")
        worker.end()
        worker.start()

    def _replace_next(self) -> None:
        """Let the next worker end that is to be replaced, when all others are ready."""
        if self._replace and all(worker.ready and worker.process.poll() is None for worker in self.workers):
            worker = self._replace.pop()
            worker.ready, worker.leaving = False, True
            worker.process.terminate()

    def replace_all(self) -> None:
        """Replace the workers one after another."""
        self._replace = list(self.workers)

    def stop(self) -> None:
        """Stop all workers, and wait for them."""
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.terminate()
        end = time.monotonic() + STOP_S
        for worker in self.workers:
            try:
                worker.process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            worker.end()


def serve_workers(n_workers: int, settings: WorkerSettings, *, print_line: Callable[[str], None] = print) -> None:
    """Serve a store with several processes, until a signal."""
    check_platform()
    log_to_stderr()
    if not 1 <= n_workers <= MAX_WORKERS:
        raise ParameterError(f"--workers {n_workers} is not a whole number from 1 to {MAX_WORKERS}")
    check_address(settings.host, auth=settings.auth)
    if settings.advertise is not None and parse_address(settings.advertise)[1] + n_workers > 65536:
        raise ParameterError(f"--advertise {settings.advertise} leaves no ports for --workers {n_workers}")
    journal = open_journal(settings.store, settings.durability, shared=True)
    with ExitStack() as stack:
        stack.callback(journal.close)
        access = make_access(read_catalogue(journal), settings.store, settings.host, auth=settings.auth)
        listen(settings.host, settings.port).close()  # refused where another program has the port
        sockets = [listen(settings.host, settings.port, share_port=True) for _ in range(n_workers)]
        print_line(welcome(settings.store, access, settings.host, settings.port))
        if isinstance(journal, SQLiteJournal):
            folder = stack.enter_context(TemporaryDirectory(prefix="driftwise-", ignore_cleanup_errors=True))
            settings.server = f"{folder}/store"
            stack.callback(StoreServer(journal, Path(settings.server)).close)
            settings.store = f"sqlite:///{journal.path}"  # the file itself, where it was named by a link
        group = WorkerGroup(settings, sockets)
        stack.callback(group.stop)
        with _signals(group):
            group.run()
    log.info("stopped")


@contextmanager
def _signals(group: WorkerGroup) -> Iterator[None]:
    def stop(*_: object) -> None:
        group.stopping = True

    actions = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: lambda *_: group.replace_all()}
    before = {sign: signal.signal(sign, action) for sign, action in actions.items()}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
