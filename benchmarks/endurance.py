"""Ten minutes at full load with retention on: python -m benchmarks.endurance [--seconds 600] [--keys].

Clients decide and send outcomes as fast as they can, without idempotency keys or with them: answers to those are kept
for six minutes at least, so that the store grows until then, and a run takes fifteen minutes (--seconds 900). From
then on it follows the rate of requests, which on a machine with other work must be fixed (--rate 15). Every second
the bytes of the store and the memory of the service are sampled; of the store also what they are: the file, free
pages in it, and the WAL. The store is cut every ten seconds, so that its size is a saw-tooth: `flatness` has the rule
that says whether it grows. It ends by itself, and prints JSON.
"""

import argparse
import json
import os
import struct
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from benchmarks.flatness import WARM, judge
from driftwise.service.client.client import Client
from tests.fixtures.service_process import Service

CLIENTS = 4
BATCH = 100
EVENTS = 20_000  # kept by the retention
TOOTH_S = 12.0  # between two cuts, at most, while the machine is not overloaded
KEEP_HOURS = 0.1  # how long keys are kept, the least that the service takes
KEYS_WARM_S = 3600 * KEEP_HOURS + 60  # until as many keys are dropped as come
PAGES = struct.Struct(">28xI4xI")  # in the header of a SQLite file: its pages, and which of them are free


class Sample(NamedTuple):
    """Bytes at a time: of the whole store, its file, free pages of the file, its WAL, and memory of the service.

    `events` were written until then.
    """

    at: float
    store: int
    file: int
    free: int
    wal: int
    memory: int
    events: int


def load(url: str, stop: threading.Event, counts: list[int], place: int, options: argparse.Namespace) -> None:
    """Decide and learn in batches until told to stop."""
    keys, pause = options.keys, 2 * CLIENTS / options.rate if options.rate else 0.0
    begin = time.monotonic()
    with httpx.Client(base_url=f"{url}/v1/deployments/shop", timeout=60) as client:
        while not stop.is_set():
            decided = _post(client, "/decide/batch", {"decisions": [{}] * BATCH}, keys)
            ids = [each["id"] for each in decided["decisions"]]
            _post(client, "/learn/batch", {"outcomes": [{"id": id, "reward": float(id % 3 == 0)} for id in ids]}, keys)
            counts[place] += 2 * BATCH
            time.sleep(max(0.0, begin + pause * counts[place] / (2 * BATCH) - time.monotonic()))


def _post(client: httpx.Client, path: str, body: dict[str, Any], keys: bool) -> Any:
    headers = {"idempotency-key": uuid.uuid4().hex} if keys else {}
    return client.post(path, json=body, headers=headers).raise_for_status().json()


def sample(at: float, store: Path, pid: int, events: int) -> Sample:
    """What the store and the service take now."""
    sizes = {path.name: path.stat().st_size for path in store.parent.glob(f"{store.name}*")}
    with store.open("rb") as file:
        pages, free = PAGES.unpack(file.read(PAGES.size))
    file_bytes, memory = sizes[store.name], int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    free_bytes = free * file_bytes // max(1, pages)
    wal = sizes.get(f"{store.name}-wal", 0)
    return Sample(at, sum(sizes.values()), file_bytes, free_bytes, wal, memory * os.sysconf("SC_PAGE_SIZE"), events)


def main() -> None:
    """Print one JSON document."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=600.0)
    options.add_argument("--every", type=float, default=1.0)
    options.add_argument("--keys", action="store_true", help="send idempotency keys")
    options.add_argument("--rate", type=float, help="requests per second, each of 100 decisions or outcomes")
    options.add_argument("--samples", type=Path, help="a file for all samples, as JSON lines")
    given = options.parse_args()
    stop, counts, samples = threading.Event(), [0] * CLIENTS, []
    with (
        tempfile.TemporaryDirectory() as folder,
        Service(Path(folder) / "store.db", "--max-rate", "0", "--keep-keys", str(KEEP_HOURS)) as service,
        Client(service.url, patience=60) as client,
    ):
        client.create("shop", "sliding-thompson:window=1000", 10, retention={"events": EVENTS})
        threads = [
            threading.Thread(target=load, args=(service.url, stop, counts, place, given), daemon=True)
            for place in range(CLIENTS)
        ]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        while (at := time.monotonic() - began) < given.seconds:
            samples.append(sample(at, Path(folder) / "store.db", service.process.pid, sum(counts)))
            time.sleep(given.every)
        stop.set()
        for thread in threads:
            thread.join()
        if given.samples is not None:
            given.samples.write_text("".join(json.dumps(each._asdict()) + "\n" for each in samples))
        warm = KEYS_WARM_S / given.seconds if given.keys else WARM
        print(json.dumps(report(samples, warm) | {"keys": given.keys, "events": sum(counts)}, indent=1), flush=True)
        print(json.dumps({"identical": client.verify("shop").identical, "load": os.getloadavg()}))


def report(samples: list[Sample], warm: float) -> dict[str, Any]:
    """Whether store and memory grow, and the least and most of all sizes, after so much of the time."""
    times = [each.at for each in samples]
    later = [each for each in samples if each.at > warm * times[-1]]
    found: dict[str, Any] = {"seconds": times[-1]}
    for name in ("store", "memory"):
        found[name] = judge(times, [getattr(each, name) for each in samples], tooth=TOOTH_S, warm=warm)._asdict()
    for name in Sample._fields[1:-1]:
        sizes = sorted(getattr(each, name) for each in later)
        found.setdefault(name, {}).update(least=sizes[0], median=sizes[len(sizes) // 2], most=sizes[-1])
    return found


if __name__ == "__main__":
    main()
