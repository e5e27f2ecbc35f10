"""Calls of the HTTP API, each described once; `client` sends them, synchronously or not.

Each function here makes an `ApiCall`: the request, and how to read the response. Both clients have a method for each.
"""

import math
import random
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from driftwise.agent.agent import as_problem
from driftwise.core.encoding import Arm
from driftwise.core.extras import needed_for
from driftwise.core.problem import ProblemValue
from driftwise.errors import DriftwiseError, RewardError
from driftwise.service.http.schemas.responses import (
    DecideManyResponse,
    DecideResponse,
    DecisionList,
    DeletionResponse,
    DeploymentList,
    DeploymentResponse,
    EraseUnitResponse,
    ErrorBody,
    Explanation,
    LearnManyResponse,
    LearnResponse,
    LoggedDecision,
    MemberList,
    MemberResponse,
    SnapshotResponse,
    Statistics,
    SummaryResponse,
    Verification,
)

with needed_for("the client of the service"):
    import httpx

T = TypeVar("T")
RETRY_STATUSES = (429, 502, 503, 504)
NOT_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout)
PAUSE_S, MAX_PAUSE_S = 0.05, 2.0
LONG_S = 300.0  # for requests that compile a policy for the first time, or replay a journal


class RequestError(DriftwiseError):
    """The service answered with an error; nothing was changed. `code` is one of those in the OpenAPI document."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code = status, code


class OutcomeUnknown(DriftwiseError):
    """No answer came, so the request may have been done or not; repeat it with the same `key`."""

    def __init__(self, key: str | None, why: str) -> None:
        done = f": whether the request was done is unknown; repeat it with key={key!r}" if key else ""
        super().__init__(f"no answer came ({why}){done}")
        self.key = key


class ServiceUnreachable(OutcomeUnknown):
    """No connection could be made: the request was not done. It can be repeated as it is, or with the same `key`."""

    def __init__(self, key: str | None, why: str) -> None:
        DriftwiseError.__init__(self, f"the service cannot be reached ({why}): the request was not done")
        self.key = key


class Attempt(NamedTuple):
    """A request to send after a pause."""

    pause: float
    method: str
    path: str
    content: bytes
    headers: dict[str, str]
    timeout: float


class ApiCall(Generic[T]):
    """A request and the type of its response; `pick` selects the part of the response to return."""

    def __init__(
        self,
        method: str,
        path: str,
        response_type: type,
        body: object = None,
        key: str | None = None,
        *,
        min_timeout_s: float = 0.0,
        pick: Callable[[Any], T] | None = None,
    ) -> None:
        self.method, self.path, self.response_type, self.pick = method, f"/v1{path}", response_type, pick
        self.min_timeout_s = min_timeout_s
        self.content = b"" if body is None else msgspec.json.encode(body)
        self.key = (key or str(uuid.uuid4())) if method != "GET" else None

    @property
    def headers(self) -> dict[str, str]:
        """Content type and idempotency key."""
        headers = {"content-type": "application/json"} if self.content else {}
        return headers | ({"idempotency-key": self.key} if self.key else {})

    def read(self, response: httpx.Response) -> T:
        """The response, or `RequestError`."""
        if not response.is_success:
            raise request_error(response)
        content: Any = response.content
        result = content if self.response_type is bytes else msgspec.json.decode(content, type=self.response_type)
        return self.pick(result) if self.pick is not None else result

    def is_transient(self, response: httpx.Response) -> bool:
        """Whether to repeat the request: the service is full or unavailable, or the same request is in progress."""
        if response.status_code == 409:
            return error_body(response).code == "request-in-progress"
        return response.status_code in RETRY_STATUSES and error_body(response).code != "damaged"

    def attempts(self, patience: float, timeout: float) -> Generator[Attempt, httpx.Response | Exception, T]:
        """The attempts to make, each with the pause before it; it takes the response or the error of each.

        Its value is the result. Both clients run it, so that what is repeated, and for how long, is written once.
        """
        pauses, connected = _pauses(patience), False
        attempt = Attempt(0.0, self.method, self.path, self.content, self.headers, max(timeout, self.min_timeout_s))
        while True:
            result = yield attempt
            connected = connected or not isinstance(result, NOT_CONNECTED)
            if isinstance(result, httpx.Response):
                if not self.is_transient(result):
                    return self.read(result)
                response, why = result, f"HTTP {result.status_code}"
            else:
                response, why = None, str(result) or type(result).__name__
            pause = next(pauses, None)
            if pause is None:
                if not connected:
                    raise ServiceUnreachable(self.key, why)
                return self.give_up(response, why)
            attempt = attempt._replace(pause=pause)

    def give_up(self, response: httpx.Response | None, why: str) -> T:
        """The result when there is no other attempt."""
        if response is not None and response.status_code not in (409, 503):  # after those it may have been done
            return self.read(response)
        raise OutcomeUnknown(self.key, why)


def _pauses(patience: float) -> Iterator[float]:
    """Pauses before each attempt after the first: growing, and random so that clients do not retry in step."""
    end, longest = time.monotonic() + patience, PAUSE_S
    while (remaining := end - time.monotonic()) > 0.0:
        yield min(remaining, random.uniform(0.5, 1.0) * longest)
        longest = min(MAX_PAUSE_S, 2 * longest)


def error_body(response: httpx.Response) -> ErrorBody:
    """The problem details of an error; a proxy may answer without any."""
    try:
        return msgspec.json.decode(response.content, type=ErrorBody)
    except msgspec.DecodeError:
        status = response.status_code
        return ErrorBody("about:blank", response.reason_phrase, status, f"HTTP {status}", "http")


def request_error(response: httpx.Response) -> RequestError:
    """The exception for an error."""
    body = error_body(response)
    return RequestError(response.status_code, body.code, body.detail)


def log_path(name: str, format: str, after: int) -> str:
    """The path of the log of a deployment."""
    return f"/v1/deployments/{name}/log?format={format}&after={after}"


def without_none(**fields: object) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


# ---- one description of each request ----


def create(
    name: str, policy: str, problem: ProblemValue | Sequence[str] | int, *, key: str | None = None, **options: object
) -> ApiCall[DeploymentResponse]:
    """Create a deployment. `problem` is a problem value; names or a count stand for a multi-armed one."""
    body = {"name": name, "policy": policy, "problem": as_problem(problem), **options}
    return ApiCall("POST", "/deployments", DeploymentResponse, body, key, min_timeout_s=LONG_S)


def decide(
    name: str,
    *,
    unit: str | None = None,
    override: Arm | Sequence[Arm] | None = None,
    propensity: float | None = None,
    key: str | None = None,
    **request: object,
) -> ApiCall[Any]:
    """Make a decision; the problem says what a request has: `context=`, `actions=`, `states=`.

    `override` is an action chosen outside, and `propensity` its own, if it is known.
    """
    body = without_none(unit=unit, **request)
    if override is not None:
        body["override"] = without_none(action=override, propensity=propensity)
    return ApiCall("POST", f"/deployments/{name}/decide", DecideResponse, body, key)


def decide_many(name: str, requests: Iterable[Mapping[str, Any]], *, key: str | None = None) -> ApiCall[list[Any]]:
    """Make several decisions, all or none: `[{"context": [...]}, ...]`."""
    body = {"decisions": list(requests)}
    return ApiCall(
        "POST",
        f"/deployments/{name}/decide/batch",
        DecideManyResponse,
        body,
        key,
        pick=lambda response: response.decisions,
    )


def _check_reward(reward: object) -> None:
    """Refuse a reward that is not finite: in JSON it would be null."""
    if isinstance(reward, float) and not math.isfinite(reward):
        raise RewardError(f"reward={reward} is not finite: send a number")


def learn(
    name: str, id: int, reward: float | None = None, *, key: str | None = None, **outcome: object
) -> ApiCall[LearnResponse]:
    """Send the outcome of a decision; the problem says what it has: `reward`, `rewards=`, `costs=`, `states=`, ..."""
    _check_reward(reward)
    body = without_none(id=id, reward=reward, **outcome)
    return ApiCall("POST", f"/deployments/{name}/learn", LearnResponse, body, key)


def learn_many(
    name: str, outcomes: Iterable[Mapping[str, Any]], *, key: str | None = None
) -> ApiCall[list[LearnResponse]]:
    """Send several outcomes: `[{"id": 3, "reward": 1.0}, ...]`; each has a status of its own."""
    body = {"outcomes": list(outcomes)}
    for outcome in body["outcomes"]:
        _check_reward(outcome.get("reward"))
    return ApiCall(
        "POST",
        f"/deployments/{name}/learn/batch",
        LearnManyResponse,
        body,
        key,
        pick=lambda response: response.outcomes,
    )


def cancel(name: str, id: int, *, key: str | None = None) -> ApiCall[LearnResponse]:
    """Cancel a decision that was not carried out."""
    return ApiCall("POST", f"/deployments/{name}/cancel", LearnResponse, {"id": id}, key)


def list_page(*, after: str = "", limit: int = 100) -> ApiCall[DeploymentList]:
    """List a page of deployments."""
    return ApiCall("GET", f"/deployments?after={after}&limit={limit}", DeploymentList)


def members() -> ApiCall[list[MemberResponse]]:
    """List the processes that serve the store, and the deployments that each owns; none, where it is one alone."""
    return ApiCall("GET", "/members", MemberList, pick=lambda answer: answer.members)


def describe(name: str) -> ApiCall[DeploymentResponse]:
    """Get a deployment: its specification and current state."""
    return ApiCall("GET", f"/deployments/{name}", DeploymentResponse)


def change(name: str, *, key: str | None = None, **changes: object) -> ApiCall[DeploymentResponse]:
    """Change a deployment; a new `policy`, `parameters` or `window` replays the journal.

    Where events were dropped, `allow_partial_replay=True` replays those that are kept.
    """
    return ApiCall("PATCH", f"/deployments/{name}", DeploymentResponse, changes, key, min_timeout_s=LONG_S)


def promote(name: str, policy: str, *, keep: bool = False, key: str | None = None) -> ApiCall[DeploymentResponse]:
    """Let a shadow policy decide from now on; with `keep`, the one that decided becomes a shadow."""
    body = {"policy": policy, "keep": keep}
    return ApiCall("POST", f"/deployments/{name}/promote", DeploymentResponse, body, key, min_timeout_s=LONG_S)


def pause(name: str, *, key: str | None = None) -> ApiCall[DeploymentResponse]:
    """Pause: no decisions until `resume`."""
    return ApiCall("POST", f"/deployments/{name}/pause", DeploymentResponse, key=key)


def resume(name: str, *, key: str | None = None) -> ApiCall[DeploymentResponse]:
    """Resume after a pause."""
    return ApiCall("POST", f"/deployments/{name}/resume", DeploymentResponse, key=key)


def retire(name: str, *, key: str | None = None) -> ApiCall[DeploymentResponse]:
    """Retire a deployment, for ever."""
    return ApiCall("POST", f"/deployments/{name}/retire", DeploymentResponse, key=key)


def delete(name: str, *, key: str | None = None) -> ApiCall[DeletionResponse]:
    """Delete a retired deployment and all its events."""
    return ApiCall("DELETE", f"/deployments/{name}", DeletionResponse, key=key)


def erase_unit(name: str, unit: str, *, key: str | None = None) -> ApiCall[EraseUnitResponse]:
    """Erase the name and the contexts of a unit; refused while decisions of it are pending."""
    body = {"unit": unit}
    return ApiCall("POST", f"/deployments/{name}/units/erase", EraseUnitResponse, body, key, min_timeout_s=LONG_S)


def add_arm(
    name: str, arm: str | int | float, *, key: str | None = None, **options: object
) -> ApiCall[DeploymentResponse]:
    """Add an arm, with what the others have: `features=`, or `arm_type=` and `activation_cost=`."""
    body = without_none(name=arm, **options)
    return ApiCall("POST", f"/deployments/{name}/arms", DeploymentResponse, body, key, min_timeout_s=LONG_S)


def retire_arm(name: str, arm: str | int | float, *, key: str | None = None) -> ApiCall[DeploymentResponse]:
    """Retire an arm."""
    return ApiCall(
        "POST", f"/deployments/{name}/arms/retire", DeploymentResponse, {"name": arm}, key, min_timeout_s=LONG_S
    )


def summary(name: str) -> ApiCall[SummaryResponse]:
    """Get what the policy knows of each arm now."""
    return ApiCall("GET", f"/deployments/{name}/summary", SummaryResponse, min_timeout_s=LONG_S)


def statistics(name: str, *, last: int | None = None) -> ApiCall[Statistics]:
    """Get the statistics that the dashboard draws, of the `last` seconds or of all."""
    return ApiCall("GET", f"/deployments/{name}/statistics" + (f"?last={last}" if last else ""), Statistics)


def decisions(name: str, *, before: int | None = None, limit: int = 20) -> ApiCall[DecisionList]:
    """List decisions with their outcomes, latest first."""
    page = f"?limit={limit}" + ("" if before is None else f"&before={before}")
    return ApiCall("GET", f"/deployments/{name}/decisions{page}", DecisionList)


def decision(name: str, id: int) -> ApiCall[LoggedDecision]:
    """Get a decision from the journal."""
    return ApiCall("GET", f"/deployments/{name}/decisions/{id}", LoggedDecision)


def explain(name: str, id: int) -> ApiCall[Explanation]:
    """Explain a decision."""
    return ApiCall("GET", f"/deployments/{name}/decisions/{id}/explain", Explanation, min_timeout_s=LONG_S)


def verify(name: str) -> ApiCall[Verification]:
    """Check that a replay of the journal gives the live state."""
    return ApiCall("POST", f"/deployments/{name}/verify", Verification, min_timeout_s=LONG_S)


def snapshot(name: str) -> ApiCall[SnapshotResponse]:
    """Take a snapshot now, so that a restart has little to replay."""
    return ApiCall("POST", f"/deployments/{name}/snapshot", SnapshotResponse, min_timeout_s=LONG_S)


def agent(name: str) -> ApiCall[bytes]:
    """Export the agent as bytes, for `driftwise.Agent.loads`."""
    return ApiCall("GET", f"/deployments/{name}/agent", bytes, min_timeout_s=LONG_S)
