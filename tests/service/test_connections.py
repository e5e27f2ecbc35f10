"""What one client can take from others before it is known: bytes, time and places. Plain sockets, short limits."""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import uvloop

from driftwise.service.deployments.engine import Engine
from driftwise.service.http.app import make_app
from driftwise.service.http.connection import MAX_HEAD
from driftwise.service.http.endpoint import Call, Endpoint, Limits, Service
from driftwise.service.http.schemas.responses import SnapshotResponse
from driftwise.service.http.server import Server, make_server
from driftwise.service.store.journal import open_journal
from tests.fixtures.patience import HANG_S, patient, until_so
from tests.fixtures.service_process import Service as Process
from tests.service.test_service import OPEN

pytestmark = pytest.mark.system

LONG_S = 3600.0
PATIENT = Limits(head_s=LONG_S, body_s=LONG_S, idle_s=LONG_S)


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftwise.service.deployments.background_tasks.ANSWER_S", HANG_S)


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
    server = make_server(make_app(Service(engine, limits, OPEN), more=more or []), "127.0.0.1", 0, limits)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.ensure_future(server.serve([listening]))
        found = Door(listening.getsockname()[1], server)
        try:
            await until_so(lambda: server.started and engine.ready, "readiness")
            yield found
        finally:
            for writer in found.closed:
                writer.close()
            server.should_exit = True
            await task


def run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(work, HANG_S))


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
        async with door(tmp_path / "store.db", PATIENT) as found:
            for what, request in TOO_LONG.items():
                caller = await found.connect()
                if what == "after another request":
                    assert await caller.ask(ASK + b"\r\n") == (200, {"alive": True})
                status, problem = await caller.ask(request)
                assert (
                    status == 431 and problem["code"] == "headers-too-large" and "32768 bytes" in problem["detail"]
                ), what
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
        assert httpx.get(f"{service.url}/healthz", timeout=HANG_S).status_code == 200
        assert peak(service.process.pid) - before < 20_000  # in KiB


def test_what_is_no_request_is_refused_in_json(tmp_path: Path) -> None:
    async def test() -> None:
        async with door(tmp_path / "store.db", PATIENT) as found:
            for request in (b"garbage\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n"):
                caller = await found.connect()
                status, problem = await caller.ask(request)
                assert (status, problem["code"], problem["detail"]) == (
                    400,
                    "bad-request",
                    "this is not an HTTP request",
                )
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
        async with door(tmp_path / "store.db", replace(PATIENT, body_s=0.2)) as found:
            for sent in (b"", b"{"):
                caller = await found.connect()
                status, problem = await caller.ask(DECIDE + b"content-length: 2\r\n\r\n" + sent)
                assert (status, problem["detail"]) == (400, "the body took longer than 0.2 seconds")

    run(test())


def test_a_client_that_waits_is_closed_however_it_waits(tmp_path: Path) -> None:
    """A few bytes now and then do not help it."""
    asked = ASK + b"\r\n"
    unread = b"POST /v1/deployments HTTP/1.1\r\nhost: evil\r\ncontent-length: 100000\r\n\r\n"

    async def test() -> None:
        async with door(tmp_path / "store.db", replace(PATIENT, head_s=0.2)) as found:
            for start, drop in ((b"", b""), (b"GET", b""), (b"", b"\r\n"), (ASK, b"a: b\r\n")):
                await _closed(await found.connect(), start, drop)
        async with door(tmp_path / "store.db", replace(PATIENT, idle_s=0.2)) as found:
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
            await until_so(lambda: not found.server.server_state.connections, "the end of the connection")

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
    go, begun = asyncio.Event(), []

    async def slow(call: Call) -> Any:
        """Wait."""
        begun.append(call)
        await go.wait()
        return SnapshotResponse(1, 2)

    more = [Endpoint("GET", "/v1/slow", slow, scope="read", response=SnapshotResponse)]

    async def test() -> None:
        limits = replace(PATIENT, max_connections=4, max_per_client=3, max_health=2)
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
                await until_so(lambda: len(begun) == len(busy), "the request")
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
        with patient(service.url) as client:
            client.create("shop", "uniform", 2)
        waiting = []
        for start in (b"", b"GET /", ASK + b"\r\n", DECIDE + b"content-length: 2\r\n\r\n"):
            waiting.append(socket.create_connection(("127.0.0.1", service.port)))
            waiting[-1].sendall(start)
        waiting.append(socket.create_connection(("127.0.0.1", service.port)))
        waiting[-1].sendall(b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 400)
        assert httpx.get(f"{service.url}/healthz", timeout=HANG_S).status_code == 200  # all of that has been seen
        assert service.stop() == 0
        for each in waiting:
            each.close()
        log = service.log.read_text()
        assert "Traceback" not in log and "Cancel" not in log and log.splitlines()[-1].endswith('"event": "stopped"}')
