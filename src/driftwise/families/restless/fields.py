"""Field types of restless problems, requests and outcomes."""

from typing import Annotated, Literal

from msgspec import Meta

from driftwise.core.fields import MAX_ARMS, Label, Number

MAX_STATES = 100

# What is known of each arm is a list in their order, or a mapping from their names; in JSON, where names are text, arms
# and states that are only counted are named by their numbers as text.

StateName = Label | Annotated[int, Meta(ge=0, lt=MAX_STATES)]
StateNames = (
    Annotated[int, Meta(ge=1, le=MAX_STATES)] | Annotated[list[Label], Meta(min_length=1, max_length=MAX_STATES)]
)
_ByState = Annotated[dict[Label, Number], Meta(max_length=MAX_STATES)]
_InOrder = Annotated[list[Number], Meta(min_length=1, max_length=MAX_STATES)]
StateRewards = Annotated[
    _InOrder | Annotated[dict[Label, Number | _InOrder | _ByState], Meta(min_length=1, max_length=MAX_ARMS)],
    Meta(description="A number per state, in their order or by name; or one such for each type."),
]
ArmTypes = Annotated[
    Literal["own"]
    | Annotated[list[Label], Meta(min_length=1, max_length=MAX_ARMS)]
    | Annotated[dict[Label, Label], Meta(min_length=1, max_length=MAX_ARMS)],
    Meta(description="The type of each arm, in their order or by name: arms of a type move alike; `own`: no two do."),
]
ByArm = (
    Number
    | Annotated[list[Number], Meta(min_length=1, max_length=MAX_ARMS)]
    | Annotated[dict[Label, Number], Meta(min_length=1, max_length=MAX_ARMS)]
)

Share = Annotated[float, Meta(ge=0, le=1)]
_Pair = Annotated[list[StateName | Share], Meta(max_length=MAX_STATES)]  # a row of a matrix, or an action and a state
_List = Annotated[list[StateName | _Pair], Meta(max_length=2 * MAX_STATES)]
_Chances = Annotated[dict[Label, Share], Meta(max_length=MAX_STATES)]
_Matrix = Annotated[dict[Label, Share | _List | _Chances], Meta(max_length=MAX_STATES)]
_Drift = Annotated[float, Meta(ge=0, le=2)]
_Matrices = Annotated[dict[Label, _Drift | _List | _Matrix], Meta(max_length=MAX_STATES)]
Transitions = Annotated[
    dict[Label, _Drift | _List | _Matrices],
    Meta(
        min_length=1,
        max_length=MAX_ARMS,
        description=(
            "What is known of how arms move: `passive` and `active` map states to chances of what follows, or list "
            "what can follow; or each is a matrix of chances. `still` lists what does not drift: `passive`, `active`, "
            "or pairs of one and a state; `drift` is the most that a row moves from one episode to the next. Or one "
            "such for each class."
        ),
    ),
]
