"""Who gets in, before and after the first API key, and what one client can take from others before that is known."""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import uvloop

from driftwise.serve import asking, deciding
from driftwise.serve.access import Access, is_local, is_loopback
from driftwise.serve.answers import Saved
from driftwise.serve.app import make_app
from driftwise.serve.client import Client, Refused
from driftwise.serve.connection import MAX_HEAD
from driftwise.serve.engine import Engine
from driftwise.serve.http import Call, Endpoint, Limits, Service
from driftwise.serve.journal import open_journal
from driftwise.serve.server import Server, server_of
from driftwise.serve.token import drop_token, ensure_token, load_token, token_file
from tests.service import Service as Process
from tests.service import admin_key
from tests.test_service import OPEN, SHOP, command, over_http, web

TOKEN = "dwt_" + "t" * 43
BEARER = {"authorization": f"Bearer {TOKEN}"}
CREATE = {"name": "me", "scopes": ["admin"]}


# ---- the token ----


def test_a_token_is_the_owners_alone_and_stays_the_same(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    assert load_token(store) is None
    token, error = ensure_token(store)
    file = tmp_path / "store.db.token"
    assert error is None and token_file(store) == file and file.stat().st_mode & 0o777 == 0o600
    assert ensure_token(store) == (token, None) and [*tmp_path.iterdir()] == [file]
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    assert load_token(f"{tmp_path}/link.db") == token
    file.chmod(0o640)  # others may have read it
    other, _ = ensure_token(store)
    assert other != token and file.stat().st_mode & 0o777 == 0o600
    file.write_text("half a tok")
    assert load_token(store) is None and ensure_token(store)[0] not in (token, other)
    target = file.rename(tmp_path / "elsewhere")
    file.symlink_to(target)  # somebody else's file is not believed, and not written to
    before = target.read_text()
    assert load_token(store) is None and ensure_token(store)[1] is None and target.read_text() == before
    drop_token(store)
    drop_token(store)
    assert not file.exists()


def test_a_store_elsewhere_has_its_token_in_the_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = "postgresql://me:secret@server/db?schema=shop"
    token, error = ensure_token(store)
    assert error is None and load_token("postgresql://server/db?schema=shop") == token
    assert load_token("postgresql://server/db?schema=other") is None
    assert "secret" not in str(token_file(store)) and token_file(store).parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert ensure_token(store)[1] is not None  # it cannot be stored, and still there is one


@over_http
async def test_the_token_does_everything_but_create_keys(store: Path) -> None:
    async with web(store, access=Access(TOKEN)) as ask:
        for text in ("", "Bearer", f"Basic {TOKEN}"):
            refused = await ask("GET", "/deployments", authorization=text)
            assert refused.status_code == 401 and "`driftwise keys token` prints it" in refused.json()["error"]
        for wrong in (TOKEN[:-1], TOKEN + "t", TOKEN.upper(), "\xe9", "dw_1_2"):
            shown = {b"authorization": f"Bearer {wrong}".encode("latin-1")}
            refused = await ask.http.get("/v1/deployments", headers=shown)
            assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
        assert (await ask("GET", f"/deployments?token={TOKEN}")).status_code == 401
        assert (await ask("POST", "/deployments", SHOP, **BEARER)).status_code == 201
        assert (await ask("POST", "/deployments/shop/decide", {}, **BEARER)).status_code == 200
        assert (await ask("GET", "/keys", **BEARER)).json() == {"keys": []}
        refused = await ask("POST", "/keys", CREATE, **BEARER)
        assert refused.status_code == 403 and "driftwise keys create --scopes admin" in refused.json()["error"]
        assert ask.engine.catalogue.keys == {}
    key = f"Bearer {admin_key(store)}"
    async with web(store, access=Access(TOKEN)) as ask:
        assert (await ask("GET", "/deployments", **BEARER)).status_code == 401
        assert (await ask("GET", "/deployments", authorization=key)).status_code == 200
        assert (await ask("POST", "/keys", CREATE, authorization=key)).status_code == 201


LOCAL: tuple[tuple[dict[str, str], bool], ...] = (
    ({}, True),
    ({"host": "localhost:8000"}, True),
    ({"host": "LOCALHOST"}, True),
    ({"host": "127.0.0.2:8000"}, True),
    ({"host": "[::1]:8000"}, True),
    ({"host": ""}, False),
    ({"host": "evil.example"}, False),
    ({"host": "localhost.evil.example"}, False),
    ({"host": "x@127.0.0.1"}, False),
    ({"host": "127.0.0.1#.evil"}, False),
    ({"host": "127.0.0.1:8000.evil"}, False),
    ({"host": "[::1"}, False),
    ({"host": "192.168.0.1"}, False),
    ({"host": "localhost:8000", "origin": "http://localhost:8000"}, True),
    ({"host": "localhost:8000", "origin": "http://localhost:24180"}, False),  # another port
    ({"host": "localhost:8000", "origin": "https://localhost:8000"}, False),  # another scheme
    ({"host": "localhost:8000", "origin": "http://127.0.0.1:8000"}, False),  # another name
    ({"host": "localhost:8000", "origin": "null"}, False),
    ({"sec_fetch_site": "same-origin"}, True),
    ({"sec_fetch_site": "none"}, True),
    ({"sec_fetch_site": "same-site"}, False),
    ({"sec_fetch_site": "cross-site"}, False),
    ({"x_forwarded_for": "1.2.3.4"}, False),
    ({"x_forwarded_proto": "https"}, False),
    ({"forwarded": "for=1.2.3.4"}, False),
    ({"x_real_ip": "1.2.3.4"}, False),
    ({"via": "1.1 proxy"}, False),
)


@over_http
async def test_without_keys_only_this_machine_is_served(store: Path) -> None:
    for access in (OPEN, Access(TOKEN)):
        async with web(store, access=access) as ask:
            for headers, welcome in LOCAL:
                answer = await ask("GET", "/deployments", **BEARER | headers)
                assert answer.status_code == (200 if welcome else 403), (access, headers, answer.text)
                assert welcome or answer.json()["error"].startswith("no API keys exist, so ")
                assert (await ask.http.get("/healthz", headers=headers)).status_code == 200
    key = f"Bearer {admin_key(store)}"
    async with web(store) as ask:  # a key is enough: browsers do not send it for other pages
        for headers, _ in LOCAL:
            assert (await ask("GET", "/deployments", **headers)).status_code == 401
            assert (await ask("GET", "/deployments", **headers | {"authorization": key})).status_code == 200


def test_loopback() -> None:
    for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost"):
        assert is_loopback(host)
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org", "127.1", ""):
        assert not is_loopback(host) and not is_local(host)


def test_from_the_token_to_the_first_key_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    command("keys", "token", "--store", store, code=2)
    with Process(tmp_path / "store.db", auth=True) as service:
        token = service.token
        assert f"{service.url}/?token={token}\n" in service.terminal.read_text()
        assert token not in service.log.read_text()
        assert command("keys", "token", "--store", store).stdout.strip() == token
        with Client(service.url) as client, pytest.raises(Refused, match="the token of the service is needed"):
            client.list()
        with Client(service.url, key=token) as client:
            client.create("shop", "uniform", n_arms=2)
        monkeypatch.setenv("DRIFTWISE_TOKEN", token)
        with Client(service.url) as client:
            assert client.decide("shop").id == 0
        told = command("keys", "create", "--scopes", "admin", "--url", service.url, code=2).stderr
        assert "the first API key is created on the command line: stop the service" in told
        told = command("keys", "create", "--scopes", "admin", "--store", store, code=2).stderr
        assert "in use by process" in told and "stop the service" in told
        assert service.stop() == 0
        service.start()
        service.wait()
        assert service.token == token
        assert service.stop() == 0
        for words in (["--scopes", "decide"], ["--scopes", "admin", "--deployment", "shop"]):
            assert "the first API key" in command("keys", "create", *words, "--store", store, code=2).stderr
        assert "no-auth" in command("serve", "--no-auth", "--host", "0.0.0.0", "--store", store, code=2).stderr
        key = command("keys", "create", "--scopes", "admin", "--store", store).stdout.strip()
        assert not token_file(store).exists()
        assert "API keys" in command("serve", "--no-auth", "--store", store, code=2).stderr
        service.start()
        service.wait()
        assert token not in service.terminal.read_text()
        with Client(service.url) as client, pytest.raises(Refused, match="unknown, expired or revoked"):
            client.list()
        with Client(service.url, key=key) as client:
            assert client.decide("shop").id == 1
        monkeypatch.setenv("DRIFTWISE_KEY", key)
        command("keys", "create", "--url", service.url)


def test_without_auth_there_are_warnings_and_any_loopback_address_serves(tmp_path: Path) -> None:
    with Process(tmp_path / "store.db", host="127.0.0.2") as service:
        assert httpx.get(f"{service.url}/v1/deployments").status_code == 200
        assert "auth is off" in service.log.read_text() and "auth is off" in service.terminal.read_text()
        assert not token_file(service.store).exists()


# ---- what one client can take ----


class Door:
    """A server in this process, asked through plain sockets."""

    def __init__(self, port: int, server: Server) -> None:
        self.port, self.server = port, server
        self.closed: list[Any] = []

    async def connect(self, *, address: str = "127.0.0.1") -> "Caller":
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
        caller = Caller(reader, writer)
        self.closed.append(writer)
        return caller

    async def get(self, path: str, *, address: str = "127.0.0.1") -> tuple[int, Any]:
        """Ask on a connection of its own."""
        caller = await self.connect(address=address)
        return await caller.ask(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())


class Caller:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, request: bytes) -> tuple[int, Any]:
        self.send(request)
        return await self.answer()

    def send(self, data: bytes) -> None:
        with suppress(RuntimeError):  # it is closed
            self.writer.write(data)

    async def answer(self) -> tuple[int, Any]:
        """The status and what the JSON of an answer says."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line[15:]) for line in head.splitlines() if line.startswith("content-length:"))
        return int(head.split()[1]), msgspec.json.decode(await self.reader.readexactly(length))

    async def end(self) -> bytes:
        """What comes until the service closes the connection."""
        data = b""
        with suppress(ConnectionResetError):
            while more := await self.reader.read(1 << 16):
                data += more
        return data


@asynccontextmanager
async def door(store: Path, limits: Limits, more: list[Endpoint] | None = None) -> AsyncIterator[Door]:
    engine = Engine(open_journal(f"sqlite:///{store}"))
    server = server_of(make_app(Service(engine, limits, OPEN), more=more or []), "127.0.0.1", 0, limits)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.ensure_future(server.serve([listening]))
        found = Door(listening.getsockname()[1], server)
        try:
            while not server.started:
                await asyncio.sleep(0.01)
            yield found
        finally:
            for writer in found.closed:
                writer.close()
            server.should_exit = True
            await task


def run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(work, 300))


LONG_S = 3600.0
ASK = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"
CHUNKED = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
LONG = b"x" * (MAX_HEAD + 8192)
TOO_LONG = {
    "after another request": ASK + b"a: " + LONG,
    "a request line": b"GET /" + LONG,
    "a header's name": ASK + LONG,
    "a header's value": ASK + b"a: " + LONG,
    "many headers": ASK + b"a: b\r\n" * (len(LONG) // 6),
    "complete": ASK + b"a: " + LONG + b"\r\n\r\n",
}


def test_headers_are_counted_before_anything_is_known(tmp_path: Path) -> None:
    async def test() -> None:
        async with door(tmp_path / "store.db", Limits()) as found:
            for what, request in TOO_LONG.items():
                caller = await found.connect()
                if what == "after another request":
                    assert await caller.ask(ASK + b"\r\n") == (200, {"alive": True})
                status, problem = await caller.ask(request)
                assert status == 431 and problem["code"] == "too-large" and "32768 bytes" in problem["error"], what
                assert await caller.end() == b"", what
            for extra in (b"1;" + LONG, b"0\r\n" + b"a: b\r\n" * (len(LONG) // 6), b"0\r\na: " + LONG):
                caller = await found.connect()
                assert await caller.ask(CHUNKED) == (200, {"alive": True})
                caller.send(extra)  # between the parts of a body, or after it
                assert b"431" in await caller.end()
            caller = await found.connect()
            large = ASK + b"a: " + b"x" * (MAX_HEAD - 1000) + b"\r\n\r\n"
            for _ in range(3):
                assert await caller.ask(large) == (200, {"alive": True})

    run(test())


def test_endless_headers_take_no_memory(tmp_path: Path) -> None:
    def peak(process: int) -> int:
        status = Path(f"/proc/{process}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])

    with Process(tmp_path / "store.db", auth=True) as service:
        before = peak(service.process.pid)
        for start, more in ((ASK, b"a: b\r\n" * 10_000), (ASK + b"a: ", b"x" * 60_000), (b"GET /", b"x" * 60_000)):
            with socket.create_connection(("127.0.0.1", service.port)) as endless, suppress(ConnectionError):
                endless.sendall(start)
                for _ in range(1000):  # 60 MB, or as much as it takes
                    endless.sendall(more)
        assert httpx.get(f"{service.url}/healthz").status_code == 200
        assert peak(service.process.pid) - before < 20_000  # in KiB


def test_what_is_no_request_is_refused_in_json(tmp_path: Path) -> None:
    async def test() -> None:
        async with door(tmp_path / "store.db", Limits(body=1000)) as found:
            for request in (b"garbage\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n"):
                caller = await found.connect()
                assert await caller.ask(request) == (400, {"code": "malformed", "error": "this is not an HTTP request"})
                assert await caller.end() == b""
            caller = await found.connect()
            caller.send(b"HEAD /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            head = await caller.end()
            assert head.startswith(b"HTTP/1.1 200") and head.endswith(b"\r\n\r\n")
            caller = await found.connect()
            upgrade = ASK + b"connection: upgrade\r\nupgrade: websocket\r\n\r\n"
            assert await caller.ask(upgrade) == (200, {"alive": True})

    run(test())


DECIDE = b"POST /v1/deployments/shop/decide HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"


def test_a_body_that_never_begins_is_like_one_that_stops(tmp_path: Path) -> None:
    async def test() -> None:
        async with door(tmp_path / "store.db", Limits(body_s=0.2)) as found:
            for sent in (b"", b"{"):
                caller = await found.connect()
                status, problem = await caller.ask(DECIDE + b"content-length: 2\r\n\r\n" + sent)
                assert (status, problem["error"]) == (400, "the body took longer than 0.2 seconds")

    run(test())


def test_a_client_that_waits_is_closed_however_it_waits(tmp_path: Path) -> None:
    """A few bytes now and then do not help it."""
    asked = ASK + b"\r\n"
    unread = b"POST /v1/deployments HTTP/1.1\r\nhost: evil\r\ncontent-length: 100000\r\n\r\n"

    async def test() -> None:
        async with door(tmp_path / "store.db", Limits(head_s=0.2)) as found:
            for start, drop in ((b"", b""), (b"GET", b""), (b"", b"\r\n"), (ASK, b"a: b\r\n")):
                await _closed(await found.connect(), start, drop)
        async with door(tmp_path / "store.db", Limits(head_s=LONG_S, idle_s=0.2)) as found:
            for first, start, drop in (
                (asked, b"", b""),
                (asked, b"", b"\r\n"),
                (asked, ASK, b"a: b\r\n"),
                (unread, b"", b"x"),
            ):
                caller = await found.connect()
                await caller.ask(first)
                await _closed(caller, start, drop)
            greedy = await found.connect()  # it asks, and never reads
            greedy.writer.transport.pause_reading()  # type: ignore[attr-defined]
            greedy.send(b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 400)
            while found.server.server_state.connections:
                await asyncio.sleep(0.01)

    run(test())


async def _closed(caller: Caller, start: bytes, drop: bytes) -> None:
    """Send a little more all the time, until the service closes the connection."""

    async def drip() -> None:
        while True:
            await asyncio.sleep(0.02)
            caller.send(drop)

    caller.send(start)
    dripping = asyncio.ensure_future(drip())
    assert await caller.end() == b""
    dripping.cancel()


def test_idle_connections_make_room_and_busy_ones_leave_some_to_health_checks(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def slow(call: Call) -> Any:
        """Wait."""
        await go.wait()
        return Saved(1, 2)

    more = [Endpoint("GET", "/v1/slow", slow, scope="read", gives=Saved)]

    async def test() -> None:
        limits = Limits(connections=4, per_client=3, health=2, head_s=LONG_S, body_s=LONG_S, idle_s=LONG_S)
        async with door(tmp_path / "store.db", limits, more) as found:
            idle = [await found.connect() for _ in range(3)]
            for each in idle:
                assert (await each.ask(ASK + b"\r\n"))[0] == 200
            assert (await idle[0].ask(ASK + b"\r\n"))[0] == 200  # so that the second has waited longest
            assert (await found.get("/v1/deployments"))[0] == 200  # a fourth from one address
            assert await idle[1].end() == b""
            for each in (idle[0], idle[2]):
                assert (await each.ask(ASK + b"\r\n"))[0] == 200
            silent = [await found.connect(address=f"127.0.0.{n}") for n in range(10, 16)]  # nobody asks
            assert (await found.get("/v1/deployments", address="127.0.0.9"))[0] == 200
            for each in (*idle, *silent):
                each.writer.close()
            half = await found.connect(address="127.0.0.5")  # a body that does not come is waited for, too
            half.send(DECIDE + b"content-length: 2\r\n\r\n")

            busy = []
            for address in ("127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3"):
                busy.append(await found.connect(address=address))
                busy[-1].send(ASK.replace(b"/healthz", b"/v1/slow") + b"\r\n")
            assert await half.end() == b""
            for address in ("127.0.0.2", "127.0.0.4"):  # too many of this address; too many in all
                status, problem = await found.get("/v1/deployments", address=address)
                assert status == 503 and problem["code"] == "unavailable"
                for path in ("/healthz", "/readyz"):
                    assert (await found.get(path, address=address))[0] == 200
            for _ in range(20):  # nor can silence take what is left to health checks
                await found.connect(address="127.0.0.6")
            assert (await found.get("/healthz", address="127.0.0.4"))[0] == 200
            go.set()
            for each in busy:
                assert await each.answer() == (200, {"event": 1, "bytes": 2})
            assert (await found.get("/v1/deployments", address="127.0.0.4"))[0] == 200

    run(test())


def test_stopping_waits_for_nobody_who_does_not_come_to_the_point(tmp_path: Path) -> None:
    with Process(tmp_path / "store.db") as service:
        with Client(service.url) as client:
            client.create("shop", "uniform", n_arms=2)
        waiting = []
        for start in (b"", b"GET /", ASK + b"\r\n", DECIDE + b"content-length: 2\r\n\r\n"):
            waiting.append(socket.create_connection(("127.0.0.1", service.port)))
            waiting[-1].sendall(start)
        waiting.append(socket.create_connection(("127.0.0.1", service.port)))
        waiting[-1].sendall(b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 400)
        assert httpx.get(f"{service.url}/healthz").status_code == 200  # all of that has been seen
        assert service.stop() == 0
        for each in waiting:
            each.close()
        log = service.log.read_text()
        assert "Traceback" not in log and "Cancel" not in log and log.splitlines()[-1].endswith('"event": "stopped"}')


# ---- what reading does ----


@over_http
async def test_reading_never_throws_the_live_state_away(store: Path) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("nobody thought of this")

    async with web(store) as ask:
        await ask("POST", "/deployments", SHOP)
        live = ask.engine.entry("shop").live
        for id in (1, 2**53 - 1, 2**53, 2**63, "9" * 5000):
            refused = await ask("GET", f"/deployments/shop/decisions/{id}")
            assert refused.status_code == 404 and "there is no decision" in refused.json()["error"]
            assert ask.engine.entry("shop").live is live
        with pytest.MonkeyPatch.context() as patch:
            for module, verb in (
                (asking, "recorded"),
                (asking, "statistics"),
                (asking, "verify"),
                (deciding, "decide"),
            ):
                patch.setattr(module, verb, broken)
            for method, path in (("GET", "decisions/0"), ("GET", "statistics"), ("POST", "verify")):
                assert (await ask(method, f"/deployments/shop/{path}")).status_code == 500
                assert ask.engine.entry("shop").live is live
            assert (await ask("POST", "/deployments/shop/decide", {})).status_code == 500
            assert ask.engine.entry("shop").live is None


@over_http
async def test_names_that_are_folders_in_a_url_are_refused(store: Path) -> None:
    async with web(store) as ask:
        for name in (".", ".."):
            refused = await ask("POST", "/deployments", SHOP | {"name": name})
            assert refused.status_code == 422
            assert refused.json()["error"] == f"name={name} cannot be used: in a URL it means a folder"
        for name in ("...", ".a", "-", "_", "decide", "batch", "a" * 64):
            assert (await ask("POST", "/deployments", SHOP | {"name": name})).status_code == 201
            assert (await ask("GET", f"/deployments/{name}/statistics")).json()["name"] == name
