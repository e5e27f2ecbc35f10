"""Frames between members: responses in any order and any size, and what becomes of requests when a connection ends."""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop

from driftwise.errors import DriftwiseError
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.app import make_app
from driftwise.service.http.endpoint import Call, Endpoint, Limits, Service, StreamingResponse
from driftwise.service.http.errors import Conflict, LimitReached
from driftwise.service.http.middleware import Middleware
from driftwise.service.http.schemas.requests import DecideRequest
from driftwise.service.http.schemas.responses import SnapshotResponse
from driftwise.service.http.server import Server, make_server
from driftwise.service.members.forwarding import (
    ForwardedResponse,
    MemberConnection,
    MemberLink,
    NotAnsweredError,
    NotSentError,
)
from driftwise.service.members.frames import (
    HEAD,
    PART_SIZE,
    PROTOCOL,
    REQUEST,
    RESPONSE,
    SECRET,
    SWITCH,
    Frame,
    FrameReader,
    ResponseMessage,
    RoutedRequest,
    frame_bytes,
)
from driftwise.service.members.opening import make_router
from driftwise.service.members.roster import Member
from driftwise.service.members.router import MISDIRECTED
from driftwise.service.members.store_server import StoreServer
from driftwise.service.members.worker_journal import WorkerJournal
from driftwise.service.store.sqlite import SQLiteJournal
from tests.fixtures.patience import HANG_S, until_so
from tests.service.test_service import OPEN

LARGE = bytes(range(256)) * (PART_SIZE // 64)  # four parts
N_CHUNKS = 40


def routed(what: str, *, body: bytes = b"", query: dict[str, str] | None = None) -> RoutedRequest:
    path = f"/v1/{what}"
    return RoutedRequest(f"GET {path}", path, "", "", query or {}, None, "order-17", "", body, repeatable=True)


class Owner:
    """A member in this process, with endpoints of its own, and what they have seen."""

    def __init__(self, server: Server, app: Middleware, member: Member) -> None:
        assert app.receiver is not None
        self.server, self.receiver, self.member = server, app.receiver, member
        self.link = MemberLink(member)

    async def connect(self) -> MemberConnection:
        """A connection of a member, by itself."""
        loop = asyncio.get_running_loop()
        host, _, port = self.member.address.rpartition(":")
        _, connection = await loop.create_connection(lambda: MemberConnection(self.member), host, int(port))
        await connection.ready
        return connection

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of plain bytes."""
        host, _, port = self.member.address.rpartition(":")
        return await asyncio.open_connection(host, int(port))


class Handlers:
    """Endpoints that are slow, large, long, broken."""

    def __init__(self) -> None:
        self.go, self.begun, self.done = asyncio.Event(), 0, 0
        self.chunks, self.closed = 0, 0

    async def fast(self, call: Call) -> Any:
        """Answer at once."""
        assert call.forwarded
        return SnapshotResponse(int(call.query.get("n", "0")), 2)

    async def slow(self, call: Call) -> Any:
        """Wait until it may go on."""
        self.begun += 1
        await self.go.wait()
        self.done += 1
        return (202, LARGE) if "large" in call.query else SnapshotResponse(1, 2)

    async def large(self, call: Call) -> Any:
        """A body of several parts, and not of JSON's status."""
        return 202, LARGE

    async def refuse(self, call: Call) -> Any:
        """An error with a header of its own."""
        raise LimitReached("too many", retry_after=7)

    async def stream(self, call: Call) -> StreamingResponse:
        """Chunks larger than a part, and smaller ones."""
        return StreamingResponse(self._chunks(call.query.get("fails") == "late"), "text/csv", "shop.csv")

    async def unready(self, call: Call) -> StreamingResponse:
        """A stream that fails before its first chunk."""

        async def chunks() -> AsyncIterator[bytes]:
            raise Conflict("not now")
            yield b""

        return StreamingResponse(chunks(), "text/csv", "")

    async def _chunks(self, fails: bool) -> AsyncIterator[bytes]:
        try:
            for number in range(N_CHUNKS):
                if fails and number == 3:
                    raise DriftwiseError("the disk is gone")
                self.chunks += 1
                yield bytes([number]) * (PART_SIZE + 1 if number % 2 else 10)
        finally:
            self.closed += 1

    def table(self) -> list[Endpoint]:
        query = {"n": (int, ""), "fails": (str, "")}
        named = (self.fast, self.slow, self.large, self.refuse, self.stream, self.unready)
        return [
            *(
                Endpoint("GET", f"/v1/{each.__name__}", each, scope="read", response=SnapshotResponse, query=query)
                for each in named
            ),
            Endpoint("POST", "/v1/post", self.fast, scope="read", response=SnapshotResponse, request=DecideRequest),
        ]


WHOLE = b"".join(bytes([number]) * (PART_SIZE + 1 if number % 2 else 10) for number in range(N_CHUNKS))


@asynccontextmanager
async def owner(folder: Path, handlers: Handlers, limits: Limits | None = None) -> AsyncIterator[Owner]:
    limits = limits or Limits()
    with ExitStack() as stack:
        journal = SQLiteJournal(folder / "store.db")
        stack.callback(journal.close)
        stack.callback(StoreServer(journal, folder / "parent").close)
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        worker: Any = WorkerJournal(folder / "store.db", folder / "parent")
        stack.callback(worker.close)
        engine = Engine(worker)
        router = make_router(engine, worker, address)
        assert router is not None
        app = make_app(Service(engine, limits, OPEN, router), more=handlers.table())
        server = make_server(app, "127.0.0.1", 0, limits)
        task = asyncio.ensure_future(server.serve([listening]))
        try:
            await until_so(lambda: server.started, "the start")
            found = Owner(server, app, Member(worker.member, address, router.membership.secret))
            yield found
            found.link.close()
        finally:
            handlers.go.set()
            server.should_exit = True
            await task


def run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(work, HANG_S))


