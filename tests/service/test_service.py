"""The service over HTTP: what it answers, whom it lets in, what it lets through."""

import asyncio
import csv
import io
import json
import math
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import driftwise as dw
from driftwise.errors import RewardError
from driftwise.service.client import calls
from driftwise.service.client.client import (
    MAX_IN_FLIGHT,
    AsyncClient,
    Client,
    OutcomeUnknown,
    RequestError,
    ServiceUnreachable,
)
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.access import Access
from driftwise.service.http.app import make_app
from driftwise.service.http.endpoint import Limits, Service
from driftwise.service.store.journal import open_journal
from tests.fixtures.command_line import driftwise
from tests.fixtures.engine import Clock
from tests.fixtures.patience import patient
from tests.fixtures.service_process import SOURCE, admin_key
from tests.fixtures.service_process import Service as Process

SHOP = {
    "name": "shop",
    "policy": "sliding-thompson:window=100",
    "problem": {"kind": "multi-armed", "arms": ["red", "blue"]},
}


OPEN = Access(auth=False)


class Web:
    """A service in this process, asked over ASGI."""

    def __init__(self, store: Path, *, access: Access = OPEN, limits: Limits | None = None) -> None:
        self.clock = Clock()
        self.engine = Engine(open_journal(f"sqlite:///{store}"), clock=self.clock)
        self.app = make_app(Service(self.engine, limits or Limits(), access))
        self.transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=self.transport, base_url="http://127.0.0.1")

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        if content is not None:
            told = {"content-type": "application/json"} | told
        return await self.http.request(method, f"/v1{path}", content=content, headers=told)


@asynccontextmanager
async def web(store: Path, **options: Any) -> AsyncIterator[Web]:
    service = Web(store, **options)
    await service.engine.start()
    try:
        yield service
    finally:
        await service.http.aclose()
        await service.engine.close()


