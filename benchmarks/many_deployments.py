"""Many deployments in one file: how long a restart takes, and what one of them weighs. Prints one line of JSON.

python benchmarks/many_deployments.py 10000
"""

import asyncio
import gc
import json
import sys
import tempfile
import time
from pathlib import Path

from driftwise.families import MultiArmed
from driftwise.service.deployments import spec
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.schemas.requests import DeploymentSpec
from driftwise.service.store import events as kinds
from driftwise.service.store.events import Created
from driftwise.service.store.journal import CATALOGUE, Event, Snapshot, open_journal

AT = 10**15
WEIGHED = 2000
BATCH = 500


def fill(store: str, count: int) -> None:
    """Deployments of ten arms with twenty events and a snapshot each."""
    journal = open_journal(store)
    events: list[Event] = []
    snapshots: list[Snapshot] = []
    for stream in range(1, count + 1):
        new = DeploymentSpec(name=f"d{stream}", policy="sliding-thompson:window=1000", problem=MultiArmed(10))
        live = Deployment(stream, new)
        body = kinds.encode(Created(stream, spec.encode(new)))
        events.append(Event(CATALOGUE, stream - 1, AT, "created", body))
        for _ in range(10):
            decided, _ = live.decide({}, None, AT)
            learned, _ = live.learn(decided.number, {"reward": 1.0}, AT)
            events += [decided, learned]
        snapshots.append(live.snapshot())
        if stream % BATCH == 0 or stream == count:
            journal.append(events, (), snapshots)
            events, snapshots = [], []
    journal.close()


async def measure(store: str, count: int) -> dict[str, float]:
    """Start, and then use some of them."""
    began = time.perf_counter()
    engine = Engine(open_journal(store))
    await engine.start()
    while not engine.ready:
        await asyncio.sleep(0.005)
    ready = time.perf_counter() - began
    gc.collect()
    before, began = _resident(), time.perf_counter()
    used = min(count, WEIGHED)
    for stream in range(1, used + 1):
        await engine.live(f"d{stream}")
    folded = (time.perf_counter() - began) / used
    gc.collect()
    weight = (_resident() - before) / used / 1000
    await engine.close()
    return {"deployments": count, "ready_s": ready, "first_use_ms": 1000 * folded, "kb": weight}


def _resident() -> int:
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        url, number = f"sqlite:///{folder}/store.db", int(sys.argv[1])
        fill(url, number)
        print(json.dumps(asyncio.run(measure(url, number))))
