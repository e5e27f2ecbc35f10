"""Schemas of responses; the OpenAPI document is generated from them. Times are RFC 3339, in UTC."""

from datetime import datetime
from typing import Any

import msgspec

from driftwise.core.family import FAMILIES
from driftwise.core.fields import Id
from driftwise.core.schemas import merged
from driftwise.service.deployments.replay_progress import ReplayView
from driftwise.service.deployments.stats.view import StatsView

# What a decision can be: an arm, several arms, a point of numbers, or nothing.
Action = str | int | float | list[str | int | float] | None


class Health(msgspec.Struct):
    """The process is alive."""

    alive: bool


class DecideAnswer(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The action chosen. `propensity` is null where the policy does not know it, `action` where doing nothing is best.

    `sticky`: the unit kept the arm of its earlier decision. `override`: the action was chosen outside. With budgets,
    `remaining` is what is left of each. For restless arms, `action` lists those to activate, and `ranking` explains it.
    """

    id: Id
    action: Action
    propensity: float | None
    decided_at: datetime
    sticky: bool = False
    override: bool = False


DecideResponse: Any = merged("DecideResponse", DecideAnswer, [family.service.answer for family in FAMILIES.values()])


class DecideManyResponse(msgspec.Struct):
    """Several decisions, in the order of the request."""

    decisions: list[DecideResponse]


class LearnResponse(msgspec.Struct):
    """The status of an outcome.

    `learned`: it counts. `duplicate`: the same outcome is recorded already, and counts once. `late`: the reward window
    had passed and the default was recorded. `stale`: recorded, but its round has left the policy's window. `ignored`:
    recorded, but its arm is retired. In a batch also, with an `error`: `not-found` (the decision does not exist or is
    already settled), `conflict` (another outcome is recorded) and `invalid`.
    """

    id: int
    status: str
    error: str | None = None


class LearnManyResponse(msgspec.Struct):
    """The statuses of several outcomes, in the order of the request."""

    outcomes: list[LearnResponse]


class ApiKey(msgspec.Struct, omit_defaults=True):
    """An API key. The `key` itself is in the response that creates it, and nowhere else.

    `last_used_at` is exact since the service started; before that, to the day.
    """

    id: str
    name: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None = None
    deployments: list[str] | None = None
    key: str | None = None
    last_used_at: datetime | None = None


class Caller(msgspec.Struct):
    """Who asks: the id and the name of the API key, `token`, or null where no key was needed; and what it may do.

    `scopes` are all that the caller has: `admin` has every other one. `deployments` is null for all.
    """

    id: str | None
    name: str | None
    scopes: list[str]
    deployments: list[str] | None = None


class ApiKeyList(msgspec.Struct):
    """All API keys that are not revoked."""

    keys: list[ApiKey]


class AuditEntry(msgspec.Struct):
    """An administrative request that was done.

    `caller` is the id of an API key, `token`, or empty where no key was needed; `action` is an operation of this
    document, and `target` the deployment, API key or arm.
    """

    number: int
    done_at: datetime
    caller: str
    key_name: str | None
    action: str
    target: str
    request_id: str


class AuditList(msgspec.Struct):
    """Entries of the audit, oldest first; `next` is the `after` of the next page."""

    entries: list[AuditEntry]
    next: int | None = None


class MeanEstimate(msgspec.Struct, omit_defaults=True):
    """A mean reward per decision, and the ends of its 95 % interval; null where an end is not known."""

    mean: float
    ci95: tuple[float | None, float | None]
    effective_sample_size: float | None = None


class ShadowResponse(msgspec.Struct):
    """A shadow policy, and what it would have earned.

    It counts the outcomes of `n` decisions since the policy in force decides: those with a propensity, up to event
    `upto_event`; `lag` events are not counted yet. `live` is what these decisions earned. `difference` is that of the
    two, decision by decision. `agreement` is the share of decisions in which the shadow chose the same. Where there is
    no `estimate`, `why` says why.
    """

    policy: str
    since: datetime | None
    since_event: int
    upto_event: int
    lag: int
    n: int
    agreement: float | None
    estimate: MeanEstimate | None = None
    live: MeanEstimate | None = None
    difference: MeanEstimate | None = None
    why: str | None = None


class DeploymentResponse(msgspec.Struct):
    """A deployment: its specification and its current state; `details` has what only its family has.

    `replay` says how far a replay of its journal is, while there is one.
    """

    name: str
    status: str
    created_at: datetime
    policy: str
    spec: dict[str, Any]
    parameters: dict[str, Any] | None = None
    arms: list[Any] | None = None
    round: int | None = None
    n_events: int | None = None
    n_pending: int | None = None
    n_units: int | None = None
    details: dict[str, Any] | None = None
    shadows: list[ShadowResponse] | None = None
    replay: ReplayView | None = None


class DeploymentList(msgspec.Struct):
    """Deployments in the order of their names; `next` is the `after` of the next page."""

    deployments: list[DeploymentResponse]
    next: str | None = None


class MemberResponse(msgspec.Struct):
    """A process that serves the store: where others reach it, and the deployments that it owns.

    It is `ready` when it takes deployments over; `expired` when it has not reported for a while.
    """

    id: str
    address: str
    ready: bool
    expired: bool
    deployments: list[str]


class MemberList(msgspec.Struct):
    """The processes that serve the store; none, where it is one alone."""

    members: list[MemberResponse]


class LoggedDecision(msgspec.Struct):
    """A decision in the journal, with its outcome if there is one; `request` is what it was decided on.

    `provisional`: after a change of driftwise's code, it was made from the state that the code before had left.
    """

    id: int
    decided_at: datetime
    action: Action
    propensity: float | None
    request: dict[str, Any]
    unit: str | None = None
    sticky: bool = False
    override: bool = False
    provisional: bool = False
    outcome: dict[str, Any] | None = None
    status: str = "pending"
    outcome_at: datetime | None = None


class DecisionList(msgspec.Struct):
    """Decisions, latest first; `next` is the `before` of the next page."""

    decisions: list[LoggedDecision]
    next: int | None = None


class Explanation(msgspec.Struct):
    """What the policy knew when it decided, from a replay of the journal.

    `arms` has for every arm, or for every row of features that was offered, what the policy knew of it: `estimate` (its
    mean reward), `index` (what it was ranked by), `low` and `high` (confidence bounds, or the central 95 % of the
    posterior), `count` (rewards that count) and `pending`, all in the units of rewards, and with budgets its mean
    `costs`. A number that the policy does not have, or that is infinite, is null. `share` is how often it is chosen
    with other random numbers. Restless arms have their `state`, `arm_type` and `activation_cost`, their `indices` in
    other states, the `transitions` counted from theirs, and `why` they were chosen or not. `reproduced` is whether a
    replay chooses the same action.
    """

    decision: LoggedDecision
    policy: str
    parameters: dict[str, Any]
    round: int
    window: dict[str, Any] | None
    arms: list[dict[str, Any]]
    reproduced: bool


class ArmKnowledge(msgspec.Struct, omit_defaults=True):
    """What the policy knows of an arm, in the units of rewards; null where it has no such number, or it is infinite.

    `estimate` is the mean reward it believes in, `index` what it ranks by, `low` and `high` are confidence bounds or
    the central 95 % of a posterior, `count` is how many rewards count, `pending` how many decisions are under way.
    """

    arm: Any
    estimate: float | None
    index: float | None
    low: float | None
    high: float | None
    count: float | None
    pending: float | None
    costs: dict[str, float | None] | None = None


class SummaryResponse(msgspec.Struct):
    """What the policy knows of every arm now, or of every row of features in the `request` of the latest decision."""

    name: str
    computed_at: datetime
    n_events: int
    round: int
    request: dict[str, Any]
    arms: list[ArmKnowledge]


class Verification(msgspec.Struct):
    """Whether the live state is identical, bit for bit, to that of a replay of the journal from its origin.

    That is its first event, or the state that has taken the place of events that were dropped.
    """

    identical: bool
    n_events: int
    seconds: float


class EraseUnitResponse(msgspec.Struct):
    """How many decisions of the unit there were in the journal, and in the archive."""

    n_decisions: int
    n_archived: int


class DeletionResponse(msgspec.Struct):
    """A deployment that was deleted; its events are dropped in the background."""

    name: str
    n_events: int


class SnapshotResponse(msgspec.Struct):
    """A snapshot: the number of its last event (-1 without events) and its size."""

    event: int
    bytes: int


class Statistics(msgspec.Struct):
    """What the dashboard draws of a deployment: see `monitor`. `never_chosen` lists arms without a decision."""

    name: str
    status: str
    computed_at: datetime
    n_pending: int
    reward_window: float | None
    details: dict[str, Any]
    monitor: StatsView
    never_chosen: list[str]


class ErrorBody(msgspec.Struct):
    """Problem details (RFC 9457). `code` is for programs, `detail` says what was wrong with this request."""

    type: str
    title: str
    status: int
    detail: str
    code: str
