"""What is sent and what is answered, as types: decoding is validation, and the OpenAPI document is made of them."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}\Z", description="Letters, digits, `_`, `.` and `-`.")]
ArmName = Annotated[str, Meta(min_length=1, max_length=100)] | Annotated[int, Meta(ge=0, lt=2**53)]
Number = Annotated[float, Meta(ge=-1e15, le=1e15)]
Count = Annotated[int, Meta(ge=1, le=10**6)]
Seconds = Annotated[float, Meta(gt=0, le=10**9)]
Row = Annotated[list[Number], Meta(min_length=1, max_length=10_000)]
Label = Annotated[str, Meta(min_length=1, max_length=100)]
Amounts = Annotated[dict[Label, Number], Meta(min_length=1, max_length=100)]
Parameters = Annotated[dict[str, Number | str], Meta(max_length=50)]
Id = Annotated[int, Meta(ge=0, lt=2**53, description="The id a decision was answered with.")]
Unit = Annotated[str, Meta(min_length=1, max_length=200)]
Matrix = Annotated[list[Row], Meta(min_length=1, max_length=1000)]
MOST_ITEMS = 1000
MOST_ARMS = 1000


class Window(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How far back a policy looks: `rounds`, or `seconds` of the clock, of which the policy tells `rounds` apart."""

    rounds: Count | None = None
    seconds: Seconds | None = None


class Box(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag="box"):
    """All points between two."""

    low: Row
    high: Row


class Ball(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag="ball"):
    """All points no further than `radius` from `centre`."""

    centre: Row
    radius: Annotated[float, Meta(gt=0, le=1e15)]


class Simplex(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag="simplex"):
    """All shares of a total."""

    size: Annotated[int, Meta(ge=1, le=10_000)]
    total: Annotated[float, Meta(gt=0, le=1e15)] = 1.0


class Settings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A deployment: what decides, between what, and what becomes of rewards.

    `policy` is a name, or `name:param=value,...` as everywhere in driftwise; `driftwise policies` lists them. What it
    chooses between is said as to `driftwise.Agent`: `arms` or `n_arms`, `features`, `context`, `slate`, `budgets`.
    """

    name: Name
    policy: Annotated[str, Meta(min_length=1, max_length=500)]
    parameters: Parameters = {}
    window: Window | None = None
    arms: (
        Annotated[list[ArmName], Meta(min_length=1, max_length=MOST_ARMS)]
        | Annotated[dict[Label, Row], Meta(min_length=1, max_length=MOST_ARMS)]
        | None
    ) = None
    n_arms: Annotated[int, Meta(ge=1, le=MOST_ARMS)] | None = None
    features: Annotated[int, Meta(ge=1, le=1000)] | None = None
    context: Annotated[int, Meta(ge=1, le=1000)] | None = None
    slate: Annotated[int, Meta(ge=1, le=MOST_ARMS)] | None = None
    budgets: Amounts | None = None
    most: Amounts | None = None
    overspend: bool = False
    domain: Annotated[list[Box | Ball | Simplex], Meta(min_length=1, max_length=100)] | None = None
    constraints: Annotated[int, Meta(ge=0, le=1000)] | None = None
    start: Row | None = None
    reward_range: tuple[Number, Number] | None = (0.0, 1.0)
    noise: Annotated[float, Meta(gt=0, le=1e9)] = 0.5
    horizon: Annotated[int, Meta(ge=0, le=10**12)] = 0
    seed: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    max_pending: Count = 100_000
    reward_window: Seconds | None = None
    default_reward: Number = 0.0
    default_costs: Amounts | None = None
    sticky: bool = False


class Changes(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What can be changed. A new policy, parameters or window mean that the journal is replayed into the new policy."""

    policy: Annotated[str, Meta(min_length=1, max_length=500)] | UnsetType = UNSET
    parameters: Parameters | UnsetType = UNSET
    window: Window | UnsetType | None = UNSET
    budgets: Amounts | UnsetType = UNSET
    horizon: Annotated[int, Meta(ge=1, le=10**12)] | UnsetType = UNSET
    max_pending: Count | UnsetType = UNSET
    reward_window: Seconds | UnsetType | None = UNSET
    default_reward: Number | UnsetType = UNSET
    default_costs: Amounts | UnsetType = UNSET
    sticky: bool | UnsetType = UNSET


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A decision to make. What must be shown was said when the deployment was made; bare arms need nothing.

    `actions` is a row of features per action, or per arm by name; `context` a vector; `unit` who is to keep its arm.
    """

    actions: Matrix | Annotated[dict[Label, Row], Meta(min_length=1, max_length=1000)] | None = None
    context: Row | None = None
    unit: Unit | None = None


class AskedMany(msgspec.Struct, forbid_unknown_fields=True):
    """Several decisions, all made or none."""

    decisions: Annotated[list[Asked], Meta(min_length=1, max_length=MOST_ITEMS)]


class Decision(msgspec.Struct):
    """What was chosen. `propensity` is null where the policy cannot tell, `action` where it is best to do nothing."""

    id: Id
    action: Any
    propensity: float | None
    at: float
    held: bool = False
    budgets: dict[str, float] | None = None


class Decisions(msgspec.Struct):
    """Several decisions, in the order asked."""

    decisions: list[Decision]


class Told(msgspec.Struct, forbid_unknown_fields=True):
    """What came of a decision: a `reward`; for a slate `rewards`, one per item; with budgets `costs` too.

    For a point the `gradient` of its loss and, with constraints, their `values` and `jacobian`.
    """

    id: Id
    reward: Number | None = None
    rewards: Annotated[list[Number], Meta(min_length=1, max_length=1000)] | None = None
    costs: Amounts | Number | None = None
    gradient: Row | None = None
    values: Annotated[list[Number], Meta(max_length=1000)] | None = None
    jacobian: Annotated[list[Row], Meta(max_length=1000)] | None = None
    loss: Number | None = None


class ToldMany(msgspec.Struct, forbid_unknown_fields=True):
    """Several outcomes. Each is answered by itself."""

    outcomes: Annotated[list[Told], Meta(min_length=1, max_length=MOST_ITEMS)]


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


class Which(msgspec.Struct, forbid_unknown_fields=True):
    """A decision."""

    id: Id


class NewArm(msgspec.Struct, forbid_unknown_fields=True):
    """An arm to add; with its features where the others have them."""

    name: ArmName
    features: Row | None = None


class OldArm(msgspec.Struct, forbid_unknown_fields=True):
    """An arm to retire."""

    name: ArmName


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """A key to make."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[list[str], Meta(min_length=1, max_length=4)]
    expires_in: Seconds | None = None
    deployments: Annotated[list[Name], Meta(min_length=1, max_length=100)] | None = None


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

    `arms` tells for every arm what the policy keeps of it, with its `mean`, `bonus` or `posterior` where it has them,
    and `share`: how often it would have been chosen with another luck. `again` is whether a replay chooses the same.
    """

    decision: Recorded
    policy: str
    parameters: dict[str, Any]
    round: int
    window: dict[str, Any] | None
    arms: list[dict[str, Any]]
    shared: dict[str, Any]
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
    """What a page draws of a deployment: see `monitor`."""

    name: str
    status: str
    now: float
    pending: int
    reward_window: float | None
    budgets: dict[str, dict[str, float]] | None
    monitor: dict[str, Any]


class Problem(msgspec.Struct):
    """Why a request was refused: a code for programs and a sentence for people."""

    code: str
    error: str
