"""Clients of the service: `Client`, and `AsyncClient` for asyncio.

    with Client("http://127.0.0.1:8000") as client:
        decision = client.decide("shop")
        client.learn("shop", decision.id, reward=1.0)

Requests that fail are repeated, with growing pauses. That is safe: every request that changes something carries an
idempotency key, so that nothing is decided or counted twice. When `patience` seconds have passed and it is not known
whether the request was done, `OutcomeUnknown` is raised, with the key: repeat the request with it. Where there was
never a connection, it is a `ServiceUnreachable`: nothing was done.

Both clients have the same methods, which `calls` describes; they differ in how they send.
"""

import asyncio
import functools
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from driftwise.core.extras import needed_for

with needed_for("the client of the service"):
    import httpx

from driftwise.service.client import calls
from driftwise.service.client.calls import (
    ApiCall,
    OutcomeUnknown,
    RequestError,
    ServiceUnreachable,
    log_path,
    request_error,
)

__all__ = ["AsyncClient", "Client", "OutcomeUnknown", "RequestError", "ServiceUnreachable"]

P = ParamSpec("P")
T = TypeVar("T")
Result = httpx.Response | httpx.TransportError
MAX_IN_FLIGHT = 16  # requests of an `AsyncClient`: every event of a pool of httpx costs time for each that waits in it


def _options(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    key = key or os.environ.get("DRIFTWISE_KEY") or os.environ.get("DRIFTWISE_TOKEN")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _sync(describe: Callable[P, ApiCall[T]]) -> Callable[Concatenate["Client", P], T]:
    """A method that sends the call a function describes."""

    def method(client: "Client", /, *args: P.args, **options: P.kwargs) -> T:
        return client.send(describe(*args, **options))

    return functools.update_wrapper(method, describe)


def _async(describe: Callable[P, ApiCall[T]]) -> Callable[Concatenate["AsyncClient", P], Awaitable[T]]:
    """The same, for asyncio."""

    def method(client: "AsyncClient", /, *args: P.args, **options: P.kwargs) -> Awaitable[T]:
        return client.send(describe(*args, **options))

    return functools.update_wrapper(method, describe)


class Client:
    """A client of the service.

    Parameters
    ----------
    url : str
        Address of the service, e.g. `http://127.0.0.1:8000`.
    key : str, optional
        An API key, or the token of a service that has none; by default the environment variable DRIFTWISE_KEY or
        DRIFTWISE_TOKEN.
    timeout : float
        Seconds to wait for an answer; five minutes for requests that compile a policy or replay a journal.
    patience : float
        Seconds for which to repeat a request: longer than a restart of the service takes.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        patience: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.patience, self.timeout = patience, timeout
        self._http = httpx.Client(transport=transport, **_options(url, key, timeout))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def send(self, call: ApiCall[T]) -> T:
        """Send a request, and repeat it while the failure is transient."""
        attempts = call.attempts(self.patience, self.timeout)
        attempt = next(attempts)
        while True:
            pause, method, path, content, headers, timeout = attempt
            time.sleep(pause)
            try:
                result: Result = self._http.request(method, path, content=content, headers=headers, timeout=timeout)
            except httpx.TransportError as error:
                result = error
            try:
                attempt = attempts.send(result)
            except StopIteration as end:
                return cast(T, end.value)

    def export(self, name: str, format: str = "jsonl", *, after: int = -1) -> Iterator[bytes]:
        """Export the log, in chunks: `jsonl`, `csv` or `parquet`."""
        with self._http.stream("GET", log_path(name, format, after)) as response:
            if not response.is_success:
                response.read()
                raise request_error(response)
            yield from response.iter_bytes()

    create = _sync(calls.create)
    decide = _sync(calls.decide)
    decide_many = _sync(calls.decide_many)
    learn = _sync(calls.learn)
    learn_many = _sync(calls.learn_many)
    cancel = _sync(calls.cancel)
    list = _sync(calls.list_page)
    members = _sync(calls.members)
    describe = _sync(calls.describe)
    change = _sync(calls.change)
    promote = _sync(calls.promote)
    pause = _sync(calls.pause)
    resume = _sync(calls.resume)
    retire = _sync(calls.retire)
    delete = _sync(calls.delete)
    erase_unit = _sync(calls.erase_unit)
    add_arm = _sync(calls.add_arm)
    retire_arm = _sync(calls.retire_arm)
    statistics = _sync(calls.statistics)
    summary = _sync(calls.summary)
    decisions = _sync(calls.decisions)
    decision = _sync(calls.decision)
    explain = _sync(calls.explain)
    verify = _sync(calls.verify)
    snapshot = _sync(calls.snapshot)
    agent = _sync(calls.agent)


class AsyncClient:
    """The same for asyncio: `async with AsyncClient(url) as client: await client.decide("shop")`.

    At most 16 requests are sent at a time; more wait for their turn.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        patience: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.patience, self.timeout = patience, timeout
        self._http = httpx.AsyncClient(transport=transport, **_options(url, key, timeout))
        self._slots = asyncio.Semaphore(MAX_IN_FLIGHT)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def send(self, call: ApiCall[T]) -> T:
        """Send a request, and repeat it while the failure is transient."""
        attempts = call.attempts(self.patience, self.timeout)
        attempt = next(attempts)
        while True:
            pause, method, path, content, headers, timeout = attempt
            await asyncio.sleep(pause)
            try:
                async with self._slots:
                    result: Result = await self._http.request(
                        method, path, content=content, headers=headers, timeout=timeout
                    )
            except httpx.TransportError as error:
                result = error
            try:
                attempt = attempts.send(result)
            except StopIteration as end:
                return cast(T, end.value)

    async def export(self, name: str, format: str = "jsonl", *, after: int = -1) -> AsyncIterator[bytes]:
        """Export the log, in chunks: `jsonl`, `csv` or `parquet`."""
        async with self._http.stream("GET", log_path(name, format, after)) as response:
            if not response.is_success:
                await response.aread()
                raise request_error(response)
            async for chunk in response.aiter_bytes():
                yield chunk

    create = _async(calls.create)
    decide = _async(calls.decide)
    decide_many = _async(calls.decide_many)
    learn = _async(calls.learn)
    learn_many = _async(calls.learn_many)
    cancel = _async(calls.cancel)
    list = _async(calls.list_page)
    members = _async(calls.members)
    describe = _async(calls.describe)
    change = _async(calls.change)
    promote = _async(calls.promote)
    pause = _async(calls.pause)
    resume = _async(calls.resume)
    retire = _async(calls.retire)
    delete = _async(calls.delete)
    erase_unit = _async(calls.erase_unit)
    add_arm = _async(calls.add_arm)
    retire_arm = _async(calls.retire_arm)
    statistics = _async(calls.statistics)
    summary = _async(calls.summary)
    decisions = _async(calls.decisions)
    decision = _async(calls.decision)
    explain = _async(calls.explain)
    verify = _async(calls.verify)
    snapshot = _async(calls.snapshot)
    agent = _async(calls.agent)
