"""A PostgreSQL server of one's own, from the binaries that are installed, in a folder that goes away."""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.patience import HANG_S, until

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
FAST = ("-c", "fsync=off", "-c", "full_page_writes=off")  # where nothing is asked about durability
_SCHEMAS = itertools.count()


def binary(name: str) -> str | None:
    """Where a program of PostgreSQL is."""
    return next((str(folder / name) for folder in FOLDERS if (folder / name).exists()), None) or shutil.which(name)


def missing() -> str:
    """Why there can be no server here; empty when there can."""
    if not (binary("initdb") and binary("postgres")):
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if os.getuid() == 0 and not shutil.which("setpriv"):
        return "PostgreSQL will not run as root, and there is no setpriv"
    return ""


class Server:
    """A server that listens on a socket in its folder only; `url` is that of its database."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options, self.log = folder, options, folder / "log"
        self.url = f"postgresql://driftwise@/postgres?host={folder}&connect_timeout={HANG_S:.0f}"
        self._become: list[str] = []
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            self._become = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            shutil.chown(folder, "nobody")
        words = ["-U", "driftwise", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        command = [*self._become, str(binary("initdb")), "-D", self._data, *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        """Start, and wait until it takes connections: its socket is there before."""
        command = [*self._become, str(binary("postgres")), "-D", self._data, "-k", str(self.folder), "-h", ""]
        with self.log.open("a") as log:
            self.process = subprocess.Popen([*command, *self.options], stdout=log, stderr=log, cwd="/")
        until(self._answers, "an answer of PostgreSQL", 0.05)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url).close()
            return True
        except psycopg.OperationalError:
            assert self.process.poll() is None, f"PostgreSQL did not start: {self.log.read_text()[-1000:]}"
            return False

    def processes(self) -> list[int]:
        """The server and its children, by id."""
        parent = self.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children")
        return [parent, *map(int, children.read_text().split())] if children.exists() else [parent]

    def kill(self) -> None:
        """End all of it without a word, as a power cut would, except that the disk keeps what it was given."""
        self.freeze()  # so that none is born meanwhile
        doomed = self.processes()
        for each in doomed:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self.process.wait(HANG_S)
        # while one of them has the shared memory, no other server may start
        until(lambda: not any(_lives(each) for each in doomed), "the end of the processes of PostgreSQL", 0.005)

    def forget_to_flush(self) -> None:
        """Stop the process that flushes what commits did not wait for."""
        for each in self.processes():
            if b"walwriter" in Path(f"/proc/{each}/cmdline").read_bytes():
                os.kill(each, signal.SIGSTOP)
                return
        raise AssertionError("there is no WAL writer")

    def freeze(self) -> None:
        """Let it hang: connections stay, and nothing is answered."""
        for each in self.processes():
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        for each in self.processes():
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGCONT)

    def stop(self) -> None:
        """End in good order, and quickly: sessions are cut off."""
        if self.process.poll() is None:
            self.thaw()
            self.process.send_signal(signal.SIGINT)
            self.process.wait(HANG_S)

    def store(self) -> str:
        """The URL of a new, empty store."""
        return f"{self.url}&schema=s{os.getpid()}_{next(_SCHEMAS)}"


def _lives(process: int) -> bool:
    """Whether a process is there, and not only its name for whoever asks what became of it."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@contextmanager
def server(*options: str) -> Iterator[Server]:
    """A running server."""
    with tempfile.TemporaryDirectory(prefix="dw-pg-", dir="/tmp", ignore_cleanup_errors=True) as name:
        found = Server(Path(name), *options)
        try:
            yield found
        finally:
            found.stop()
