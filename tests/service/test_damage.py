"""One damaged event makes one deployment unavailable, in a sentence; the others serve, and readiness says so."""

import asyncio
import json
import logging
import os
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import httpx
import msgspec
import psycopg
import pytest

from driftwise.errors import DriftwiseError
from driftwise.service.client.client import AsyncClient, RequestError
from driftwise.service.deployments import queries
from driftwise.service.deployments.background_tasks import TASKS
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.access import Access
from driftwise.service.http.app import make_app
from driftwise.service.http.endpoint import Service
from driftwise.service.store.events import ArmRetired, Decided, Learned, encode
from driftwise.service.store.journal import JournalError, open_journal
from tests.fixtures.engine import Clock, create, decide, learn, running
from tests.fixtures.patience import HANG_S, until
from tests.fixtures.service_process import SOURCE
from tests.fixtures.service_process import Service as Process

DAMAGED = 6  # which event of the deployment, of `ROUNDS` decisions and as many outcomes
ROUNDS = 10
Change = dict[str, Any]
DAMAGES: dict[str, Change] = {
    "cut short": {"body": encode(Decided("red", None, {}))[:3]},
    "no msgpack": {"body": b"\xc1\xff\x00"},
    "empty": {"body": b""},
    "of another shape": {"body": msgspec.msgpack.encode(7)},
    "of other types": {"body": msgspec.msgpack.encode(["red", "often", {}, None, False])},
    "invalid text": {"body": b"\x95\xa3r\xffd\xc0\x80\xc0\xc2"},
    "of an unknown kind": {"kind": "decidee"},
    "of another kind": {"kind": "arm retired", "body": encode(ArmRetired("red"))},
    "an arm that never was": {"body": encode(Decided("rad", None, {}))},
    "an action of another type": {"body": encode(Decided(["red"], None, {}))},
    "what nobody asked for": {"body": encode(Decided("red", None, {"contest": [1.0]}))},
    "an outcome of nothing": {"kind": "learned", "body": encode(Learned({"reward": 1.0})), "ref": 999},
    "a reward that is none": {"number": 7, "body": encode(Learned({"reward": "much"}))},
    "an outcome without any": {"number": 7, "body": encode(Learned({}))},
    "lost": {"delete": True},
}


def change_event(store: str, stream: int, number: int, change: Change) -> None:
    """Damage an event behind the back of the service."""
    fields = {name: value for name, value in change.items() if name not in ("delete", "number")}
    where, place = "WHERE stream = ? AND number = ?", (stream, change.get("number", number))
    words = "DELETE FROM events" if "delete" in change else f"UPDATE events SET {', '.join(f'{f} = ?' for f in fields)}"
    values = (*fields.values(), *place)
    if store.startswith("sqlite"):
        connection = apsw.Connection(store.removeprefix("sqlite:///"))
        connection.execute(f"{words} {where}", values)
        connection.close()
        return
    url, _, schema = store.partition("&schema=")
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(f"SET search_path = {schema}")
        session.execute(f"{words} {where}".replace("?", "%s"), values)


def forget_snapshots(store: str) -> None:
    if store.startswith("sqlite"):
        connection = apsw.Connection(store.removeprefix("sqlite:///"))
        connection.execute("DELETE FROM snapshots")
        connection.close()
        return
    url, _, schema = store.partition("&schema=")
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(f"DELETE FROM {schema}.snapshots")


async def fill(store: str, *, reward_window: float | None = None) -> None:
    """Two deployments of one kind: decisions are the even events, outcomes the odd ones."""
    async with running(store) as engine:
        for name in ("shop", "sound"):
            await create(engine, name=name, reward_window=reward_window)
            for _ in range(ROUNDS):
                await learn(engine, (await decide(engine, name))["id"], name)


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftwise.service.deployments.background_tasks.ANSWER_S", HANG_S)


@asynccontextmanager
async def served(store: str) -> AsyncIterator[tuple[Engine, httpx.AsyncClient]]:
    engine = Engine(open_journal(store), clock=Clock())
    transport = httpx.ASGITransport(app=make_app(Service(engine, access=Access(auth=False))))
    await engine.start()
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            while not engine.readiness.warm:
                await asyncio.sleep(0.001)
            yield engine, http
    finally:
        await engine.close()


SHOP = "/v1/deployments/shop"
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", f"{SHOP}/decide", {}),
    ("POST", f"{SHOP}/learn", {"id": 0, "reward": 1}),
    ("POST", f"{SHOP}/cancel", {"id": 0}),
    ("POST", f"{SHOP}/verify", None),
    ("POST", f"{SHOP}/snapshot", None),
    ("POST", f"{SHOP}/arms", {"name": "violet"}),
    ("PATCH", SHOP, {"policy": "sliding-ucb:window=9"}),
    ("GET", SHOP, None),
    ("GET", f"{SHOP}/statistics", None),
    ("GET", f"{SHOP}/log", None),
    ("GET", f"{SHOP}/agent", None),
    ("GET", f"{SHOP}/decisions/0/explain", None),
]