def test_frames_are_the_same_however_they_are_cut() -> None:
    frames = [Frame(kind, 2**40 + kind, b"x" * size) for kind, size in enumerate((0, 1, 300, 70_000))]
    sent = b"".join(frame_bytes(*frame) for frame in frames)
    for size in (1, 2, HEAD.size, 1000, len(sent)):
        reader = FrameReader()
        read = [each for start in range(0, len(sent), size) for each in reader.feed(sent[start : start + size])]
        assert read == frames


def test_a_slow_response_does_not_hold_up_others(tmp_path: Path) -> None:
    async def test() -> None:
        handlers = Handlers()
        async with owner(tmp_path, handlers) as found:
            slow = [asyncio.ensure_future(found.link.send(routed("slow"))) for _ in range(3)]
            stream = await found.link.send(routed("stream"))  # nobody reads it yet
            await until_so(lambda: handlers.begun == 3, "slow requests")
            fast = [found.link.send(routed("fast", query={"n": str(number)})) for number in range(300)]
            responses = await asyncio.gather(*fast)
            assert [msgspec.json.decode(each.body)["event"] for each in responses] == [*range(300)]
            assert len(found.receiver.connections) == 1 and not any(each.done() for each in slow)
            assert stream.chunks is not None and b"".join([chunk async for chunk in stream.chunks]) == WHOLE
            handlers.go.set()
            assert {each.status for each in await asyncio.gather(*slow)} == {200}

    run(test())


def test_responses_of_any_size_come_as_they_were_sent(tmp_path: Path) -> None:
    async def test() -> None:
        handlers = Handlers()
        async with owner(tmp_path, handlers) as found:
            large = await found.link.send(routed("large"))
            assert large == ForwardedResponse(202, LARGE, b"application/json", [])
            stream = await found.link.send(routed("stream"))
            assert (stream.media, stream.filename, stream.body) == (b"text/csv", "shop.csv", b"")
            assert stream.chunks is not None
            assert len(await anext(stream.chunks)) == 10 and handlers.chunks <= 2  # no more than what is wanted
            rest = [chunk async for chunk in stream.chunks]
            assert max(map(len, rest)) == PART_SIZE and b"".join(rest) == WHOLE[10:]
            refused = await found.link.send(routed("refuse"))
            assert refused.status == 429 and refused.headers == [(b"retry-after", b"7")]
            assert (await found.link.send(routed("unready"))).status == 409
            assert (await found.link.send(routed("nowhere"))).status == 404
            post = routed("post", body=b"{}")
            post.endpoint = "POST /v1/post"
            assert (await found.link.send(post)).status == 200
            post.body = b" " * (Limits().max_body + 1)
            assert (await found.link.send(post)).status == 413

    run(test())


def test_a_stream_that_fails_is_cut_off_and_one_that_nobody_reads_ends(tmp_path: Path) -> None:
    async def test() -> None:
        handlers = Handlers()
        async with owner(tmp_path, handlers) as found:
            cut = await found.link.send(routed("stream", query={"fails": "late"}))
            assert cut.chunks is not None
            with pytest.raises(NotAnsweredError):
                _ = [chunk async for chunk in cut.chunks]
            assert handlers.closed == 1
            left: Any = (await found.link.send(routed("stream"))).chunks
            await anext(left)
            await left.aclose()
            await until_so(lambda: not found.server.server_state.tasks, "the end of the stream")
            late = asyncio.ensure_future(found.link.send(routed("stream")))
            await asyncio.sleep(0)
            late.cancel()  # its response comes all the same, and is not wanted
            connection = await found.connect()
            early = asyncio.ensure_future(connection.send(routed("large")))

            def cancel_with(frame: Frame) -> None:
                MemberConnection.on_frame(connection, frame)
                early.cancel()

            connection.on_frame = cancel_with  # type: ignore[method-assign]
            with pytest.raises(asyncio.CancelledError):  # in the round in which its response begins
                await early
            assert (await found.link.send(routed("fast"))).status == 200
            await until_so(lambda: not found.server.server_state.tasks, "the end of the stream")

    run(test())


