"""Crashes of the whole service: kill -9 under load, and a disk that is full."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.everyday import deep_unless
from tests.fixtures.kills import torture
from tests.fixtures.postgres import Server
from tests.fixtures.service_process import SOURCE

pytestmark = pytest.mark.system

CLEAN = {"lost_decisions": 0, "lost_outcomes": 0, "doubled": 0, "not_asked_for": 0, "identical_to_replay": True}


STORES = "sqlite", "postgresql", "postgresql server"


def every_day(*names: str) -> pytest.MarkDecorator:
    """Kill these every day, and the others in `make deep`."""
    return pytest.mark.parametrize("victim", [deep_unless(name in names, name) for name in STORES], indirect=True)


@pytest.fixture
def victim(request: Any) -> tuple[str | None, Server | None]:
    """A store whose service is killed; or one whose server is."""
    if request.param == "sqlite":
        return None, None
    server: Server = request.getfixturevalue("durable_server")
    return server.store(), server if request.param.endswith("server") else None


@every_day("sqlite", "postgresql server")
def test_kill_nine_under_load(victim: tuple[str | None, Server | None], tmp_path: Path) -> None:
    found = torture(tmp_path, 3, 0, *victim)
    assert {name: found[name] for name in CLEAN} == CLEAN and found["decisions"] > 50
    assert found["different_from_twin"] == 0


@every_day("postgresql")
def test_kill_nine_while_old_events_are_dropped(victim: tuple[str | None, Server | None], tmp_path: Path) -> None:
    found = torture(tmp_path, 2, 2, *victim, retention={"events": 100, "archive": True})
    assert {name: found[name] for name in CLEAN} == CLEAN and found["decisions"] > 50


@every_day()
def test_kill_nine_often(victim: tuple[str | None, Server | None], tmp_path: Path) -> None:
    found = torture(tmp_path, 25, 1, *victim)
    assert {name: found[name] for name in CLEAN} == CLEAN and found["different_from_twin"] == 0


FULL_DISK = """
import asyncio, json, resource, signal, sys
from driftwise.service.http.errors import Unavailable
from driftwise.service.deployments import queries
from tests.fixtures.engine import create, decide, learn, running

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

async def main(store):
    kept, refused = [], 0
    async with running(store) as engine:
        await create(engine)
        await decide(engine)
        size = engine.journal.size()
        room = 200_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        for _ in range(60):
            made = await asyncio.gather(*(decide(engine) for _ in range(20)), return_exceptions=True)
            kept += [each["id"] for each in made if isinstance(each, dict)]
            refused += sum(isinstance(each, Unavailable) for each in made)
            assert all(isinstance(each, dict | Unavailable) for each in made), made
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        after = [(await decide(engine))["id"] for _ in range(20)]
        identical = (await queries.verify(engine, "shop")).identical
        there = [event.number for event in engine.journal.read(1)]
    print(json.dumps({"kept": kept, "refused": refused, "after": after, "there": there, "identical": identical}))

asyncio.run(main(sys.argv[1]))
"""


def test_a_full_disk_refuses_and_then_goes_on(tmp_path: Path) -> None:
    here = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": f"{SOURCE}:{here}"}
    command = [sys.executable, "-c", FULL_DISK, f"sqlite:///{tmp_path}/store.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["refused"] > 0 and found["kept"] and found["identical"]
    assert found["there"] == list(range(len(found["there"])))
    assert found["there"] == sorted([0, *found["kept"], *found["after"]])  # all that was kept, none that was refused
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
