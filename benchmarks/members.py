"""Several processes over one PostgreSQL: durable decisions by one, two and four of them, and what forwarding costs.

    python -m benchmarks.members            a few minutes; prints one JSON document

Database, load generator and processes share this machine, so rates by the clock say little about processes that have
cores of their own. What a request costs is therefore counted as processor time, of the processes, of the database and
of the load generator apart. With a core for each process, `n` processes carry `n / cost` requests per second, until the
database has no time left. Runs of all kinds alternate.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.service import _environment
from tests.fixtures import postgres
from tests.fixtures.patience import patient
from tests.fixtures.takeovers import Processes

HERE = Path(__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")
CLIENTS = 32
SECONDS = 2.0
ROUNDS = 5
SIZES = (1, 2, 4)
N_DEPLOYMENTS = 4


class Fleet:
    """So many processes over a store of their own."""

    def __init__(self, n: int, server: postgres.Server, folder: Path, stack: ExitStack) -> None:
        folder.mkdir()
        self.names = [f"shop-{number}" for number in range(N_DEPLOYMENTS)]
        self.processes = Processes(server.store(), n, folder, stack)
        with patient(self.processes.services[0].url) as client:
            for name in self.names:
                client.create(name, "sliding-thompson", 10, max_pending=10**6)
        self.processes.wait_for(n, self.names)
        owners = {name: address for address, names in self.processes.owners().items() for name in names}
        ports = [service.port for service in self.processes.services]
        self.direct = [(int(owners[name].rpartition(":")[2]), name) for name in self.names]
        self.detour = [(ports[(ports.index(port) + 1) % n], name) for port, name in self.direct]
        self.pids = [service.process.pid for service in self.processes.services]


def processor_seconds(pids: list[int]) -> float:
    """Processor time of processes since their start."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def load(fleet: Fleet, targets: list[tuple[int, str]], server: postgres.Server, clients: int) -> dict[str, float]:
    """Load all deployments at once; the rate, and what a request cost."""
    before = processor_seconds(fleet.pids), processor_seconds(server.processes()), _own_children()
    commands = [
        [sys.executable, str(HERE / "load.py"), str(port), f"/v1/deployments/{name}/decide", str(clients), str(SECONDS)]
        for port, name in targets
    ]
    options: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": _environment()}
    running = [subprocess.Popen(command, **options) for command in commands]
    results = [json.loads(each.communicate(b"{}")[0]) for each in running]
    after = processor_seconds(fleet.pids), processor_seconds(server.processes()), _own_children()
    assert not any(each["bad"] for each in results)
    rate = sum(each["rate"] for each in results)
    n = rate * SECONDS
    costs = [1e6 * (late - early) / n for late, early in zip(after, before, strict=True)]
    return {
        "rate": rate,
        "p50_ms": 1e3 * statistics.median(each["p50"] for each in results),
        "service_us": costs[0],
        "database_us": costs[1],
        "load_us": costs[2],
    }


def _own_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(run[name] for run in runs), 3) for name in runs[0]}


def measure() -> dict[str, Any]:
    """All kinds of runs, in turn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(postgres.server())
        fleets = {n: Fleet(n, server, folder / str(n), stack) for n in SIZES}
        kinds = {f"{n} direct": (fleet, fleet.direct, CLIENTS // N_DEPLOYMENTS) for n, fleet in fleets.items()}
        two = fleets[2]
        kinds["2 all forwarded"] = two, two.detour, CLIENTS // N_DEPLOYMENTS
        kinds["2 half forwarded"] = two, [*two.direct[:2], *two.detour[2:]], CLIENTS // N_DEPLOYMENTS
        kinds["one client, direct"] = two, two.direct[:1], 1
        kinds["one client, forwarded"] = two, two.detour[:1], 1
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in kinds}
        for fleet, targets, clients in kinds.values():
            load(fleet, targets, server, clients)  # connections, prepared statements
        for _ in range(ROUNDS):
            for name, (fleet, targets, clients) in kinds.items():
                runs[name].append(load(fleet, targets, server, clients))
        urllib.request.urlopen(f"{fleets[2].processes.services[0].url}/readyz").close()
    found: dict[str, Any] = {name: _median(each) for name, each in runs.items()}
    one = found["1 direct"]["service_us"]
    found["ratio by processor time"] = {
        name: round(int(name[0]) * one / found[name]["service_us"], 2) for name in kinds if name[0].isdigit()
    }
    pairs = zip(runs["2 direct"], runs["1 direct"], strict=True)
    found["ratio by the clock, 2 to 1"] = round(statistics.median(a["rate"] / b["rate"] for a, b in pairs), 2)
    pairs = zip(runs["one client, forwarded"], runs["one client, direct"], strict=True)
    found["latency, forwarded to direct"] = round(statistics.median(a["p50_ms"] / b["p50_ms"] for a, b in pairs), 2)
    return found | {"load_average": os.getloadavg()[0], "cores": os.cpu_count()}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
