"""The service from Python: `Client`, and `AsyncClient` for programs that await.

    with Client("http://127.0.0.1:8000") as client:
        decision = client.decide("shop")
        client.learn("shop", decision.id, reward=1.0)

What fails on the way is asked again, with pauses that grow. That is safe: every request that changes something
carries a key of its own, by which the service knows it again, so that nothing is decided or counted twice. When all
attempts have failed and it is not known whether the request was done, `OutcomeUnknown` says so, and carries the key:
ask again with it.
"""

import asyncio
import os
import random
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import httpx
import msgspec

from driftwise.errors import DriftwiseError
from driftwise.serve.answers import (
    Decision,
    Decisions,
    Described,
    Explained,
    Learnt,
    LearntMany,
    Listed,
    Problem,
    Recorded,
    Statistics,
    Verified,
)

T = TypeVar("T")
AGAIN = (429, 502, 503, 504)  # what may pass
PAUSE_S, LONGEST_S = 0.05, 2.0
LONG_S = 300.0  # what compiles a policy for the first time, or replays a journal


class Refused(DriftwiseError):
    """The service refused, and said why; nothing was changed."""

    def __init__(self, status: int, code: str, error: str) -> None:
        super().__init__(error)
        self.status, self.code = status, code


class OutcomeUnknown(DriftwiseError):
    """No answer came. The request may have been done, or not; `key` makes it safe to ask again."""

    def __init__(self, key: str | None, why: str) -> None:
        super().__init__(f"no answer came ({why}): whether it was done is unknown; ask again with key={key!r}")
        self.key = key


class Ask(Generic[T]):
    """A request, and what kind of thing it is answered with."""

    def __init__(
        self, method: str, path: str, kind: type[T], body: Any = None, key: str | None = None, least_s: float = 0.0
    ) -> None:
        self.method, self.path, self.kind, self.least_s = method, f"/v1/deployments{path}", kind, least_s
        self.content = b"" if body is None else msgspec.json.encode(body)
        self.key = (key or str(uuid.uuid4())) if method != "GET" else None

    @property
    def headers(self) -> dict[str, str]:
        """The key, and what the body is."""
        told = {"content-type": "application/json"} if self.content else {}
        return told | ({"idempotency-key": self.key} if self.key else {})

    def read(self, response: httpx.Response) -> T:
        """The answer, or why there is none."""
        if response.is_success:
            return msgspec.json.decode(response.content, type=self.kind)
        try:
            problem = msgspec.json.decode(response.content, type=Problem)
        except msgspec.DecodeError:
            problem = Problem("http", f"HTTP {response.status_code}")
        raise Refused(response.status_code, problem.code, problem.error)

    def within(self, seconds: float) -> float:
        """How long to wait for an answer, if `seconds` are the rule: what may compile or replay takes its time."""
        return max(seconds, self.least_s)

    def passes(self, response: httpx.Response) -> bool:
        """Whether the answer may be another in a moment: it is full, unavailable, or the same request is under way."""
        return response.status_code in AGAIN or (response.status_code == 409 and b'"in-flight"' in response.content)


def _pauses(retries: int) -> Iterator[float]:
    """How long to wait before each attempt after the first: ever longer, and never in step with others."""
    for attempt in range(retries):
        yield random.uniform(0.5, 1.0) * min(LONGEST_S, PAUSE_S * 2**attempt)


# ---- what can be asked ----


def _create(name: str, policy: str, settings: Mapping[str, Any], key: str | None) -> Ask[Described]:
    return Ask("POST", "", Described, {"name": name, "policy": policy, **settings}, key, LONG_S)


def _asked(context: Sequence[float] | None, actions: Any, unit: str | None) -> dict[str, Any]:
    given = {"context": context, "actions": actions, "unit": unit}
    return {word: value for word, value in given.items() if value is not None}


def _told(id: int, reward: float | None, rewards: Sequence[float] | None, costs: Any) -> dict[str, Any]:
    given = {"id": id, "reward": reward, "rewards": rewards, "costs": costs}
    return {word: value for word, value in given.items() if value is not None}


