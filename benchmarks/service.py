"""The decision service against an endpoint of the same server that only writes; and many deployments in a file.

Rates are by the wall, in neighbouring runs of a second or two, and what is reported is the median of their ratios: a
busy machine makes them scatter, and the spread is in the JSON.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.sizes import Sizes
from benchmarks.table import Row, not_measured, row
from tests.fixtures import postgres

HERE = Path(__file__).parent
DECIDE = "/v1/deployments/shop/decide"
CLIENTS = 32
WINDOW_KB = 12.0  # of a window of 1000 rounds: 8 bytes for a reward and 4 for its arm


def rows(sizes: Sizes) -> list[Row]:
    """Speed in every durability, and size."""
    return [*_durable(sizes), *_durable(sizes, "normal"), *_in_postgres(sizes), *_many(sizes)]


def _durable(sizes: Sizes, durability: str = "full", store: str | None = None, where: str = "") -> list[Row]:
    with _server(durability, store) as port:
        pairs = [(_load(port, DECIDE, sizes), _load(port, "/bare", sizes)) for _ in range(sizes.service_pairs)]
    name = f"durable decide / bare write{where}, {durability}"
    return [
        _row(f"{name}, rate", "rate", pairs, "requests/s", "service: durable"),
        _row(f"{name}, p99", "p99", pairs, "s", "service: p99"),
    ]


def _in_postgres(sizes: Sizes) -> list[Row]:
    """The same on a PostgreSQL server of this machine, where one can be started."""
    if why := postgres.missing():
        return [not_measured("service, durable decide / bare write in PostgreSQL", why, target="service: durable")]
    with postgres.server() as server:
        return _durable(sizes, "full", server.store(), " in PostgreSQL")


def _row(name: str, what: str, pairs: list[tuple[Any, Any]], unit: str, target: str) -> Row:
    ratios = sorted(ours[what] / theirs[what] for ours, theirs in pairs)
    return row(
        f"service, {name}",
        unit=unit,
        ours=statistics.median(ours[what] for ours, _ in pairs),
        theirs=statistics.median(theirs[what] for _, theirs in pairs),
        ratio=statistics.median(ratios),
        target=target,
        note=f"{CLIENTS} clients; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        detail={"ratios": ratios},
    )


def _many(sizes: Sizes) -> list[Row]:
    """In a process of its own, so that memory is its own."""
    command = [sys.executable, str(HERE / "many_deployments.py"), str(sizes.deployments)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=_environment()).stdout)
    name = f"service, {sizes.deployments:,} deployments"
    return [
        row(f"{name}: restart", unit="s, wall", ours=told["ready_s"], target="service: restart", detail=told),
        row(f"{name}: memory of one, K=10", unit="kB", ours=told["kb"] - WINDOW_KB, target="service: idle"),
    ]


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(HERE.parent / "src"), "PYTHONWARNINGS": "ignore"}


@contextmanager
def _server(durability: str, store: str | None = None) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        store = store or f"sqlite:///{folder}/store.db"
        command = [sys.executable, str(HERE / "bare_service.py"), store, str(port), durability]
        process = subprocess.Popen(command, env=_environment())
        try:
            _ask(port, "/readyz")
            problem = {"kind": "multi-armed", "arms": 10}
            spec = {"name": "shop", "policy": "sliding-thompson", "problem": problem, "max_pending": 10**6}
            _ask(port, "/v1/deployments", spec)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _ask(port: int, path: str, body: Any = None) -> None:
    """Ask until it answers."""
    data = None if body is None else json.dumps(body).encode()
    for _ in range(600):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"content-type": "application/json"})
        try:
            urllib.request.urlopen(request, timeout=300).close()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise RuntimeError("the service did not start")


def _load(port: int, path: str, sizes: Sizes) -> Any:
    command = [sys.executable, str(HERE / "load.py"), str(port), path, str(CLIENTS), str(sizes.service_seconds)]
    done = subprocess.run(command, input=b"{}", capture_output=True, check=True, env=_environment())
    told = json.loads(done.stdout)
    if told["bad"]:
        raise RuntimeError(f"{told['bad']} answers of {path} were not 200")
    return told