def errors(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [vars(record)["facts"] for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_damaged_event_makes_one_deployment_unavailable(
    store: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    number = DAMAGES[damage].get("number", DAMAGED)
    fuzzy = damage in ("of another kind", "an outcome of nothing")  # it may be the next event that does not fit

    async def test() -> None:
        await fill(store)
        forget_snapshots(store)
        change_event(store, 1, DAMAGED, DAMAGES[damage])
        async with served(store) as (engine, http):
            assert (await http.get("/readyz")).json() == {"ready": True, "damaged": ["shop"]}
            found = engine.entry("shop").damage
            assert found is not None and (found.event == number or (fuzzy and found.event in (number, number + 1)))
            for method, path, body in REQUESTS:
                told = await http.request(method, path, json=body)
                assert told.status_code == 503, (method, path, told.text)
                problem = told.json()
                assert problem["code"] == "damaged" and f"event {found.event}" in problem["detail"], problem
                assert problem["detail"].startswith("deployment shop is damaged: ")
            assert (await http.post("/v1/deployments/sound/decide", json={})).json()["id"] == 2 * ROUNDS
            assert (await http.post("/v1/deployments/sound/verify")).json()["identical"]
            listed = (await http.get("/v1/deployments")).json()["deployments"]
            assert [(each["name"], each["status"]) for each in listed] == [("shop", "damaged"), ("sound", "running")]
            assert "\ndriftwise_damaged 1.0\n" in (await http.get("/metrics")).text
            await check_export(http, found.event or 0, DAMAGED if fuzzy else None)
            async with AsyncClient("http://127.0.0.1", transport=http._transport) as client:
                with pytest.raises(
                    RequestError, match="deployment shop is damaged"
                ) as refused:  # not asked again and again
                    await client.decide("shop")
                assert refused.value.code == "damaged"
            assert (await http.post(f"{SHOP}/retire")).json()["status"] == "retired"
            assert (await http.get("/readyz")).json() == {"ready": True}

    caplog.set_level(logging.INFO, "driftwise.service")
    asyncio.run(test())
    (facts,) = errors(caplog)  # told once, whatever was asked
    assert facts["deployment"] == "shop" and facts["why"]


async def check_export(http: httpx.AsyncClient, event: int, without: int | None = None) -> None:
    """What was written before the damage can be taken away; asked for more, it says how."""
    told = (await http.get(f"{SHOP}/log")).json()["detail"]
    assert told.endswith(f"to export the log before it, add upto={event - 1}")
    for kind in ("jsonl", "csv", "parquet"):
        answer = await http.get(f"{SHOP}/log?upto={event - 1}&format={kind}")
        assert answer.status_code == 200
        if kind == "jsonl":
            rows = [json.loads(line) for line in answer.text.splitlines()]
            assert [row["id"] for row in rows] == [id for id in range(0, event, 2) if id != without]
            settled = [row["status"] for row in rows if row["id"] + 1 < event]
            assert settled == ["learned"] * len(settled)


def test_the_warm_task_survives_whatever_is_damaged(store: str) -> None:
    """Every deployment of a kind is damaged: the service is ready all the same."""

    async def test() -> None:
        await fill(store, reward_window=60)
        forget_snapshots(store)
        for stream in (1, 2):
            change_event(store, stream, 0, DAMAGES["of other types"])
        async with served(store) as (engine, http):
            while len(engine.damaged_names) < 2:
                await asyncio.sleep(0.001)
            told = await http.get("/readyz")
            assert (told.status_code, told.json()) == (200, {"ready": True, "damaged": ["shop", "sound"]})
            assert (await http.get(f"{SHOP}/log")).json()["detail"].endswith("no event precedes it")
            while len(engine._tasks) >= len(TASKS):
                await asyncio.sleep(0.001)
            assert len(engine._tasks) == len(TASKS) - 1  # all but the first go on for ever

    asyncio.run(test())


def test_damage_before_a_snapshot_stops_nothing_that_needs_it_not(store: str, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        await fill(store)
        change_event(store, 1, DAMAGED, DAMAGES["of other types"])
        async with served(store) as (engine, http):
            while not engine.readiness.sampled:
                await asyncio.sleep(0.001)
            assert (await http.get("/readyz")).json() == {"ready": True, "damaged": ["shop"]}  # a sample was read
            assert (await http.post(f"{SHOP}/decide", json={})).json()["id"] == 2 * ROUNDS
            for _ in range(2):
                for method, path in (("POST", f"{SHOP}/verify"), ("GET", f"{SHOP}/log")):
                    told = await http.request(method, path)
                    assert told.status_code == 503 and f"event {DAMAGED} is damaged" in told.json()["detail"]
            assert (await http.get(f"{SHOP}/decisions/{DAMAGED}")).json()["code"] == "damaged"
            assert (await http.get(f"{SHOP}/decisions/2")).status_code == 200
            assert (await http.get("/readyz")).json() == {"ready": True, "damaged": ["shop"]}
            assert (await http.post(f"{SHOP}/decide", json={})).status_code == 200
            outcome = {"id": 2 * ROUNDS, "reward": 1}
            assert (await http.post(f"{SHOP}/learn", json=outcome)).json()["status"] == "learned"
            engine.entry("shop").live = None  # folded anew from the snapshot, it goes on
            assert (await http.post(f"{SHOP}/decide", json={})).json()["id"] == 2 * ROUNDS + 3
            await check_export(http, DAMAGED)

    caplog.set_level(logging.INFO, "driftwise.service")
    asyncio.run(test())
    assert [facts["event_number"] for facts in errors(caplog)] == [DAMAGED]


def test_a_damaged_outcome_is_told_to_whoever_repeats_it(store: str) -> None:
    async def test() -> None:
        await fill(store)
        change_event(store, 1, DAMAGED + 1, {"body": b"\xc1"})
        async with served(store) as (engine, http):
            told = await http.post(f"{SHOP}/learn", json={"id": DAMAGED, "reward": 1})
            assert told.status_code == 503 and told.json()["code"] == "damaged"
            assert engine.entry("shop").live is not None  # what is sound is not thrown away
            assert (await http.post(f"{SHOP}/decide", json={})).status_code == 200

    asyncio.run(test())


@pytest.mark.system
def test_a_log_is_cut_off_where_damage_is_met_on_the_way(store: str, tmp_path: Path) -> None:
    """Too late to refuse: the client sees that the answer is not whole. The next time it is refused at once."""

    async def many() -> None:
        async with running(store) as engine:
            await create(engine)
            for _ in range(30):
                await asyncio.gather(*(decide(engine) for _ in range(40)))

    asyncio.run(many())
    with Process(store, log=tmp_path / "log") as service, httpx.Client(base_url=service.url, timeout=HANG_S) as http:
        until(lambda: "a sample of the store was checked" in service.log.read_text(), "the check at the start")
        change_event(store, 1, 1100, DAMAGES["of other types"])
        with pytest.raises(httpx.RemoteProtocolError), http.stream("GET", f"{SHOP}/log") as cut:
            for _ in cut.iter_lines():
                pass
        again = http.get(f"{SHOP}/log")
        assert again.status_code == 503 and again.json()["detail"].endswith("add upto=1099")
        assert len(http.get(f"{SHOP}/log?upto=1099").text.splitlines()) == 1100
    told = [json.loads(line)["event"] for line in service.log.read_text().splitlines()]
    assert told.index("the journal of a deployment is damaged") + 1 == told.index("a response was cut off")
    assert "Traceback" not in service.log.read_text()


@pytest.mark.system
@pytest.mark.parametrize("damage", ["of other types", "of an unknown kind", "lost"])
def test_a_damaged_catalogue_is_one_sentence(store: str, damage: str) -> None:
    asyncio.run(fill(store))
    change_event(store, 0, 0, DAMAGES[damage])
    command = [sys.executable, "-m", "driftwise.cli", "serve", "--store", store]
    environment = os.environ | {"PYTHONPATH": SOURCE}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "catalogue" in done.stderr and "event 0" in done.stderr and "restore a backup" in done.stderr


def test_flipped_bits_are_never_an_exception_without_a_sentence(tmp_path: Path) -> None:
    """Anywhere in the file: it starts or refuses to, and every deployment answers or says why not."""
    base = tmp_path / "base.db"
    asyncio.run(fill(f"sqlite:///{base}"))
    luck = random.Random(5)
    refused = 0

    async def look(store: str) -> int:
        engine = Engine(open_journal(store), clock=Clock())
        await engine.start()
        found = 0
        work: list[Callable[[str], Any]] = [
            lambda name: queries.verify(engine, name),
            lambda name: decide(engine, name),
            lambda name: all_of(engine, name),
        ]
        for name in ("shop", "sound"):
            for each in work:
                try:
                    await each(name)
                except DriftwiseError:
                    found += 1
        await engine.close()
        return found

    async def all_of(engine: Engine, name: str) -> None:
        async for _ in await queries.export_log(engine, name, "jsonl", -1, 2**53 - 1):
            pass

    for n in range(60):
        path = tmp_path / f"{n}.db"
        shutil.copy(base, path)
        content = bytearray(path.read_bytes())
        for _ in range(4):
            content[luck.randrange(len(content))] ^= 1 << luck.randrange(8)
        path.write_bytes(content)
        try:
            refused += asyncio.run(look(f"sqlite:///{path}"))
        except (JournalError, DriftwiseError):
            refused += 1
    assert refused > 10  # or nothing was met at all
