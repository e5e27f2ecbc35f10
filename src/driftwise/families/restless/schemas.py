"""Requests and outcomes of restless arms in JSON, and what is answered with a decision."""

from typing import Annotated

import msgspec
from msgspec import Meta

from driftwise.core.fields import MAX_ARMS, ByItem, Label, NArms, Number
from driftwise.core.schemas import ChangeFields, Fields
from driftwise.families.restless.fields import StateName

ArmStates = (
    Annotated[list[StateName | None], Meta(min_length=1, max_length=MAX_ARMS)]
    | Annotated[dict[Label, StateName | None], Meta(max_length=MAX_ARMS)]
)


class RestlessRequest(Fields):
    """`states` is the state of every arm, in their order or by name."""

    states: ArmStates | None = None


class RestlessFields(Fields):
    """`states` are those that arms went to, in the order they had at the decision or by name, null where unknown.

    `rewards` is what each arm earned, where the policy learns from that.
    """

    states: ArmStates | None = None
    rewards: ByItem | None = None


class RestlessArmOptions(Fields):
    """The `arm_type` of an arm that is added, and its `activation_cost`, where others have them."""

    arm_type: Label | None = None
    activation_cost: Number | None = None


class RestlessChanges(ChangeFields):
    """`n_active` is how many arms are activated at a time."""

    n_active: NArms | None = None


class RankedArm(msgspec.Struct):
    """One arm at a decision: its state and index, whether it is to be activated, and why."""

    arm: str | int | float
    state: str | int | float
    index: float | None
    chosen: bool
    why: str


class RestlessAnswer(Fields):
    """`ranking` has the arms to activate, and the next in line, should one of them not be reached."""

    ranking: list[RankedArm] | None = None