def test_a_request_that_is_cut_off_is_not_done(tmp_path: Path) -> None:
    async def test() -> None:
        handlers = Handlers()
        async with owner(tmp_path, handlers) as found:
            reader, writer = await found.dial()
            writer.write(_upgrade(found.member.secret))
            assert await reader.readexactly(len(SWITCH)) == SWITCH
            writer.write(frame_bytes(REQUEST, 0, b"\xc1"))
            _, kind, _ = HEAD.unpack(await reader.readexactly(HEAD.size))
            assert kind == RESPONSE and b"cannot be read" in await reader.read(1000)
            whole = frame_bytes(REQUEST, 1, msgspec.msgpack.encode(routed("slow", query={"large": "yes"})))
            writer.write(whole + whole[: len(whole) // 2])
            await until_so(lambda: handlers.begun == 1, "the request that is whole")
            writer.close()
            await until_so(lambda: not found.receiver.connections, "the end of the connection")
            handlers.go.set()
            await until_so(lambda: not found.server.server_state.tasks, "the end of the request")
            assert (handlers.begun, handlers.done) == (1, 1)  # what was begun is done
            assert (await found.link.send(routed("fast"))).status == 200

    run(test())


def _upgrade(secret: str) -> bytes:
    lines = [b"GET / HTTP/1.1", b"host: x", b"connection: upgrade", b"upgrade: " + PROTOCOL]
    return b"\r\n".join([*lines, SECRET + b": " + secret.encode(), b"", b""])


def test_requests_to_a_member_that_goes_away_are_told_from_those_that_were_not_sent(tmp_path: Path) -> None:
    async def test() -> None:
        handlers = Handlers()
        async with owner(tmp_path, handlers) as found:
            waiting = [asyncio.ensure_future(found.link.send(routed("slow"))) for _ in range(3)]
            stream = await found.link.send(routed("stream"))
            await until_so(lambda: handlers.begun == 3, "slow requests")
            for connection in list(found.receiver.connections):
                connection.abort()
            assert {type(each) for each in await asyncio.gather(*waiting, return_exceptions=True)} == {NotAnsweredError}
            assert stream.chunks is not None
            with pytest.raises(NotAnsweredError):
                _ = [chunk async for chunk in stream.chunks]
            assert (await found.link.send(routed("fast"))).status == 200  # over another connection
            waiting = [asyncio.ensure_future(found.link.send(routed("slow")))]
            await until_so(lambda: handlers.begun == 4, "a slow request")
            found.link.close()  # the roster says that the member is gone
            assert isinstance((await asyncio.gather(*waiting, return_exceptions=True))[0], NotAnsweredError)
            with pytest.raises(NotSentError):
                await found.link.send(routed("fast"))
        with pytest.raises(NotSentError):
            await MemberLink(found.member).send(routed("fast"))

    run(test())


def test_a_member_that_stops_answers_what_it_has_and_passes_on_what_comes(tmp_path: Path) -> None:
    async def test() -> None:
        handlers = Handlers()
        async with owner(tmp_path, handlers) as found:
            connection = await found.connect()
            slow = asyncio.ensure_future(connection.send(routed("slow")))
            stream = await connection.send(routed("stream"))
            await until_so(lambda: handlers.begun == 1, "a slow request")
            reader, writer = await found.dial()  # one that has not heard of it
            writer.write(_upgrade(found.member.secret))
            await reader.readexactly(len(SWITCH))
            found.receiver.leave()
            writer.write(frame_bytes(REQUEST, 5, msgspec.msgpack.encode(routed("slow"))))
            frames: list[Frame] = []
            frame_reader = FrameReader()
            while len(frames) < 2:
                frames += frame_reader.feed(await reader.read(1000))
            assert frames[1][:2] == (RESPONSE, 5)
            assert msgspec.msgpack.decode(frames[1].content, type=ResponseMessage).status == MISDIRECTED
            await until_so(lambda: connection.leaving, "the news")
            for refused in (connection.send(routed("fast")), found.link.send(routed("fast"))):
                with pytest.raises(NotSentError):
                    await refused
            handlers.go.set()
            assert (await slow).status == 200 and handlers.begun == 1
            assert stream.chunks is not None and b"".join([chunk async for chunk in stream.chunks]) == WHOLE
            await until_so(lambda: connection.closed, "the end of the connection")
            writer.close()

    run(test())


def test_only_members_may_forward(tmp_path: Path) -> None:
    async def test() -> None:
        async with owner(tmp_path, Handlers()) as found:
            for secret in ("guess", "", found.member.secret[:-1]):
                reader, writer = await found.dial()
                writer.write(_upgrade(secret) + frame_bytes(REQUEST, 1, msgspec.msgpack.encode(routed("fast"))))
                answer = await reader.read()
                assert answer.startswith(b"HTTP/1.1 401") and b"this is not the secret of this process" in answer
                writer.close()
            stranger = MemberLink(found.member._replace(secret="guess"))
            with pytest.raises(NotSentError):
                await stranger.send(routed("fast"))
            reader, writer = await found.dial()  # behind a request that is under way
            writer.write(b"GET /v1/slow HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" + _upgrade(found.member.secret))
            assert SWITCH not in await reader.read()
            writer.close()
            assert not found.receiver.connections

    run(test())
