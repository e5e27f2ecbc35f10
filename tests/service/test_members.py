"""Several processes over one store: any of them answers for all, and one that dies or sleeps loses nothing."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from driftwise.cli.command import main
from driftwise.cli.keys import create
from tests.fixtures.kills import Told, differences_of_twins
from tests.fixtures.patience import HANG_S, patient, until
from tests.fixtures.postgres import Server
from tests.fixtures.service_process import Service
from tests.fixtures.takeovers import Processes, clients_of, compare, go_on, takeovers

HTTP = httpx.Client(timeout=HANG_S, limits=httpx.Limits(max_keepalive_connections=0))
NAMES = [f"shop-{number}" for number in range(4)]
CLEAN = {"lost": 0, "doubled": 0, "not_asked_for": 0, "identical_to_replay": True}


def ask(method: str, url: str, **options: Any) -> httpx.Response:
    """A request with the admin key."""
    headers = {"authorization": f"Bearer {os.environ['DRIFTWISE_KEY']}"} | options.pop("headers", {})
    return HTTP.request(method, url, headers=headers, **options)


@pytest.fixture(scope="module")
def pair(postgres_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Two processes over one store, four deployments, and an admin key in the environment, where clients find it."""
    store = postgres_server.store()
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DRIFTWISE_KEY", create(store, None, name="me", scopes=["admin"], days=None, deployments=None))
        processes = Processes(store, 2, tmp_path_factory.mktemp("members"), stack, auth=True)
        with patient(processes.services[0].url) as client:
            for name in NAMES:
                client.create(name, "sliding-thompson:window=50", 3)
        processes.wait_for(2, NAMES)
        yield processes


def test_any_process_answers_for_all(pair: Processes) -> None:
    clients = [patient(service.url) for service in pair.services]
    for turn in range(6):
        for name in NAMES:
            decision = clients[turn % 2].decide(name)
            assert clients[1 - turn % 2].learn(name, decision.id, 1.0).status == "learned"
    for client in clients:
        listed = {each.name: each for each in client.list().deployments}
        assert sorted(listed) == NAMES and {each.n_events for each in listed.values()} == {12}
        assert all(client.verify(name).identical for name in NAMES)
        assert [len(b"".join(client.export(name)).splitlines()) for name in NAMES] == [6] * 4
    clients[1].create("boutique", "ucb1", 2)
    assert clients[0].decide("boutique").id == 0
    clients[0].pause("boutique")
    clients[0].retire("boutique")
    assert clients[1].delete("boutique").n_events == 1
    for client in clients:
        assert "boutique" not in {each.name for each in client.list().deployments}
        client.close()


def test_requests_keep_what_they_bring_when_they_are_forwarded(pair: Processes) -> None:
    for service in pair.services:
        for name in NAMES:
            url = f"{service.url}/v1/deployments/{name}"
            headers = {"idempotency-key": f"{name} once".replace(" ", "-"), "x-request-id": "order-17"}
            answers = [ask("POST", f"{url}/decide", json={}, headers=headers) for _ in range(2)]
            assert answers[0].json() == answers[1].json() and answers[1].headers["idempotency-replayed"] == "true"
            assert answers[0].headers["x-request-id"] == "order-17"
            assert ask("POST", f"{url}/decide", json={"x": 1}).status_code == 400
            assert ask("GET", f"{url}/decisions/999999").status_code == 404
            assert ask("GET", f"{url}/log?format=csv").headers["content-type"].startswith("text/csv")
        assert ask("GET", f"{service.url}/v1/deployments/nowhere").status_code == 404
        guess = {"connection": "upgrade", "upgrade": "driftwise-frames", "x-driftwise-secret": "guess"}
        refused = HTTP.get(f"{service.url}/v1/deployments/{NAMES[0]}", headers=guess)
        assert refused.status_code == 401 and "not the secret" in refused.json()["detail"]
        text = ask("GET", f"{service.url}/metrics").text
        assert "driftwise_members 2.0" in text and "driftwise_owned_deployments 2.0" in text


def test_keys_work_everywhere(pair: Processes) -> None:
    first, second = pair.services
    new = ask("POST", f"{first.url}/v1/keys", json={"name": "shop", "scopes": ["decide"]}).json()
    for service in (second, first):
        with patient(service.url, key=new["key"]) as other:
            assert other.decide(NAMES[0]).id >= 0
    assert ask("DELETE", f"{second.url}/v1/keys/{new['id']}").status_code == 200
    for service in (first, second):
        url = f"{service.url}/v1/deployments/{NAMES[0]}/decide"
        until(partial(_is_refused, url, new["key"]), "a revoked key")
    entries = ask("GET", f"{second.url}/v1/audit?limit=1000").json()["entries"]
    assert [each["action"] for each in entries][-2:] == ["create_key", "revoke_key"]


def _is_refused(url: str, key: str) -> bool:
    return HTTP.post(url, json={}, headers={"authorization": f"Bearer {key}"}).status_code == 401


