"""The service in a process of its own, as people run it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

from driftwise.serve.keyring import create
from driftwise.serve.token import show_token

SOURCE = str(Path(__file__).parents[1] / "src")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def admin_key(store: Path) -> str:
    """The first API key of a store."""
    return create(f"sqlite:///{store}", None, name="me", scopes=["admin"], days=None, deployments=None)


class Service:
    """A running service; `kill` ends it without a word, leaving the context in good order.

    Most tests need no `auth`; with it, requests need an API key of the store or its `token`.
    """

    def __init__(
        self,
        store: Path | str,
        *options: str,
        auth: bool = False,
        host: str = "127.0.0.1",
        port: int | None = None,
        log: Path | None = None,
    ) -> None:
        self.store = f"sqlite:///{store}" if isinstance(store, Path) else store
        self.options, self.port = ("--host", host, *([] if auth else ["--no-auth"]), *options), port or free_port()
        self.url = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{self.port}"
        self.log = log or Path(f"{store}.log")
        self.terminal = Path(f"{self.log}.terminal")  # what people are told
        self.start()

    @property
    def token(self) -> str:
        return show_token(self.store)

    def start(self) -> None:
        command = [sys.executable, "-m", "driftwise.cli", "serve", "--store", self.store]
        environment = os.environ | {"PYTHONPATH": SOURCE}
        with self.log.open("a") as log, self.terminal.open("w") as terminal:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), *self.options], stderr=log, stdout=terminal, env=environment
            )

    def wait(self, seconds: float = 60) -> "Service":
        """Until it is ready."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):
                    return self
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        raise AssertionError(f"the service did not start:\n{self.log.read_text()}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(30)

    def __enter__(self) -> "Service":
        return self.wait()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.stop()