def over_http(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test."""

    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path / "store.db"))  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@over_http
async def test_decide_learn_explain(store: Path) -> None:
    async with web(store) as ask:
        made = await ask("POST", "/deployments", SHOP)
        assert made.status_code == 201 and made.json()["parameters"] == {"window": 100, "prior_a": 1.0, "prior_b": 1.0}
        for _ in range(5):
            decision = (await ask("POST", "/deployments/shop/decide", {})).json()
            learnt = await ask("POST", "/deployments/shop/learn", {"id": decision["id"], "reward": 1})
            assert learnt.json()["status"] == "learned"
        told = (await ask("GET", "/deployments/shop/decisions/8/explain")).json()
        assert told["reproduced"] and told["decision"]["outcome"] == {"reward": 1.0}
        assert (await ask("GET", "/deployments/shop/decisions/9")).status_code == 404
        listed = (await ask("GET", "/deployments?limit=1")).json()
        assert listed["deployments"][0]["name"] == "shop" and listed["next"] is None
        statistics = (await ask("GET", "/deployments/shop/statistics")).json()["monitor"]
        assert statistics["n_decided"] == 5 and sum(statistics["bins"][0]["n_chosen"]) == 5


@over_http
async def test_what_is_malformed_is_refused_and_changes_nothing(store: Path) -> None:
    async with web(store) as ask:
        await ask("POST", "/deployments", SHOP)
        before = ask.engine.entry("shop").live
        assert before is not None
        snapshot = before.snapshot()
        for method, path, body, status in (
            ("POST", "/deployments/shop/decide", b"{", 400),
            ("POST", "/deployments/shop/decide", b"\xff\xfe", 400),
            ("POST", "/deployments/shop/decide", b"[" * 100_000, 400),
            ("POST", "/deployments/shop/decide", {"contxt": [1]}, 400),
            ("POST", "/deployments/shop/decide", {"context": [1.0]}, 422),
            ("POST", "/deployments/shop/decide", {"unit": "me"}, 400),
            ("POST", "/deployments/shop/decide/batch", {"decisions": []}, 400),
            ("POST", "/deployments/shop/decide/batch", {"decisions": [{}] * 1001}, 400),
            ("POST", "/deployments/shop/learn", b'{"id": 0, "reward": NaN}', 400),
            ("POST", "/deployments/shop/learn", b'{"id": 0, "reward": 1e999}', 400),
            ("POST", "/deployments/shop/learn", {"id": 0, "reward": "1"}, 400),
            ("POST", "/deployments/shop/learn", {"id": -1, "reward": 1}, 400),
            ("POST", "/deployments/shop/learn", {"id": 0, "reward": 1}, 404),
            ("POST", "/deployments/none/decide", {}, 404),
            ("POST", "/deployments/..%2F..%2Fetc/decide", {}, 404),
            ("POST", "/deployments", SHOP, 409),
            ("POST", "/deployments", SHOP | {"name": "../x"}, 400),
            ("POST", "/deployments", SHOP | {"name": "x\n"}, 400),
            ("POST", "/deployments", SHOP | {"name": "y", "policy": "nothing"}, 422),
            ("POST", "/deployments", SHOP | {"name": "y", "parameters": {"window": 0}}, 422),
            ("POST", "/deployments", SHOP | {"name": "y", "arms": ["red", "blue"]}, 400),
            ("POST", "/deployments", SHOP | {"name": "y", "budgets": {"euros": 1}}, 400),
            ("POST", "/deployments", SHOP | {"name": "y", "problem": ["red", "blue"]}, 400),
            ("POST", "/deployments", SHOP | {"name": "y", "problem": {"arms": 2}}, 400),
            ("POST", "/deployments", SHOP | {"name": "y", "problem": {"kind": "coins", "arms": 2}}, 400),
            ("PATCH", "/deployments/shop", {}, 400),
            ("PATCH", "/deployments/shop", {"problem": {}}, 400),
            ("PATCH", "/deployments/shop", {"problem": {"arms": 3}}, 400),
            ("PATCH", "/deployments/shop", {"problem": {"horizon": 0}}, 400),
            ("PATCH", "/deployments/shop", {"problem": {"horizon": 1.5}}, 400),
            ("PATCH", "/deployments/shop", {"problem": {"n_active": 1}}, 422),
            ("PATCH", "/deployments/shop", {"budgets": {"euros": 1}}, 400),
            ("PATCH", "/deployments/shop", {"problem": {"budgets": {"euros": 1}}}, 422),
            ("GET", "/deployments?limit=0", None, 400),
            ("GET", "/deployments?limt=1", None, 400),
            ("GET", "/deployments/shop/log?format=xml", None, 400),
            ("GET", "/deployments/shop/decisions/abc", None, 404),
            ("GET", f"/deployments/shop/decisions/{2**53}", None, 404),
            ("GET", f"/deployments/shop/decisions/{2**63}/explain", None, 404),
            ("GET", f"/deployments/shop/decisions/{'9' * 5000}", None, 404),
            ("POST", "/deployments", SHOP | {"name": "."}, 422),
            ("POST", "/deployments", SHOP | {"name": ".."}, 422),
            ("PUT", "/deployments/shop", None, 405),
            ("GET", "/nothing", None, 404),
        ):
            answer = await ask(method, path, body)
            assert answer.status_code == status, (method, path, body, answer.text)
            assert set(answer.json()) == {"type", "title", "status", "detail", "code"}
            assert len(answer.json()["detail"].splitlines()) == 1
        plain = await ask("POST", "/deployments/shop/decide", b"{}", content_type="text/plain")
        assert plain.status_code == 400
        await ask("GET", "/deployments/shop")
        after = ask.engine.entry("shop").live
        assert after is not None and after.snapshot() == snapshot and len(ask.engine.catalogue.entries) == 1


@over_http
async def test_a_budget_that_is_changed_is_paced_anew(store: Path) -> None:
    """Prices may rise as high as the changed budget asks for, and what is reserved cannot be taken away."""
    problem = {"kind": "knapsack", "arms": ["a", "b"], "budgets": {"euros": 900}, "horizon": 1000}
    async with web(store) as ask:
        ads = {"name": "ads", "policy": "prequential-pacing", "problem": problem}
        assert (await ask("POST", "/deployments", ads)).status_code == 201
        found = ask.engine.entry("ads").live
        assert found is not None
        for _ in range(100):
            decision = (await ask("POST", "/deployments/ads/decide", {})).json()
            told = {"id": decision["id"], "reward": 1, "costs": {"euros": 0.5}}
            if decision["action"] is not None:
                await ask("POST", "/deployments/ads/learn", told)
        assert found.agent.state.limits == pytest.approx(1000 / 900)
        left = (await ask("GET", "/deployments/ads")).json()["details"]["budgets"]["remaining"]["euros"]
        cut = {"problem": {"budgets": {"euros": 900 - left + 90}}}
        assert (await ask("PATCH", "/deployments/ads", cut)).status_code == 200
        assert found.agent.state.limits == pytest.approx(10.0)  # 90 euros for 900 rounds
        assert (await ask("PATCH", "/deployments/ads", {"problem": {"horizon": 1900}})).status_code == 200
        assert found.agent.state.limits == pytest.approx(20.0)
        await ask("POST", "/deployments/ads/decide", {})
        refused = await ask("PATCH", "/deployments/ads", {"problem": {"budgets": {"euros": 900 - left}}})
        assert refused.status_code == 422 and "spent or reserved already" in refused.json()["detail"]
        verified = await ask("POST", "/deployments/ads/verify")
        assert verified.json()["identical"]


@over_http
async def test_idempotency_keys(store: Path) -> None:
    async with web(store) as ask:
        await ask("POST", "/deployments", SHOP, idempotency_key="make")
        assert (await ask("POST", "/deployments", SHOP, idempotency_key="make")).status_code == 201
        first = await ask("POST", "/deployments/shop/decide", b"{}", idempotency_key="a")
        again = await ask("POST", "/deployments/shop/decide", b"{ \n }", idempotency_key="a")
        assert first.json() == again.json()
        other = await ask("POST", "/deployments/shop/learn", {"id": 0, "reward": 1}, idempotency_key="a")
        assert other.status_code == 422 and other.json()["code"] == "idempotency-key-reused"
        assert (await ask("POST", "/deployments/shop/decide", {}, idempotency_key="x" * 201)).status_code == 400
        batch = {"outcomes": [{"id": 0, "reward": 1}, {"id": 9, "reward": 1}]}
        told = await ask("POST", "/deployments/shop/learn/batch", batch, idempotency_key="b")
        assert told.json() == (await ask("POST", "/deployments/shop/learn/batch", batch, idempotency_key="b")).json()
        assert [each["status"] for each in told.json()["outcomes"]] == ["learned", "not-found"]


@over_http
async def test_a_body_is_counted_while_it_comes(store: Path) -> None:
    async with web(store, limits=Limits(max_body=1000)) as ask:
        await ask("POST", "/deployments", SHOP)
        assert (await ask("POST", "/deployments/shop/decide", b" " * 1001)).status_code == 413

        async def endless() -> AsyncIterator[bytes]:
            while True:
                yield b" " * 100

        path, kind = "/v1/deployments/shop/decide", {"content-type": "application/json"}
        answer = await ask.http.post(path, content=endless(), headers=kind)
        assert answer.status_code == 413


@over_http
async def test_keys_open_what_they_are_for(store: Path) -> None:
    first = admin_key(store)
    async with web(store) as ask:
        made = {"key": first, "id": first.split("_")[1]}
        admin = f"Bearer {first}"
        await ask("POST", "/deployments", SHOP, authorization=admin)
        await ask("POST", "/deployments", SHOP | {"name": "other"}, authorization=admin)
        assert (await ask("GET", "/deployments")).status_code == 401
        assert (await ask("GET", "/deployments", authorization="Bearer dw_x")).status_code == 401
        assert (await ask("GET", "/deployments", authorization=admin[:-1] + "x")).status_code == 401
        wanted = {"name": "web", "scopes": ["decide"], "deployments": ["shop"], "expires_in": 60}
        web_key = (await ask("POST", "/keys", wanted, authorization=admin)).json()
        shown = f"Bearer {web_key['key']}"
        for path, body, status in (
            ("/deployments/shop/decide", {}, 200),
            ("/deployments/other/decide", {}, 403),
            ("/deployments/none/decide", {}, 403),
            ("/deployments/shop/learn", {"id": 0, "reward": 1}, 403),
            ("/keys", wanted, 403),
        ):
            assert (await ask("POST", path, body, authorization=shown)).status_code == status
        wanted = {"name": "page", "scopes": ["read"], "deployments": ["shop", "none"]}
        page = f"Bearer {(await ask('POST', '/keys', wanted, authorization=admin)).json()['key']}"
        listed = (await ask("GET", "/deployments", authorization=page)).json()["deployments"]
        assert [each["name"] for each in listed] == ["shop"]  # its own, and no others
        for path in ("/deployments/other", "/keys", "/backup"):
            assert (await ask("GET", path, authorization=page)).status_code == 403
        ask.clock.wait(61)
        assert (await ask("POST", "/deployments/shop/decide", {}, authorization=shown)).status_code == 401
        keys = (await ask("GET", "/keys", authorization=admin)).text
        assert made["key"] not in keys and made["id"] in keys
        other = (await ask("POST", "/keys", {"name": "other", "scopes": ["admin"]}, authorization=admin)).json()
        other_admin = f"Bearer {other['key']}"
        assert (await ask("DELETE", f"/keys/{made['id']}", authorization=other_admin)).status_code == 200
        assert (await ask("GET", "/deployments", authorization=admin)).status_code == 401
        assert (await ask("GET", "/deployments")).status_code == 401  # once there were keys, it never opens again
    content = b"".join(path.read_bytes() for path in store.parent.iterdir())
    assert made["key"].encode() not in content and made["key"].split("_", 2)[2].encode() not in content


@over_http
async def test_answers_carry_headers_that_keep_browsers_safe_and_errors_leak_nothing(store: Path) -> None:
    async with web(store) as ask:
        for answer in (await ask("GET", "/deployments"), await ask("GET", "/nothing")):
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-security-policy"].startswith("default-src 'self'")
            assert "server" not in answer.headers
        await ask("POST", "/deployments", SHOP)
        entry = ask.engine.entry("shop")
        entry.live.agent = None  # type: ignore[union-attr]
        broken = await ask("POST", "/deployments/shop/decide", {})
        assert broken.status_code == 500
        assert broken.json()["code"] == "internal-error"
        entry.live = None


@over_http
async def test_health_metrics_and_the_document(store: Path) -> None:
    async with web(store) as ask:
        await ask("POST", "/deployments", SHOP)
        await ask("POST", "/deployments/shop/decide", {})
        assert (await ask.http.get("/healthz")).json() == {"alive": True}
        while (await ask.http.get("/readyz")).status_code != 200:
            await asyncio.sleep(0.01)
        text = (await ask.http.get("/metrics")).text
        assert 'driftwise_decisions_total{deployment="shop"} 1' in text
        for line in text.splitlines():
            assert re.fullmatch(r"# (HELP|TYPE) .+|[a-z_]+(\{[^{}]*(\{[a-z:]+\}[^{}]*)*\})? [0-9.e+-]+", line), line
        document = (await ask.http.get("/openapi.json")).json()
        assert document["openapi"] == "3.1.0" and len(document["paths"]) > 15
        assert "/v1/deployments/{name}/statistics" in document["paths"]


@over_http
async def test_the_log_in_three_formats(store: Path) -> None:
    async with web(store) as ask:
        await ask(
            "POST",
            "/deployments",
            SHOP | {"problem": {"kind": "multi-armed", "arms": ["=cmd()", "blue"]}, "policy": "uniform"},
        )
        for i in range(30):
            decision = (await ask("POST", "/deployments/shop/decide", {})).json()
            if i % 3:
                await ask("POST", "/deployments/shop/learn", {"id": decision["id"], "reward": i % 2})
        lines = [json.loads(line) for line in (await ask("GET", "/deployments/shop/log")).text.splitlines()]
        assert len(lines) == 30 and [line["status"] for line in lines].count("pending") == 10
        assert all(line["propensity"] == 0.5 for line in lines)
        table = list(csv.DictReader(io.StringIO((await ask("GET", "/deployments/shop/log?format=csv")).text)))
        assert [row["id"] for row in table] == [str(line["id"]) for line in lines]
        assert {row["action"] for row in table} == {"'=cmd()", "blue"}  # no spreadsheet will run it
        parquet = pytest.importorskip("pyarrow.parquet")
        blob = (await ask("GET", "/deployments/shop/log?format=parquet")).content
        assert parquet.read_table(io.BytesIO(blob)).column("id").to_pylist() == [line["id"] for line in lines]
        after = lines[9]["id"]
        assert len((await ask("GET", f"/deployments/shop/log?after={after}")).text.splitlines()) == 20


@over_http
async def test_an_agent_and_a_whole_store_can_be_taken_away(store: Path) -> None:
    async with web(store) as ask:
        await ask("POST", "/deployments", SHOP)
        for _ in range(20):
            decision = (await ask("POST", "/deployments/shop/decide", {})).json()
            await ask("POST", "/deployments/shop/learn", {"id": decision["id"], "reward": 1})
        agent = dw.Agent.loads((await ask("GET", "/deployments/shop/agent")).content)
        copy = store.with_name("copy.db")
        copy.write_bytes((await ask("GET", "/backup")).content)
        expected = (await ask("POST", "/deployments/shop/decide", {})).json()["action"]
        assert agent.decide().action == expected
    async with web(copy) as ask:
        assert (await ask("POST", "/deployments/shop/decide", {})).json()["action"] == expected


@over_http
async def test_a_locked_store_is_answered_503_and_then_goes_on(store: Path) -> None:
    import apsw

    async with web(store) as ask:
        await ask("POST", "/deployments", SHOP)
        first = (await ask("POST", "/deployments/shop/decide", {})).json()
        ask.engine.journal._writer.set_busy_timeout(10)  # type: ignore[attr-defined]
        other = apsw.Connection(str(store))
        other.execute("BEGIN IMMEDIATE")
        refused = await ask("POST", "/deployments/shop/decide", {}, idempotency_key="k")
        assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
        other.execute("ROLLBACK")
        other.close()
        again = (await ask("POST", "/deployments/shop/decide", {}, idempotency_key="k")).json()
        assert (first["id"], again["id"]) == (0, 1)
        assert (await ask("POST", "/deployments/shop/verify")).json()["identical"]


class Flaky(httpx.AsyncBaseTransport):
    """A way to the service on which answers, or requests, get lost now and then."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner, self.count = inner, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        if self.count % 3 == 1:
            raise httpx.ConnectError("lost on the way")
        response = await self.inner.handle_async_request(request)
        if self.count % 3 == 2:
            raise httpx.ReadTimeout("the answer was lost")
        return response


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_the_client_refuses_a_reward_that_json_does_not_have(reward: float) -> None:
    for ask in (
        lambda: calls.learn("shop", 0, reward),
        lambda: calls.learn_many("shop", [{"id": 0, "reward": reward}]),
    ):
        with pytest.raises(RewardError, match=f"reward={reward} is not finite: send a number"):
            ask()


class Crowded(httpx.AsyncBaseTransport):
    """A way to the service that counts the requests under way."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner, self.n_requests, self.most = inner, 0, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.n_requests += 1
        self.most = max(self.most, self.n_requests)
        try:
            await asyncio.sleep(0.001)
            return await self.inner.handle_async_request(request)
        finally:
            self.n_requests -= 1


@over_http
async def test_many_coroutines_share_a_client_and_few_requests_are_under_way(store: Path) -> None:
    """With each of them in the pool of httpx, their time would grow with the square of their number."""
    async with web(store) as ask:
        crowded = Crowded(ask.transport)
        async with AsyncClient("http://127.0.0.1", transport=crowded) as client:
            await client.create("shop", "uniform", ["red", "blue"])
            decisions = await asyncio.gather(*(client.decide("shop") for _ in range(100)))
    assert len({decision.id for decision in decisions}) == 100
    assert crowded.most == MAX_IN_FLIGHT


@over_http
async def test_the_client_repeats_safely(store: Path) -> None:
    async with web(store) as ask:
        flaky = Flaky(ask.transport)
        async with AsyncClient("http://127.0.0.1", transport=flaky) as client:
            await client.create("shop", "sliding-thompson:window=100", ["red", "blue"])
            for _ in range(10):
                decision = await client.decide("shop")
                assert (await client.learn("shop", decision.id, reward=1.0)).status == "learned"
            batch = await client.decide_many("shop", [{}] * 3)
            told = await client.learn_many("shop", [{"id": each.id, "reward": 0.0} for each in batch])
            assert [each.status for each in told] == ["learned"] * 3
            described = await client.describe("shop")
            assert described.round == 13 and described.n_pending == 0 and described.n_events == 26
            with pytest.raises(RequestError) as refused:
                await client.learn("shop", 999, reward=1.0)
            assert refused.value.status == 404 and refused.value.code == "not-found"
        async with AsyncClient("http://127.0.0.1", transport=Flaky(ask.transport), patience=0) as client:
            with pytest.raises(OutcomeUnknown) as unknown:
                await client.decide("shop")
            assert unknown.value.key
            ask.engine._in_flight.add("/taken")  # the same request, still under way
            with pytest.raises(OutcomeUnknown, match="409"):
                await AsyncClient("http://127.0.0.1", transport=ask.transport, patience=0.1).decide("shop", key="taken")


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_a_service_that_is_not_there(pause: float) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Client(url, patience=pause) as client:
            with pytest.raises(ServiceUnreachable, match=r"refused\): the request was not done") as unreachable:
                client.decide("shop")
            assert unreachable.value.key
            with pytest.raises(ServiceUnreachable):
                client.describe("shop")


@pytest.mark.system
def test_a_service_as_people_run_it(tmp_path: Path) -> None:
    with Process(tmp_path / "store.db") as service:
        with patient(service.url) as client:
            client.create("shop", "sliding-ucb:window=50", 3)
            ids = [client.decide("shop").id for _ in range(20)]
            assert {client.learn("shop", id, 1.0).status for id in ids} == {"learned"}
            assert sum(1 for _ in b"".join(client.export("shop")).splitlines()) == 20
            service.kill()
            service.start()
            service.wait()
            assert client.verify("shop").identical and client.describe("shop").n_events == 40
            half = socket.create_connection(("127.0.0.1", service.port))
            half.sendall(b"POST /v1/deployments/shop/decide HTTP/1.1\r\nhost: 127.0.0.1\r\n")
            assert client.decide("shop").id == 40
            half.close()
        assert service.stop() == 0
        lines = [json.loads(line) for line in service.log.read_text().splitlines()]
        # The service may be killed before it has checked, and a virtual machine that was paused has a clock that leaps.
        others = ("auth", "a sample of the store was checked", "the clock of this machine")
        events = [line["event"] for line in lines if not any(each in line["event"] for each in others)]
        assert events == ["serving", "audit", "audit", "serving", "stopped"]  # a deployment created, its log exported


@over_http
async def test_what_was_done_elsewhere_is_recorded_and_learned(store: Path) -> None:
    async with web(store) as ask:
        await ask("POST", "/deployments", SHOP)
        told = await ask("POST", "/deployments/shop/decide", {"override": {"action": "blue", "propensity": 0.25}})
        assert told.json() | {"decided_at": 0} == {"id": 0, "action": "blue", "propensity": 0.25} | {
            "decided_at": 0,
            "override": True,
        }
        assert (await ask("POST", "/deployments/shop/learn", {"id": 0, "reward": 1})).json()["status"] == "learned"
        before = (await ask("GET", "/deployments/shop/agent")).content
        for override in ({"action": "violet"}, {"action": ["red"]}, {"action": "red", "propensity": 2.0}, {}):
            assert (await ask("POST", "/deployments/shop/decide", {"override": override})).status_code in (400, 422)
        both = {"decisions": [{"override": {"action": "red"}}, {"override": {"action": "violet"}}]}
        assert (await ask("POST", "/deployments/shop/decide/batch", both)).status_code == 422
        assert (await ask("GET", "/deployments/shop/agent")).content == before
        assert (await ask("POST", "/deployments/shop/verify")).json()["identical"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the body is empty"),
        (b'{"id": 0, "reward": NaN}', "JSON has no NaN and no infinity"),
    ],
)
def test_bodies_that_are_no_json_are_explained(tmp_path: Path, body: bytes, words: str) -> None:
    async def told() -> str:
        async with web(tmp_path / "store.db") as ask:
            await ask("POST", "/deployments", SHOP)
            answer = await ask("POST", "/deployments/shop/learn", body)
            assert answer.status_code == 400
            return str(answer.json()["detail"])

    assert words in asyncio.run(told())


@over_http
async def test_a_bad_name_is_explained(store: Path) -> None:
    async with web(store) as ask:
        told = (await ask("POST", "/deployments", SHOP | {"name": "a/b"})).json()["detail"]
        assert told.endswith("a name consists of 1 to 64 letters, digits, `_`, `.` and `-`")


@pytest.mark.system
def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = serve("--store", f"{tmp_path}/store.db", "--port", str(port), code=2).stderr
    assert f"127.0.0.1:{port} cannot be listened on (Address already in use): try another --port" in told
    assert "serving" not in told


@pytest.mark.system
def test_a_client_waits_until_a_service_is_back(tmp_path: Path) -> None:
    with Process(tmp_path / "store.db") as service, patient(service.url) as client:
        client.create("shop", "uniform", 2)
        assert client.decide("shop").id == 0
        service.kill()
        again = threading.Timer(1.0, service.start)
        again.start()
        assert client.decide("shop").id == 1
        again.join()


def serve(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": SOURCE}
    line = [sys.executable, "-m", "driftwise.cli", "serve", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.system
def test_keys_on_the_command_line(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    refused = serve("--store", store, "--host", "0.0.0.0", code=2)
    assert "there are no API keys" in refused.stderr
    key = driftwise("keys", "create", "--store", store, "--scopes", "admin", "--name", "me").stdout.strip()
    assert re.fullmatch(r"dw_[0-9a-f]{8}_[\w-]{43}", key)
    assert "me  admin  everywhere  for ever" in driftwise("keys", "list", "--store", store).stdout
    driftwise("keys", "create", "--store", store, "--scopes", "everything", code=2)
    with Process(tmp_path / "store.db", host="0.0.0.0", auth=True) as service:
        assert "in use" in driftwise("keys", "list", "--store", store, code=2).stderr
        with patient(service.url, key=key) as client:
            assert client.list().deployments == []
        with pytest.raises(RequestError), patient(service.url) as client:
            client.list()
    driftwise("keys", "revoke", key.split("_")[1], "--store", store)
    driftwise("keys", "revoke", key.split("_")[1], "--store", store, code=2)
