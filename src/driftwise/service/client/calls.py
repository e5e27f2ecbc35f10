"""What can be asked of a service, each request described once; `client` sends them, awaiting or not.

Each function here makes an `Ask`: what to send, and how to read the answer. Both clients have a method for each.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from driftwise.core.extras import needed_for
from driftwise.errors import DriftwiseError
from driftwise.service.http.schemas.responses import (
    Decision,
    Decisions,
    Described,
    Explained,
    Learnt,
    LearntMany,
    Listed,
    Problem,
    Recorded,
    Saved,
    Statistics,
    Verified,
)

with needed_for("the client of the service"):
    import httpx

T = TypeVar("T")
AGAIN = (429, 502, 503, 504)  # what may pass
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
    """A request, and what kind of thing it is answered with; `pick` takes out of that what is wanted."""

    def __init__(
        self,
        method: str,
        path: str,
        kind: Any,
        body: Any = None,
        key: str | None = None,
        *,
        least_s: float = 0.0,
        pick: Callable[[Any], T] | None = None,
    ) -> None:
        self.method, self.path, self.kind, self.least_s, self.pick = method, f"/v1{path}", kind, least_s, pick
        self.content = b"" if body is None else msgspec.json.encode(body)
        self.key = (key or str(uuid.uuid4())) if method != "GET" else None

    @property
    def headers(self) -> dict[str, str]:
        """The key, and what the body is."""
        told = {"content-type": "application/json"} if self.content else {}
        return told | ({"idempotency-key": self.key} if self.key else {})

    def read(self, response: httpx.Response) -> T:
        """The answer, or why there is none."""
        if not response.is_success:
            raise refused(response)
        told: Any = response.content if self.kind is bytes else msgspec.json.decode(response.content, type=self.kind)
        return self.pick(told) if self.pick is not None else told

    def within(self, seconds: float) -> float:
        """How long to wait for an answer, if `seconds` are the rule: what may compile or replay takes its time."""
        return max(seconds, self.least_s)

    def passes(self, response: httpx.Response) -> bool:
        """Whether the answer may be another in a moment: it is full, unavailable, or the same request is under way."""
        if response.status_code == 409:
            return b'"in-flight"' in response.content
        return response.status_code in AGAIN and b'"code":"damaged"' not in response.content

    def given_up(self, response: httpx.Response | None, why: str) -> T:
        """What comes of it when there will be no other attempt."""
        if response is not None and response.status_code not in (409, 503):  # those leave it open
            return self.read(response)
        raise OutcomeUnknown(self.key, why)


def refused(response: httpx.Response) -> Refused:
    """Why there is no answer."""
    try:
        problem = msgspec.json.decode(response.content, type=Problem)
    except msgspec.DecodeError:
        problem = Problem("http", f"HTTP {response.status_code}")
    return Refused(response.status_code, problem.code, problem.error)


def log_path(name: str, format: str, after: int) -> str:
    """Where the log of a deployment is."""
    return f"/v1/deployments/{name}/log?format={format}&after={after}"


def said(**words: Any) -> dict[str, Any]:
    """What was said, without what was not."""
    return {word: value for word, value in words.items() if value is not None}


# ---- one description of each request ----


def create(name: str, policy: str, *, key: str | None = None, **settings: Any) -> Ask[Described]:
    """Make a deployment; settings as in the OpenAPI document, e.g. `arms=["red", "blue"]`."""
    return Ask("POST", "/deployments", Described, {"name": name, "policy": policy, **settings}, key, least_s=LONG_S)


def decide(
    name: str,
    *,
    context: Sequence[float] | None = None,
    actions: Any = None,
    states: Any = None,
    unit: str | None = None,
    override: Any = None,
    propensity: float | None = None,
    key: str | None = None,
) -> Ask[Decision]:
    """Make a decision. `states` are those of restless arms, by name or in order.

    `override` is an action chosen outside, and `propensity` its own, if it is known.
    """
    asked = said(context=context, actions=actions, states=states, unit=unit)
    asked |= {} if override is None else {"override": said(action=override, propensity=propensity)}
    return Ask("POST", f"/deployments/{name}/decide", Decision, asked, key)


def decide_many(name: str, asks: Iterable[Mapping[str, Any]], *, key: str | None = None) -> Ask[list[Decision]]:
    """Make several decisions, all or none: `[{"context": [...]}, ...]`."""
    body = {"decisions": list(asks)}
    return Ask("POST", f"/deployments/{name}/decide/batch", Decisions, body, key, pick=lambda told: told.decisions)


def learn(
    name: str,
    id: int,
    reward: float | None = None,
    *,
    rewards: Any = None,
    costs: Any = None,
    states: Any = None,
    gradient: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
    jacobian: Sequence[Sequence[float]] | None = None,
    loss: float | None = None,
    key: str | None = None,
) -> Ask[Learnt]:
    """Tell what came of a decision: what it earned, and cost; where arms that move went; slopes at a point."""
    told = said(id=id, reward=reward, rewards=rewards, costs=costs, states=states)
    told |= said(gradient=gradient, values=values, jacobian=jacobian, loss=loss)
    return Ask("POST", f"/deployments/{name}/learn", Learnt, told, key)


def learn_many(name: str, outcomes: Iterable[Mapping[str, Any]], *, key: str | None = None) -> Ask[list[Learnt]]:
    """Tell what came of several decisions: `[{"id": 3, "reward": 1.0}, ...]`; each is answered by itself."""
    body = {"outcomes": list(outcomes)}
    return Ask("POST", f"/deployments/{name}/learn/batch", LearntMany, body, key, pick=lambda told: told.outcomes)


def cancel(name: str, id: int, *, key: str | None = None) -> Ask[Learnt]:
    """Call off a decision that never happened."""
    return Ask("POST", f"/deployments/{name}/cancel", Learnt, {"id": id}, key)


def list_page(*, after: str = "", limit: int = 100) -> Ask[Listed]:
    """A page of deployments."""
    return Ask("GET", f"/deployments?after={after}&limit={limit}", Listed)


def describe(name: str) -> Ask[Described]:
    """A deployment as it is."""
    return Ask("GET", f"/deployments/{name}", Described)


def change(name: str, *, key: str | None = None, **changes: Any) -> Ask[Described]:
    """Other settings; another `policy`, `parameters` or `window` replays the journal."""
    return Ask("PATCH", f"/deployments/{name}", Described, changes, key, least_s=LONG_S)


def pause(name: str, *, key: str | None = None) -> Ask[Described]:
    """Make no more decisions for now."""
    return Ask("POST", f"/deployments/{name}/pause", Described, key=key)


def resume(name: str, *, key: str | None = None) -> Ask[Described]:
    """Go on."""
    return Ask("POST", f"/deployments/{name}/resume", Described, key=key)


def retire(name: str, *, key: str | None = None) -> Ask[Described]:
    """End a deployment for good."""
    return Ask("POST", f"/deployments/{name}/retire", Described, key=key)


def add_arm(
    name: str,
    arm: str | int,
    features: Sequence[float] | None = None,
    *,
    arm_class: str | None = None,
    activation_cost: float | None = None,
    key: str | None = None,
) -> Ask[Described]:
    """One more arm, with its features, or its class and what it costs to activate, where the others have them."""
    body = said(name=arm, features=features, arm_class=arm_class, activation_cost=activation_cost)
    return Ask("POST", f"/deployments/{name}/arms", Described, body, key, least_s=LONG_S)


def retire_arm(name: str, arm: str | int, *, key: str | None = None) -> Ask[Described]:
    """One arm less."""
    return Ask("POST", f"/deployments/{name}/arms/retire", Described, {"name": arm}, key, least_s=LONG_S)


def statistics(name: str) -> Ask[Statistics]:
    """What a page draws."""
    return Ask("GET", f"/deployments/{name}/statistics", Statistics)


def decision(name: str, id: int) -> Ask[Recorded]:
    """A decision as it stands in the journal."""
    return Ask("GET", f"/deployments/{name}/decisions/{id}", Recorded)


def explain(name: str, id: int) -> Ask[Explained]:
    """Why a decision was made."""
    return Ask("GET", f"/deployments/{name}/decisions/{id}/explain", Explained, least_s=LONG_S)


def verify(name: str) -> Ask[Verified]:
    """Whether a replay of the journal leads to the present state."""
    return Ask("POST", f"/deployments/{name}/verify", Verified, least_s=LONG_S)


def snapshot(name: str) -> Ask[Saved]:
    """Take a snapshot now, so that a restart has little to replay."""
    return Ask("POST", f"/deployments/{name}/snapshot", Saved, least_s=LONG_S)


def agent(name: str) -> Ask[bytes]:
    """The agent as bytes, for `driftwise.Agent.loads`."""
    return Ask("GET", f"/deployments/{name}/agent", bytes, least_s=LONG_S)