def _decide_many(name: str, asks: Iterable[Mapping[str, Any]], key: str | None) -> Ask[Decisions]:
    return Ask("POST", f"/{name}/decide/batch", Decisions, {"decisions": list(asks)}, key)


def _learn_many(name: str, outcomes: Iterable[Mapping[str, Any]], key: str | None) -> Ask[LearntMany]:
    return Ask("POST", f"/{name}/learn/batch", LearntMany, {"outcomes": list(outcomes)}, key)


def _options(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    key = key or os.environ.get("DRIFTWISE_KEY")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return {"base_url": url, "headers": headers, "timeout": timeout}


class Client:
    """A service, asked one thing at a time.

    Parameters
    ----------
    url : str
        Where it is, e.g. `http://127.0.0.1:8000`.
    key : str, optional
        An API key; if not given, that in the environment variable DRIFTWISE_KEY.
    timeout : float
        Seconds to wait for an answer; minutes for what compiles a policy or replays a journal.
    retries : int
        How often to ask again.
    """

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 10.0, retries: int = 5, transport: Any = None
    ) -> None:
        self.retries, self.timeout = retries, timeout
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
        pauses, why = _pauses(self.retries), ""
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
                if response is not None and response.status_code not in (409, 503):  # those leave it open
                    return ask.read(response)
                raise OutcomeUnknown(ask.key, why)
            time.sleep(pause)

    def create(self, name: str, policy: str, *, key: str | None = None, **settings: Any) -> Described:
        """Make a deployment; settings as in the OpenAPI document, e.g. `arms=["red", "blue"]`."""
        return self.ask(_create(name, policy, settings, key))

    def decide(
        self,
        name: str,
        *,
        context: Sequence[float] | None = None,
        actions: Any = None,
        unit: str | None = None,
        key: str | None = None,
    ) -> Decision:
        """Make a decision."""
        return self.ask(Ask("POST", f"/{name}/decide", Decision, _asked(context, actions, unit), key))

    def decide_many(self, name: str, asks: Iterable[Mapping[str, Any]], *, key: str | None = None) -> list[Decision]:
        """Make several decisions, all or none: `[{"context": [...]}, ...]`."""
        return self.ask(_decide_many(name, asks, key)).decisions

    def learn(
        self,
        name: str,
        id: int,
        reward: float | None = None,
        *,
        rewards: Sequence[float] | None = None,
        costs: Any = None,
        key: str | None = None,
    ) -> Learnt:
        """Tell what came of a decision."""
        return self.ask(Ask("POST", f"/{name}/learn", Learnt, _told(id, reward, rewards, costs), key))

    def learn_many(self, name: str, outcomes: Iterable[Mapping[str, Any]], *, key: str | None = None) -> list[Learnt]:
        """Tell what came of several decisions: `[{"id": 3, "reward": 1.0}, ...]`; each is answered by itself."""
        return self.ask(_learn_many(name, outcomes, key)).outcomes

    def cancel(self, name: str, id: int) -> Learnt:
        """Call off a decision that never happened."""
        return self.ask(Ask("POST", f"/{name}/cancel", Learnt, {"id": id}))

    def list(self, *, after: str = "", limit: int = 100) -> Listed:
        """A page of deployments."""
        return self.ask(Ask("GET", f"?after={after}&limit={limit}", Listed))

    def describe(self, name: str) -> Described:
        """A deployment as it is."""
        return self.ask(Ask("GET", f"/{name}", Described))

    def change(self, name: str, **changes: Any) -> Described:
        """Other settings; another `policy`, `parameters` or `window` replays the journal."""
        return self.ask(Ask("PATCH", f"/{name}", Described, changes, least_s=LONG_S))

    def pause(self, name: str) -> Described:
        """Make no more decisions for now."""
        return self.ask(Ask("POST", f"/{name}/pause", Described))

    def resume(self, name: str) -> Described:
        """Go on."""
        return self.ask(Ask("POST", f"/{name}/resume", Described))

    def retire(self, name: str) -> Described:
        """End a deployment for good."""
        return self.ask(Ask("POST", f"/{name}/retire", Described))

    def add_arm(self, name: str, arm: str | int, features: Sequence[float] | None = None) -> Described:
        """One more arm."""
        return self.ask(Ask("POST", f"/{name}/arms", Described, {"name": arm, "features": features}))

    def retire_arm(self, name: str, arm: str | int) -> Described:
        """One arm less."""
        return self.ask(Ask("POST", f"/{name}/arms/retire", Described, {"name": arm}))

    def statistics(self, name: str) -> Statistics:
        """What a page draws."""
        return self.ask(Ask("GET", f"/{name}/statistics", Statistics))

    def decision(self, name: str, id: int) -> Recorded:
        """A decision as it stands in the journal."""
        return self.ask(Ask("GET", f"/{name}/decisions/{id}", Recorded))

    def explain(self, name: str, id: int) -> Explained:
        """Why a decision was made."""
        return self.ask(Ask("GET", f"/{name}/decisions/{id}/explain", Explained, least_s=LONG_S))

    def verify(self, name: str) -> Verified:
        """Whether a replay of the journal leads to the present state."""
        return self.ask(Ask("POST", f"/{name}/verify", Verified, least_s=LONG_S))

    def export(self, name: str, format: str = "jsonl", *, after: int = -1) -> Iterator[bytes]:
        """The log, in chunks: `jsonl`, `csv` or `parquet`."""
        path = f"/v1/deployments/{name}/log?format={format}&after={after}"
        with self._http.stream("GET", path) as response:
            if not response.is_success:
                response.read()
                Ask("GET", "", bytes).read(response)
            yield from response.iter_bytes()


