"""Schemas of requests: decoding validates, and the OpenAPI document is generated from them."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from driftwise.service.http.schemas.fields import (
    MAX_ARMS,
    MAX_ITEMS,
    Amounts,
    ArmName,
    Count,
    Draws,
    Id,
    Label,
    Matrix,
    Name,
    Number,
    Parameters,
    Row,
    Seconds,
    Unit,
)
from driftwise.families.restless.fields import (
    ArmTypes as Classes,
)
from driftwise.families.restless.fields import (
    ByArm,
    StateName,
    StateNames,
    StateRewards,
)
from driftwise.families.restless.fields import (
    Transitions as Structure,
)


class WindowSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The window of a policy: `rounds`, or `seconds` of the clock in as many steps as `rounds`."""

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
    chooses between is said as to `driftwise.Agent`: `arms` or `n_arms`, `features`, `context`, `slate`, `budgets`; for
    points `domain`; for arms that move on their own `activate`, `states`, `rewards`, and what is known of them. With
    `draws`, the propensity of an arm is counted where the policy cannot tell it.
    """

    name: Name
    policy: Annotated[str, Meta(min_length=1, max_length=500)]
    parameters: Parameters = {}
    window: WindowSpec | None = None
    arms: (
        Annotated[list[ArmName], Meta(min_length=1, max_length=MAX_ARMS)]
        | Annotated[dict[Label, Row], Meta(min_length=1, max_length=MAX_ARMS)]
        | None
    ) = None
    n_arms: Annotated[int, Meta(ge=1, le=MAX_ARMS)] | None = None
    features: Annotated[int, Meta(ge=1, le=1000)] | None = None
    context: Annotated[int, Meta(ge=1, le=1000)] | None = None
    slate: Annotated[int, Meta(ge=1, le=MAX_ARMS)] | None = None
    budgets: Amounts | None = None
    most: Amounts | None = None
    reserve: Literal["maximum", "estimate"] | None = None
    overspend: bool = False
    domain: Annotated[list[Box | Ball | Simplex], Meta(min_length=1, max_length=100)] | None = None
    constraints: Annotated[int, Meta(ge=0, le=1000)] | None = None
    start: Row | None = None
    activate: Annotated[int, Meta(ge=1, le=MAX_ARMS)] | None = None
    states: StateNames | None = None
    rewards: StateRewards | None = None
    classes: Classes | None = None
    structure: Structure | None = None
    episode: Annotated[int, Meta(ge=0, le=10**9)] | None = None
    discount: Annotated[float, Meta(gt=0, lt=1)] | None = None
    activation_cost: ByArm | None = None
    ties: Literal["lot", "first"] | None = None
    reward_range: tuple[Number, Number] | None = (0.0, 1.0)
    noise: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    horizon: Annotated[int, Meta(ge=0, le=10**12)] = 0
    seed: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    max_pending: Count = 100_000
    draws: Draws = 0
    reward_window: Seconds | None = None
    default_reward: Number = 0.0
    default_costs: Amounts | None = None
    sticky: bool = False


class ChangeRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Settings to change. A change of policy, parameters, window or draws replays the journal into the new policy."""

    policy: Annotated[str, Meta(min_length=1, max_length=500)] | UnsetType = UNSET
    parameters: Parameters | UnsetType = UNSET
    window: WindowSpec | UnsetType | None = UNSET
    draws: Draws | UnsetType = UNSET
    budgets: Amounts | UnsetType = UNSET
    horizon: Annotated[int, Meta(ge=1, le=10**12)] | UnsetType = UNSET
    activate: Annotated[int, Meta(ge=1, le=MAX_ARMS)] | UnsetType = UNSET
    max_pending: Count | UnsetType = UNSET
    reward_window: Seconds | UnsetType | None = UNSET
    default_reward: Number | UnsetType = UNSET
    default_costs: Amounts | UnsetType = UNSET
    sticky: bool | UnsetType = UNSET


class Override(msgspec.Struct, forbid_unknown_fields=True):
    """An action chosen outside the service: an arm, or several, and its propensity, if that is known."""

    action: ArmName | Annotated[list[ArmName], Meta(min_length=1, max_length=MAX_ARMS)]
    propensity: Annotated[float, Meta(gt=0, le=1)] | None = None


class DecideRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A request for a decision. The settings of the deployment say which fields it needs; multi-armed ones need none.

    `actions` is a row of features per action, or per arm by name; `context` a vector; `states` the state of every
    restless arm, in their order or by name; `unit` a unit that keeps its arm, with sticky=true. `override` is an
    action chosen outside, in a log of the past or against advice: it is recorded and learned from in place of the
    policy's own choice.
    """

    actions: Matrix | Annotated[dict[Label, Row], Meta(min_length=1, max_length=1000)] | None = None
    context: Row | None = None
    unit: Unit | None = None
    states: (
        Annotated[list[StateName], Meta(min_length=1, max_length=MAX_ARMS)]
        | Annotated[dict[Label, StateName], Meta(min_length=1, max_length=MAX_ARMS)]
        | None
    ) = None
    override: Override | None = None


class DecideManyRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Several decisions: all are made or none."""

    decisions: Annotated[list[DecideRequest], Meta(min_length=1, max_length=MAX_ITEMS)]


class LearnRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The outcome of a decision: a `reward`; for a slate `rewards`, one per item; with budgets `costs` too.

    For a point the `gradient` of its loss and, with constraints, their `values` and `jacobian`. For restless arms their
    next `states`, in the order they had at the decision or by name, and `rewards`, where the policy learns from them;
    nothing is learned of an arm that is missing or null.
    """

    id: Id
    reward: Number | None = None
    rewards: (
        Annotated[list[Number | None], Meta(min_length=1, max_length=MAX_ARMS)]
        | Annotated[dict[Label, Number | None], Meta(max_length=MAX_ARMS)]
        | None
    ) = None
    costs: Amounts | Number | None = None
    gradient: Row | None = None
    values: Annotated[list[Number], Meta(max_length=1000)] | None = None
    jacobian: Annotated[list[Row], Meta(max_length=1000)] | None = None
    loss: Number | None = None
    states: (
        Annotated[list[StateName | None], Meta(min_length=1, max_length=MAX_ARMS)]
        | Annotated[dict[Label, StateName | None], Meta(max_length=MAX_ARMS)]
        | None
    ) = None


class LearnManyRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Several outcomes. Each has a status of its own."""

    outcomes: Annotated[list[LearnRequest], Meta(min_length=1, max_length=MAX_ITEMS)]


class CancelRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A decision to cancel."""

    id: Id


class AddArmRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An arm to add, with its features, or its class and its activation cost, where the others have them."""

    name: ArmName
    features: Row | None = None
    arm_class: Label | None = None
    activation_cost: Number | None = None


class RetireArmRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An arm to retire."""

    name: ArmName


class CreateKeyRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An API key to create; `expires_in` is in seconds."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[list[str], Meta(min_length=1, max_length=4)]
    expires_in: Seconds | None = None
    deployments: Annotated[list[Name], Meta(min_length=1, max_length=100)] | None = None
