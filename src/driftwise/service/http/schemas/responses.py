"""What is answered, as types; the OpenAPI document is made of them."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from driftwise.service.deployments.stats.view import Report
from driftwise.service.http.schemas.fields import Id


class Ranked(msgspec.Struct):
    """An arm that moves, at a decision: its state, its index (null where the policy goes by none), and why."""

    arm: str | int
    state: str | int
    index: float | None
    chosen: bool
    why: str


class Decision(msgspec.Struct):
    """What was chosen. `propensity` is null where the policy cannot tell, `action` where it is best to do nothing.

    Where arms move on their own, `action` lists those to activate, and `ranking` says why: first those, then the next
    in line, by their indices.
    """

    id: Id
    action: Any
    propensity: float | None
    at: float
    held: bool = False
    budgets: dict[str, float] | None = None
    ranking: list[Ranked] | UnsetType = UNSET


class Decisions(msgspec.Struct):
    """Several decisions, in the order asked."""

    decisions: list[Decision]


class Learnt(msgspec.Struct):
    """What became of an outcome.

    `learned`: it counts. `duplicate`: it was told before, and counts once. `late`: the reward window had passed and the
    default was recorded. `stale`: recorded, but its round has left the policy's window. `ignored`: recorded, but its
    arm is gone. In a batch also, with an `error`: `unknown` (no such decision waits), `conflict` (another outcome is
    recorded) and `refused`.
    """

    id: int
    status: str
    error: str | None = None


class LearntMany(msgspec.Struct):
    """What became of several outcomes, in the order told."""

    outcomes: list[Learnt]


class Key(msgspec.Struct, omit_defaults=True):
    """A key. The `key` itself is told once, when it is made."""

    id: str
    name: str
    scopes: list[str]
    made: float
    expires: float | None = None
    deployments: list[str] | None = None
    key: str | None = None


class Keys(msgspec.Struct):
    """All keys that open something."""

    keys: list[Key]


class Described(msgspec.Struct):
    """A deployment as it is."""

    name: str
    status: str
    created: float
    policy: str
    settings: dict[str, Any]
    parameters: dict[str, Any] | None = None
    arms: list[Any] | None = None
    round: int | None = None
    events: int | None = None
    pending: int | None = None
    units: int | None = None
    budgets: dict[str, dict[str, float]] | None = None


class Listed(msgspec.Struct):
    """Deployments in the order of their names; `next` is the `after` of the next page."""

    deployments: list[Described]
    next: str | None = None


class Recorded(msgspec.Struct):
    """A decision as it stands in the journal, with its outcome if it has one."""

    id: int
    at: float
    action: Any
    propensity: float | None
    asked: dict[str, Any]
    unit: str | None = None
    held: bool = False
    outcome: dict[str, Any] | None = None
    status: str = "waiting"
    outcome_at: float | None = None


class Explained(msgspec.Struct):
    """A decision explained: what the policy knew then, and what it makes of it now.

    `arms` has for every arm, or for every row of features that was shown, what the policy knew of it: `estimate` (its
    mean reward), `index` (what it was ranked by), `low` and `high` (confidence bounds, or the central 95 % of the
    posterior), `count` (rewards that count) and `pending`, all in the units of rewards, and with budgets its mean
    `costs`. A number that the policy does not have, or that is infinite, is null. `share` is how often it would have
    been chosen with another luck. Arms that move have their `state`, `class` and `cost`, their `indices` in other
    states, the `moves` seen from theirs, and `why` they were chosen or not. `again` is whether a replay chooses the
    same.
    """

    decision: Recorded
    policy: str
    parameters: dict[str, Any]
    round: int
    window: dict[str, Any] | None
    arms: list[dict[str, Any]]
    again: bool


class Verified(msgspec.Struct):
    """Whether the live state is, bit for bit, that of a replay of the journal from the start."""

    equal: bool
    events: int
    seconds: float


class Saved(msgspec.Struct):
    """A snapshot that was taken."""

    event: int
    bytes: int


class Statistics(msgspec.Struct):
    """What a page draws of a deployment: see `monitor`. `never` are arms that were not chosen yet."""

    name: str
    status: str
    now: float
    pending: int
    reward_window: float | None
    budgets: dict[str, dict[str, float]] | None
    monitor: Report
    never: list[str]


class Problem(msgspec.Struct):
    """Why a request was refused: a code for programs and a sentence for people."""

    code: str
    error: str
