"""Kill -9 under load, again and again: `python -m tests.torture 200` takes about ten minutes.

    python -m tests.torture 200                     the service, with a store in SQLite
    python -m tests.torture 200 postgresql          the service, with a store in PostgreSQL
    python -m tests.torture 200 postgresql server   the PostgreSQL server and its children, under the service

Clients decide and tell outcomes, some late, some two or three times, and repeat with the same key whatever was not
answered. The service is killed at random moments and started again. In the end, exactly what was asked for must be in
the log: every decision once, with the action that was answered, every outcome once; and the live state must be that of
a replay of the journal from the start.
"""

import json
import random
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from driftwise.service.client.client import Client
from tests import postgres
from tests.patience import HANG_S, patient, until
from tests.postgres import Server
from tests.service import Service

CLIENTS = 4
ANSWERS = 20  # decisions between two kills, at least


class Told(NamedTuple):
    """What clients were answered: the action of each decision, and the reward of each outcome."""

    actions: dict[int, Any]
    rewards: dict[int, float]
    doubled: list[int]
    broken: list[BaseException]  # clients that could not go on


def _live(url: str, seed: int, stop: threading.Event, told: Told) -> None:
    """One client."""
    try:
        _decide_and_learn(url, random.Random(seed), stop, told)
    except BaseException as error:
        told.broken.append(error)


def _decide_and_learn(url: str, luck: random.Random, stop: threading.Event, told: Told) -> None:
    waiting: list[int] = []
    with Client(url, patience=HANG_S, timeout=20) as client:  # an answer that takes longer is asked for again
        while not stop.is_set():
            batch = client.decide_many("shop", [{}] * luck.choice([1, 1, 5]))
            for decision in batch:
                if decision.id in told.actions:
                    told.doubled.append(decision.id)
                told.actions[decision.id] = decision.action
                waiting.append(decision.id)
            while waiting and luck.random() < 0.8:
                id = waiting.pop(luck.randrange(len(waiting)))
                reward = float(luck.random() < 0.5)
                for _ in range(luck.choice([1, 1, 2, 3])):
                    status = client.learn("shop", id, reward).status
                    assert status in ("learned", "duplicate", "stale"), status
                told.rewards[id] = reward


def torture(
    folder: Path, kills: int, seed: int = 0, store: str | None = None, server: Server | None = None
) -> dict[str, Any]:
    """Kill the service, or the `server` of its store, `kills` times; compare what clients know with what it knows."""
    luck = random.Random(seed)
    told, stop = Told({}, {}, [], []), threading.Event()
    with Service(store or folder / "store.db", log=folder / "service.log") as service:
        with patient(service.url) as client:
            client.create("shop", "sliding-thompson:window=200", 5)
        threads = [
            threading.Thread(target=_live, args=(service.url, i, stop, told), daemon=True) for i in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            _go_on(told)
            time.sleep(luck.uniform(0.0, 0.5))
            if server is None:
                service.kill()
                service.start()
                service.wait()
            else:
                server.kill()
                time.sleep(luck.uniform(0.0, 0.3))
                server.start()
        _go_on(told)
        stop.set()
        for thread in threads:
            thread.join()
        assert not told.broken, told.broken
        with patient(service.url) as client:
            log = [json.loads(line) for line in b"".join(client.export("shop")).splitlines()]
            equal = client.verify("shop").identical
    found = {row["id"]: row for row in log}
    return {
        "kills": kills,
        "decisions": len(told.actions),
        "outcomes": len(told.rewards),
        "lost_decisions": sum(id not in found or found[id]["action"] != action for id, action in told.actions.items()),
        "lost_outcomes": sum(found[id]["reward"] != reward for id, reward in told.rewards.items() if id in found),
        "doubled": len(told.doubled) + len(log) - len(found),
        "not_asked_for": len(set(found) - set(told.actions)),
        "identical_to_replay": equal,
    }


def _go_on(told: Told) -> None:
    """Let clients be answered for a while: the next kill shall meet work."""
    enough = len(told.actions) + ANSWERS
    until(lambda: len(told.actions) >= enough or told.broken, "an answer to clients")


def main(kills: str = "200", kind: str = "sqlite", victim: str = "service") -> None:
    """Torture one of them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = None if kind == "sqlite" else stack.enter_context(postgres.server())
        store = None if server is None else server.store()
        print(json.dumps(torture(folder, int(kills), 1, store, server if victim == "server" else None)))


if __name__ == "__main__":
    main(*sys.argv[1:])