@pytest.mark.system
def test_takeovers_under_load(pair: Processes) -> None:
    """One is killed; then one sleeps until another has taken over, and wakes up."""
    first, second = pair.services
    told = {name: Told({}, {}, [], []) for name in NAMES}
    for name in NAMES:
        with patient(first.url) as client:
            log = client.export(name)
            told[name].actions.update(_decided(b"".join(log)))
    stop = threading.Event()
    threads = clients_of([(service.url, name) for service in pair.services for name in NAMES], told, stop)
    go_on(told)
    second.kill()
    pair.wait_for(1, NAMES)
    go_on({name: told[name] for name in NAMES}, 1)
    second.start()
    second.wait()
    pair.wait_for(2, NAMES)
    go_on(told)
    os.kill(second.process.pid, signal.SIGSTOP)
    pair.wait_for(1, NAMES)
    os.kill(second.process.pid, signal.SIGCONT)
    pair.wait_for(2, NAMES)
    go_on(told)
    stop.set()
    for thread in threads:
        thread.join(HANG_S)
    found = compare(first.url, told)
    assert {name: found[name] for name in CLEAN} == CLEAN and found["decisions"] > 40
    assert "this process was expelled" in second.log.read_text()


def _decided(log: bytes) -> dict[int, Any]:
    return {row["id"]: row["action"] for row in map(json.loads, log.splitlines())}


@pytest.mark.system
def test_twins_decide_the_same(pair: Processes) -> None:
    for service in pair.services:
        assert service.stop() == 0
    assert differences_of_twins(pair.services[0].store) == 0


@pytest.mark.system
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.deep)])
def test_workers_are_replaced_without_a_refused_request(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """All answers are 200, while workers are replaced one after another, and to clients that repeat nothing."""
    store = tmp_path / "store.db" if kind == "sqlite" else request.getfixturevalue("postgres_server").store()
    with Service(store, "--workers", "2", log=tmp_path / "log") as service:
        with patient(service.url) as client:
            for name in NAMES:
                client.create(name, "ucb1", 2)
            until(lambda: _balanced(client.members(), 2), "two workers")
            before = {each.id for each in client.members()}
            answers: list[tuple[int, str]] = []
            stop = threading.Event()
            threads = [threading.Thread(target=_ask, args=(service.url, n, stop, answers)) for n in NAMES]
            for thread in threads:
                thread.start()
            os.kill(service.process.pid, signal.SIGHUP)
            until(lambda: not before & {each.id for each in client.members()}, "new workers", 0.2)
            until(lambda: _balanced(client.members(), 2), "two workers")
            enough = len(answers) + 50
            until(lambda: len(answers) > enough or any(status != 200 for status, _ in answers), "answers")
            stop.set()
            for thread in threads:
                thread.join(HANG_S)
            assert [each for each in answers if each[0] != 200] == []
            assert sum(client.describe(name).n_events or 0 for name in NAMES) == len(answers)
            assert all(client.verify(name).identical for name in NAMES)
        worker = _children(service.process.pid)[0]
        os.kill(worker, signal.SIGKILL)
        until(lambda: worker not in _children(service.process.pid), "the end of a worker")
        with patient(service.url) as client:
            assert {client.decide(name).id >= 0 for name in NAMES} == {True}
        assert service.stop() == 0
    until(lambda: not _children(service.process.pid), "the end of workers")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--workers", "0"], "--workers 0 is not a whole number from 1 to 64"),
        (["--workers", "two"], "'two' is not a valid integer"),
        (["--workers", "2", "--demo"], "--workers 2 and --demo do not belong together"),
        (["--advertise", "nonsense"], "--advertise nonsense is not HOST:PORT"),
        (["--workers", "2", "--advertise", "here:99999"], "--advertise here:99999 is not HOST:PORT"),
        (["--workers", "2", "--advertise", "here:65535"], "leaves no ports for --workers 2"),
        (["--workers", "2", "--store", "postgresql://nobody@127.0.0.1:1/none"], "could not be opened"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(words: list[str], says: str, tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["serve", "--store", f"sqlite:///{tmp_path}/store.db", *words])
    assert told.exit_code == 2 and says in told.output and "Traceback" not in told.output


def _balanced(members: list[Any], n: int) -> bool:
    return len(members) == n and all(len(each.deployments) == len(NAMES) // n for each in members)


def _ask(url: str, name: str, stop: threading.Event, answers: list[tuple[int, str]]) -> None:
    """A client that repeats nothing."""
    with httpx.Client(base_url=url, timeout=HANG_S) as http:
        while not stop.is_set():
            answer = http.post(f"/v1/deployments/{name}/decide", json={})
            answers.append((answer.status_code, answer.text))
            time.sleep(0.005)


def _children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(each) for each in path.read_text().split()] if path.exists() else []


@pytest.mark.deep
@pytest.mark.parametrize("n_processes", [2, 4])
def test_many_takeovers_under_load(n_processes: int, durable_server: Server, tmp_path: Path) -> None:
    found = takeovers(tmp_path, durable_server.store(), n_processes, 10)
    assert {name: found[name] for name in CLEAN} == CLEAN and found["different_from_twin"] == 0
