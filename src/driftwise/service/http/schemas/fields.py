"""Types of fields in requests: names, numbers and their limits."""

from typing import Annotated, Literal

from msgspec import Meta

MAX_ITEMS = 1000
MAX_ARMS = 1000
MAX_STATES = 100

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}\Z", description="Letters, digits, `_`, `.` and `-`.")]
ArmName = Annotated[str, Meta(min_length=1, max_length=100)] | Annotated[int, Meta(ge=0, lt=2**53)]
Number = Annotated[float, Meta(ge=-1e15, le=1e15)]
Count = Annotated[int, Meta(ge=1, le=10**6)]
Draws = Annotated[int, Meta(ge=0, le=10_000)]
Seconds = Annotated[float, Meta(gt=0, le=10**9)]
Row = Annotated[list[Number], Meta(min_length=1, max_length=10_000)]
Label = Annotated[str, Meta(min_length=1, max_length=100)]
Amounts = Annotated[dict[Label, Number], Meta(min_length=1, max_length=100)]
Parameters = Annotated[dict[str, Number | str], Meta(max_length=50)]
Id = Annotated[int, Meta(ge=0, lt=2**53, description="The id of a decision.")]
Unit = Annotated[str, Meta(min_length=1, max_length=200)]
Matrix = Annotated[list[Row], Meta(min_length=1, max_length=1000)]

# Restless arms. Values per arm are a list in their order, or a mapping from their names; in JSON, where names are text,
# arms and states without names are named by their numbers as text.

StateName = Label | Annotated[int, Meta(ge=0, lt=MAX_STATES)]
StateNames = (
    Annotated[int, Meta(ge=1, le=MAX_STATES)] | Annotated[list[Label], Meta(min_length=1, max_length=MAX_STATES)]
)
_ByState = Annotated[dict[Label, Number], Meta(max_length=MAX_STATES)]
_InOrder = Annotated[list[Number], Meta(min_length=1, max_length=MAX_STATES)]
StateRewards = Annotated[
    _InOrder | Annotated[dict[Label, Number | _InOrder | _ByState], Meta(min_length=1, max_length=MAX_ARMS)],
    Meta(description="A number per state, in their order or by name; or one such for each class."),
]
Classes = Annotated[
    Literal["own"]
    | Annotated[list[Label], Meta(min_length=1, max_length=MAX_ARMS)]
    | Annotated[dict[Label, Label], Meta(min_length=1, max_length=MAX_ARMS)],
    Meta(description="The class of each arm, in their order or by name: arms of a class move alike; `own`: no two do."),
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
_Kernel = Annotated[dict[Label, Share | _List | _Chances], Meta(max_length=MAX_STATES)]
_Kernels = Annotated[dict[Label, _List | _Kernel], Meta(max_length=MAX_STATES)]
Structure = Annotated[
    dict[Label, _List | _Kernels],
    Meta(
        min_length=1,
        max_length=MAX_ARMS,
        description=(
            "What is known of how arms move: `passive` and `active` map states to chances of what follows, or list "
            "what can follow; or each is a matrix of chances. `still` lists what does not drift: `passive`, `active`, "
            "or pairs of one and a state. Or one such for each class."
        ),
    ),
]
