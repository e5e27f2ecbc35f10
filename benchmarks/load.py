"""Many clients at once on one machine: requests as ready-made bytes over connections that stay open.

    python benchmarks/load.py PORT PATH CLIENTS SECONDS < BODY      prints one line of JSON

It runs in a process of its own, and looks at no more of an answer than it must.
"""

import asyncio
import json
import sys
import time
from typing import Any


class Connection(asyncio.Protocol):
    """Sends the next request when the answer to the last has come."""

    def __init__(self, request: bytes, until: float, times: list[float], done: "asyncio.Future[None]") -> None:
        self.request, self.until, self.times, self.done = request, until, times, done
        self.seen = b""
        self.bad = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.began = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.seen += data
        head, found, body = self.seen.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) < length:
            return
        now = time.perf_counter()
        self.times.append(now - self.began)
        self.bad += not self.seen.startswith(b"HTTP/1.1 200")
        self.seen = b""
        if now < self.until:
            self.send()
        elif not self.done.done():
            self.transport.close()
            self.done.set_result(None)


async def load(port: int, path: str, clients: int, seconds: float, body: bytes) -> dict[str, float]:
    """Requests per second, and how long they took."""
    loop = asyncio.get_running_loop()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
    began = time.perf_counter()
    times: list[float] = []
    connections = []
    for _ in range(clients):
        done = loop.create_future()
        _, made = await loop.create_connection(
            lambda done=done: Connection(request, began + seconds, times, done),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        connections.append((made, done))
    await asyncio.gather(*(done for _, done in connections))
    spent = time.perf_counter() - began
    times.sort()
    return {
        "rate": len(times) / spent,
        "p50": times[len(times) // 2],
        "p99": times[int(0.99 * len(times))],
        "bad": sum(made.bad for made, _ in connections),
    }


def main() -> None:
    """As asked on the command line."""
    port, path, clients, seconds = sys.argv[1:]
    try:
        import uvloop

        uvloop.install()
    except ImportError:
        pass
    body = sys.stdin.buffer.read()
    print(json.dumps(asyncio.run(load(int(port), path, int(clients), float(seconds), body))))


if __name__ == "__main__":
    main()
