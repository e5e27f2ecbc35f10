"""Ten minutes at full load with retention on: python -m benchmarks.endurance [--seconds 600].

Clients decide and send outcomes as fast as they can. Every few seconds the bytes of the store and the memory of the
service are sampled. After a first part, in which both reach their size, a line is fitted to each: it is flat when an
hour at this rate would add less than a tenth. It ends by itself, and prints one JSON document.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.service.client.client import Client
from tests.fixtures.service_process import Service

CLIENTS = 4
BATCH = 100
EVENTS = 20_000  # kept by the retention
WARM = 0.65  # of the time, before which nothing is fitted: answers are kept for six minutes
FLAT = 0.1  # of the size, gained in an hour


def clients(url: str, stop: threading.Event, counts: list[int], place: int) -> None:
    """Decide and learn in batches until told to stop."""
    with Client(url, patience=60) as client:
        while not stop.is_set():
            decisions = client.decide_many("shop", [{}] * BATCH)
            outcomes = [{"id": each.id, "reward": float(each.id % 3 == 0)} for each in decisions]
            client.learn_many("shop", outcomes)
            counts[place] += 2 * BATCH


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    return os.sysconf("SC_PAGE_SIZE") * int(Path(f"/proc/{pid}/statm").read_text().split()[1])


def verdict(samples: list[tuple[float, int]], seconds: float) -> dict[str, Any]:
    """The slope of a line through the later samples, as the share of their mean that an hour adds."""
    times, sizes = np.array([each for each in samples if each[0] > WARM * seconds], dtype=float).T
    slope = float(np.polyfit(times, sizes, 1)[0])
    hourly = 3600 * slope / float(sizes.mean())
    return {"mean": int(sizes.mean()), "max": int(sizes.max()), "hourly_share": hourly, "flat": abs(hourly) < FLAT}


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
        Service(Path(folder) / "store.db", "--max-rate", "0", "--keep-keys", "0.1") as service,
        Client(service.url, patience=60) as client,
    ):
        client.create("shop", "sliding-thompson:window=1000", 10, retention={"events": EVENTS})
        threads = [
            threading.Thread(target=clients, args=(service.url, stop, counts, place), daemon=True)
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
        identical = client.verify("shop").identical
    told = {name: verdict(samples, given.seconds) for name, samples in found.items()}
    told["curves"] = {
        name: [size for _, size in samples[:: max(1, len(samples) // 20)]] for name, samples in found.items()
    }
    print(json.dumps({"seconds": given.seconds, "events": sum(counts), "identical": identical} | told, indent=1))


if __name__ == "__main__":
    main()
