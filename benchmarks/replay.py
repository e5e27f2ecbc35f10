"""How slow decisions are while a long journal is replayed: python -m benchmarks.replay [--events 1000000].

One service with one deployment of many events. Clients decide in stretches of two seconds: before a replay (`verify`,
then a change of policy), while it is done, and after it. What is reported is the median p99 of the stretches during the
replay over that of the stretches before and after, all in one run: a busy machine slows both. It ends by itself.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.service import CLIENTS, DECIDE, HERE, _environment
from driftwise.families import MultiArmed
from driftwise.service.deployments import spec
from driftwise.service.deployments.clock import now_us
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.http.schemas.requests import DeploymentSpec
from driftwise.service.store import events as kinds
from driftwise.service.store.events import Created
from driftwise.service.store.journal import CATALOGUE, Event, open_journal
from tests.fixtures.service_process import Service

STRETCH_S = 2.0
QUIET = 4  # stretches before and after a replay
BATCH = 2000
POLICY = "sliding-thompson:window=1000"
REPLAYS = {
    "verify": ("POST", "/v1/deployments/shop/verify", {}),
    "change of policy": ("PATCH", "/v1/deployments/shop", {"policy": "sliding-ucb:window=1000"}),
}


def fill(store: str, n_events: int) -> None:
    """A deployment of ten arms with so many events, and a snapshot at the end."""
    journal = open_journal(store, "normal")
    at = now_us() - 10 * n_events
    new = DeploymentSpec(name="shop", policy=POLICY, problem=MultiArmed(10), max_pending=10**6)
    journal.append([Event(CATALOGUE, 0, at, "created", kinds.encode(Created(1, spec.encode(new))))])
    live, events = Deployment(1, new), []
    for n in range(n_events // 2):
        decided, _ = live.decide({}, None, at + 10 * n)
        learned, _ = live.learn(decided.number, {"reward": float(n % 3 == 0)}, at + 10 * n)
        events += [decided, learned]
        if len(events) >= BATCH:
            journal.append(events)
            events = []
    journal.append(events, (), [live.snapshot()])
    journal.close()


class Request(threading.Thread):
    """A request that takes long; `seconds` is how long it took."""

    def __init__(self, port: int, method: str, path: str, body: Any) -> None:
        super().__init__(daemon=True)
        self.seconds = 0.0
        data, headers = json.dumps(body).encode(), {"content-type": "application/json"}
        self.request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers, method=method)
        self.start()

    def run(self) -> None:
        """Send it, and wait."""
        began = time.perf_counter()
        with suppress(urllib.error.HTTPError):  # the service was stopped before the end
            urllib.request.urlopen(self.request, timeout=3600).close()
            self.seconds = time.perf_counter() - began


def wait_until_exact(port: int) -> float:
    """Wait for the end of the replay of a store that other code has filled; seconds."""
    began = time.perf_counter()
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/deployments/shop", timeout=60) as answer:
            if json.loads(answer.read()).get("replay") is None:
                return time.perf_counter() - began
        time.sleep(0.5)


def stretch(port: int, clients: int) -> Any:
    """Decisions for two seconds: rate, p50, p99."""
    command = [sys.executable, str(HERE / "load.py"), str(port), DECIDE, str(clients), str(STRETCH_S)]
    done = subprocess.run(command, input=b"{}", capture_output=True, check=True, env=_environment())
    return json.loads(done.stdout)


def measure(port: int, name: str, clients: int, most: int) -> dict[str, Any]:
    """One replay, with decisions before it, beside it (at `most` so many stretches) and after it, if it ends."""
    usual = [stretch(port, clients) for _ in range(QUIET)]
    replay = Request(port, *REPLAYS[name])
    beside = [stretch(port, clients)]
    while replay.is_alive() and len(beside) < most:
        beside.append(stretch(port, clients))
    if not replay.is_alive():
        usual += [stretch(port, clients) for _ in range(QUIET)]
    told: dict[str, Any] = {"seconds": replay.seconds, "stretches": len(beside), "bad": sum(s["bad"] for s in beside)}
    told["worst p99"] = max(each["p99"] for each in beside)
    for what in ("p50", "p99", "rate"):
        before, during = (statistics.median(each[what] for each in some) for some in (usual, beside))
        told[what] = {"usual": before, "beside": during, "ratio": during / before}
    return told


def main() -> None:
    """Print one JSON document."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=1_000_000)
    options.add_argument("--clients", type=int, default=CLIENTS)
    options.add_argument("--only", choices=REPLAYS, default=None)
    options.add_argument("--stretches", type=int, default=10**6, help="beside a replay, at most; then it is ended")
    options.add_argument("--store", default=None, help="a store that was filled before; else a new one")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or f"sqlite:///{folder}/store.db"
        if given.store is None or not Path(store.removeprefix("sqlite:///")).exists():
            fill(store, given.events)
        with Service(store, "--max-rate", "0", log=Path(folder) / "service.log") as service:
            wait_until_exact(service.port)
            found = {
                name: measure(service.port, name, given.clients, given.stretches)
                for name in ([given.only] if given.only else REPLAYS)
            }
    print(json.dumps({"events": given.events, "load": os.getloadavg()[0], "found": found}, indent=1))


if __name__ == "__main__":
    main()
