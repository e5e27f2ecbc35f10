"""Ten minutes at full load with retention on: python -m benchmarks.endurance [--seconds 600].

Clients decide and send outcomes as fast as they can, without idempotency keys: answers to those are kept for six
minutes at least, so that the store would follow the rate of requests. Every few seconds the bytes of the store and the
memory of the service are sampled. After a first part, in which both reach their size, a line is fitted to each. The
slope is printed as the share that an hour adds, with its 95 % interval: the store is cut every ten seconds, so that its
size goes up and down. It grows when the whole interval is above a tenth. It ends by itself, and prints JSON.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from driftwise.service.client.client import Client
from tests.fixtures.service_process import Service

CLIENTS = 4
BATCH = 100
EVENTS = 20_000  # kept by the retention
WARM = 0.25  # of the time, before which nothing is fitted
FLAT = 0.1  # of the size, gained in an hour


def load(url: str, stop: threading.Event, counts: list[int], place: int) -> None:
    """Decide and learn in batches until told to stop."""
    with httpx.Client(base_url=f"{url}/v1/deployments/shop", timeout=60) as client:
        while not stop.is_set():
            decided = client.post("/decide/batch", json={"decisions": [{}] * BATCH}).raise_for_status().json()
            ids = [each["id"] for each in decided["decisions"]]
            outcomes = [{"id": id, "reward": float(id % 3 == 0)} for id in ids]
            client.post("/learn/batch", json={"outcomes": outcomes}).raise_for_status()
            counts[place] += 2 * BATCH


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    return os.sysconf("SC_PAGE_SIZE") * int(Path(f"/proc/{pid}/statm").read_text().split()[1])


def verdict(samples: list[tuple[float, int]], seconds: float) -> dict[str, Any]:
    """The slope of a line through the later samples, as the share of their mean that an hour adds."""
    times, sizes = np.array([each for each in samples if each[0] > WARM * seconds], dtype=float).T
    (slope, _), covariance = np.polyfit(times, sizes, 1, cov=True)
    share = 3600 / float(sizes.mean())
    low, high = (share * (float(slope) + sign * 1.96 * float(covariance[0, 0]) ** 0.5) for sign in (-1, 1))
    sizes_ = {"mean": int(sizes.mean()), "min": int(sizes.min()), "max": int(sizes.max())}
    return sizes_ | {"hourly_share": [low, high], "grows": low > FLAT}


def main() -> None:
    """Print one JSON document."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=600.0)
    options.add_argument("--every", type=float, default=5.0)
    given = options.parse_args()
    stop, counts = threading.Event(), [0] * CLIENTS
    found: dict[str, list[tuple[float, int]]] = {"store": [], "memory": []}
    with (
        tempfile.TemporaryDirectory() as folder,
        Service(Path(folder) / "store.db", "--max-rate", "0") as service,
        Client(service.url, patience=60) as client,
    ):
        client.create("shop", "sliding-thompson:window=1000", 10, retention={"events": EVENTS})
        threads = [
            threading.Thread(target=load, args=(service.url, stop, counts, place), daemon=True)
            for place in range(CLIENTS)
        ]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        while (at := time.monotonic() - began) < given.seconds:
            size = sum(path.stat().st_size for path in Path(folder).glob("store.db*"))
            found["store"].append((at, size))
            found["memory"].append((at, resident(service.process.pid)))
            time.sleep(given.every)
        stop.set()
        for thread in threads:
            thread.join()
        _print(found, given.seconds, counts)
        print(json.dumps({"identical": client.verify("shop").identical}))


def _print(found: dict[str, list[tuple[float, int]]], seconds: float, counts: list[int]) -> None:
    told = {name: verdict(samples, seconds) for name, samples in found.items()}
    for name, samples in found.items():
        told[name]["curve"] = [size for _, size in samples[:: max(1, len(samples) // 20)]]
    print(json.dumps({"seconds": seconds, "events": sum(counts)} | told, indent=1), flush=True)


if __name__ == "__main__":
    main()
