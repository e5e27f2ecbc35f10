"""The service from Python: `Client`, and `AsyncClient` for programs that await.

    with Client("http://127.0.0.1:8000") as client:
        decision = client.decide("shop")
        client.learn("shop", decision.id, reward=1.0)

What fails on the way is asked again, with pauses that grow. That is safe: every request that changes something
carries a key of its own, by which the service knows it again, so that nothing is decided or counted twice. When
`patience` is at an end and it is not known whether the request was done, `OutcomeUnknown` says so, and carries the
key: ask again with it.

Both clients have the same verbs, which are described in `requests`; they differ in how they send.
"""

import asyncio
import functools
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from driftwise.core.extras import needed_for

with needed_for("the client of the service"):
    import httpx

from driftwise.serve import requests
from driftwise.serve.requests import Ask, OutcomeUnknown, Refused, log_path, refused

__all__ = ["AsyncClient", "Client", "OutcomeUnknown", "Refused"]

P = ParamSpec("P")
T = TypeVar("T")
PAUSE_S, LONGEST_S = 0.05, 2.0


def _pauses(patience: float) -> Iterator[float]:
    """How long to wait before each attempt after the first: ever longer, and never in step with others."""
    end, longest = time.monotonic() + patience, PAUSE_S
    while (left := end - time.monotonic()) > 0.0:
        yield min(left, random.uniform(0.5, 1.0) * longest)
        longest = min(LONGEST_S, 2 * longest)


def _options(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    key = key or os.environ.get("DRIFTWISE_KEY") or os.environ.get("DRIFTWISE_TOKEN")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _sent(describe: Callable[P, Ask[T]]) -> Callable[Concatenate["Client", P], T]:
    """A verb that sends the request a function describes, and waits."""

    def verb(client: "Client", /, *args: P.args, **words: P.kwargs) -> T:
        return client.ask(describe(*args, **words))

    return functools.update_wrapper(verb, describe)


def _awaited(describe: Callable[P, Ask[T]]) -> Callable[Concatenate["AsyncClient", P], Awaitable[T]]:
    """The same, to be awaited."""

    def verb(client: "AsyncClient", /, *args: P.args, **words: P.kwargs) -> Awaitable[T]:
        return client.ask(describe(*args, **words))

    return functools.update_wrapper(verb, describe)


class Client:
    """A service, asked one thing at a time.

    Parameters
    ----------
    url : str
        Where it is, e.g. `http://127.0.0.1:8000`.
    key : str, optional
        An API key, or the token of a service that has none; if not given, what the environment variable DRIFTWISE_KEY
        or DRIFTWISE_TOKEN holds.
    timeout : float
        Seconds to wait for an answer; minutes for what compiles a policy or replays a journal.
    patience : float
        Seconds for which to ask again: longer than a service takes to be started anew.
    """

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 10.0, patience: float = 30.0, transport: Any = None
    ) -> None:
        self.patience, self.timeout = patience, timeout
        self._http = httpx.Client(transport=transport, **_options(url, key, timeout))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def ask(self, ask: Ask[T]) -> T:
        """Ask, again if need be."""
        pauses, why = _pauses(self.patience), ""
        while True:
            try:
                response = self._http.request(
                    ask.method, ask.path, content=ask.content, headers=ask.headers, timeout=ask.within(self.timeout)
                )
                if not ask.passes(response):
                    return ask.read(response)
                why = f"HTTP {response.status_code}"
            except httpx.TransportError as error:
                response, why = None, type(error).__name__
            pause = next(pauses, None)
            if pause is None:
                return ask.given_up(response, why)
            time.sleep(pause)

    def export(self, name: str, format: str = "jsonl", *, after: int = -1) -> Iterator[bytes]:
        """The log, in chunks: `jsonl`, `csv` or `parquet`."""
        with self._http.stream("GET", log_path(name, format, after)) as response:
            if not response.is_success:
                response.read()
                raise refused(response)
            yield from response.iter_bytes()

    create = _sent(requests.create)
    decide = _sent(requests.decide)
    decide_many = _sent(requests.decide_many)
    learn = _sent(requests.learn)
    learn_many = _sent(requests.learn_many)
    cancel = _sent(requests.cancel)
    list = _sent(requests.list_page)
    describe = _sent(requests.describe)
    change = _sent(requests.change)
    pause = _sent(requests.pause)
    resume = _sent(requests.resume)
    retire = _sent(requests.retire)
    add_arm = _sent(requests.add_arm)
    retire_arm = _sent(requests.retire_arm)
    statistics = _sent(requests.statistics)
    decision = _sent(requests.decision)
    explain = _sent(requests.explain)
    verify = _sent(requests.verify)
    snapshot = _sent(requests.snapshot)
    agent = _sent(requests.agent)


class AsyncClient:
    """The same for programs that await: `async with AsyncClient(url) as client: await client.decide("shop")`."""

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 10.0, patience: float = 30.0, transport: Any = None
    ) -> None:
        self.patience, self.timeout = patience, timeout
        self._http = httpx.AsyncClient(transport=transport, **_options(url, key, timeout))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def ask(self, ask: Ask[T]) -> T:
        """Ask, again if need be."""
        pauses, why = _pauses(self.patience), ""
        while True:
            try:
                response = await self._http.request(
                    ask.method, ask.path, content=ask.content, headers=ask.headers, timeout=ask.within(self.timeout)
                )
                if not ask.passes(response):
                    return ask.read(response)
                why = f"HTTP {response.status_code}"
            except httpx.TransportError as error:
                response, why = None, type(error).__name__
            pause = next(pauses, None)
            if pause is None:
                return ask.given_up(response, why)
            await asyncio.sleep(pause)

    async def export(self, name: str, format: str = "jsonl", *, after: int = -1) -> AsyncIterator[bytes]:
        """The log, in chunks: `jsonl`, `csv` or `parquet`."""
        async with self._http.stream("GET", log_path(name, format, after)) as response:
            if not response.is_success:
                await response.aread()
                raise refused(response)
            async for chunk in response.aiter_bytes():
                yield chunk

    create = _awaited(requests.create)
    decide = _awaited(requests.decide)
    decide_many = _awaited(requests.decide_many)
    learn = _awaited(requests.learn)
    learn_many = _awaited(requests.learn_many)
    cancel = _awaited(requests.cancel)
    list = _awaited(requests.list_page)
    describe = _awaited(requests.describe)
    change = _awaited(requests.change)
    pause = _awaited(requests.pause)
    resume = _awaited(requests.resume)
    retire = _awaited(requests.retire)
    add_arm = _awaited(requests.add_arm)
    retire_arm = _awaited(requests.retire_arm)
    statistics = _awaited(requests.statistics)
    decision = _awaited(requests.decision)
    explain = _awaited(requests.explain)
    verify = _awaited(requests.verify)
    snapshot = _awaited(requests.snapshot)
    agent = _awaited(requests.agent)
