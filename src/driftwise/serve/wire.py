"""What is sent, as types: decoding is validation, and the OpenAPI document is made of them. `answers` has the rest."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from driftwise.serve.words import (
    MOST_ARMS,
    MOST_ITEMS,
    Amounts,
    ArmName,
    ByArm,
    Classes,
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
    StateName,
    StateNames,
    StateRewards,
    Structure,
    Unit,
)


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
    chooses between is said as to `driftwise.Agent`: `arms` or `n_arms`, `features`, `context`, `slate`, `budgets`; for
    points `domain`; for arms that move on their own `activate`, `states`, `rewards`, and what is known of them. With
    `draws`, the propensity of an arm is counted where the policy cannot tell it.
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
    reserve: Literal["maximum", "estimate"] | None = None
    overspend: bool = False
    domain: Annotated[list[Box | Ball | Simplex], Meta(min_length=1, max_length=100)] | None = None
    constraints: Annotated[int, Meta(ge=0, le=1000)] | None = None
    start: Row | None = None
    activate: Annotated[int, Meta(ge=1, le=MOST_ARMS)] | None = None
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


class Changes(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What can be changed. For a policy, parameters, window or draws the journal is replayed into the new policy."""

    policy: Annotated[str, Meta(min_length=1, max_length=500)] | UnsetType = UNSET
    parameters: Parameters | UnsetType = UNSET
    window: Window | UnsetType | None = UNSET
    draws: Draws | UnsetType = UNSET
    budgets: Amounts | UnsetType = UNSET
    horizon: Annotated[int, Meta(ge=1, le=10**12)] | UnsetType = UNSET
    activate: Annotated[int, Meta(ge=1, le=MOST_ARMS)] | UnsetType = UNSET
    max_pending: Count | UnsetType = UNSET
    reward_window: Seconds | UnsetType | None = UNSET
    default_reward: Number | UnsetType = UNSET
    default_costs: Amounts | UnsetType = UNSET
    sticky: bool | UnsetType = UNSET


class Held(msgspec.Struct, forbid_unknown_fields=True):
    """What was chosen elsewhere: an arm, or several, and the probability with which, if that is known."""

    action: ArmName | Annotated[list[ArmName], Meta(min_length=1, max_length=MOST_ARMS)]
    propensity: Annotated[float, Meta(gt=0, le=1)] | None = None


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A decision to make. What must be shown was said when the deployment was made; bare arms need nothing.

    `actions` is a row of features per action, or per arm by name; `context` a vector; `states` the state of every arm
    that moves on its own, in their order or by name; `unit` who is to keep its arm. `held` is what was done already, in
    a log of the past or against advice: it is recorded and learned from in place of the policy's own choice.
    """

    actions: Matrix | Annotated[dict[Label, Row], Meta(min_length=1, max_length=1000)] | None = None
    context: Row | None = None
    unit: Unit | None = None
    states: (
        Annotated[list[StateName], Meta(min_length=1, max_length=MOST_ARMS)]
        | Annotated[dict[Label, StateName], Meta(min_length=1, max_length=MOST_ARMS)]
        | None
    ) = None
    held: Held | None = None


class AskedMany(msgspec.Struct, forbid_unknown_fields=True):
    """Several decisions, all made or none."""

    decisions: Annotated[list[Asked], Meta(min_length=1, max_length=MOST_ITEMS)]


class Told(msgspec.Struct, forbid_unknown_fields=True):
    """What came of a decision: a `reward`; for a slate `rewards`, one per item; with budgets `costs` too.

    For a point the `gradient` of its loss and, with constraints, their `values` and `jacobian`. For arms that move the
    `states` they went to, in the order they had at the decision or by name, and perhaps what each earned, `rewards`,
    where the policy learns from it; an arm left out, or null, teaches nothing.
    """

    id: Id
    reward: Number | None = None
    rewards: (
        Annotated[list[Number | None], Meta(min_length=1, max_length=MOST_ARMS)]
        | Annotated[dict[Label, Number | None], Meta(max_length=MOST_ARMS)]
        | None
    ) = None
    costs: Amounts | Number | None = None
    gradient: Row | None = None
    values: Annotated[list[Number], Meta(max_length=1000)] | None = None
    jacobian: Annotated[list[Row], Meta(max_length=1000)] | None = None
    loss: Number | None = None
    states: (
        Annotated[list[StateName | None], Meta(min_length=1, max_length=MOST_ARMS)]
        | Annotated[dict[Label, StateName | None], Meta(max_length=MOST_ARMS)]
        | None
    ) = None


class ToldMany(msgspec.Struct, forbid_unknown_fields=True):
    """Several outcomes. Each is answered by itself."""

    outcomes: Annotated[list[Told], Meta(min_length=1, max_length=MOST_ITEMS)]


class Which(msgspec.Struct, forbid_unknown_fields=True):
    """A decision."""

    id: Id


class NewArm(msgspec.Struct, forbid_unknown_fields=True):
    """An arm to add; with its features where the others have them, or its class and what it costs to activate."""

    name: ArmName
    features: Row | None = None
    arm_class: Label | None = None
    activation_cost: Number | None = None


class OldArm(msgspec.Struct, forbid_unknown_fields=True):
    """An arm to retire."""

    name: ArmName


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """A key to make."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[list[str], Meta(min_length=1, max_length=4)]
    expires_in: Seconds | None = None
    deployments: Annotated[list[Name], Meta(min_length=1, max_length=100)] | None = None