class AsyncClient:
    """The same for programs that await: `async with AsyncClient(url) as client: await client.decide("shop")`."""

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 10.0, retries: int = 5, transport: Any = None
    ) -> None:
        self.retries, self.timeout = retries, timeout
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
        pauses, why = _pauses(self.retries), ""
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
                if response is not None and response.status_code not in (409, 503):  # those leave it open
                    return ask.read(response)
                raise OutcomeUnknown(ask.key, why)
            await asyncio.sleep(pause)

    async def create(self, name: str, policy: str, *, key: str | None = None, **settings: Any) -> Described:
        """Make a deployment."""
        return await self.ask(_create(name, policy, settings, key))

    async def decide(
        self,
        name: str,
        *,
        context: Sequence[float] | None = None,
        actions: Any = None,
        unit: str | None = None,
        key: str | None = None,
    ) -> Decision:
        """Make a decision."""
        return await self.ask(Ask("POST", f"/{name}/decide", Decision, _asked(context, actions, unit), key))

    async def decide_many(
        self, name: str, asks: Iterable[Mapping[str, Any]], *, key: str | None = None
    ) -> list[Decision]:
        """Make several decisions, all or none."""
        return (await self.ask(_decide_many(name, asks, key))).decisions

    async def learn(
        self,
        name: str,
        id: int,
        reward: float | None = None,
        *,
        rewards: Sequence[float] | None = None,
        costs: Any = None,
        key: str | None = None,
    ) -> Learnt:
        """Tell what came of a decision."""
        return await self.ask(Ask("POST", f"/{name}/learn", Learnt, _told(id, reward, rewards, costs), key))

    async def learn_many(
        self, name: str, outcomes: Iterable[Mapping[str, Any]], *, key: str | None = None
    ) -> list[Learnt]:
        """Tell what came of several decisions; each is answered by itself."""
        return (await self.ask(_learn_many(name, outcomes, key))).outcomes

    async def describe(self, name: str) -> Described:
        """A deployment as it is."""
        return await self.ask(Ask("GET", f"/{name}", Described))

    async def statistics(self, name: str) -> Statistics:
        """What a page draws."""
        return await self.ask(Ask("GET", f"/{name}/statistics", Statistics))
