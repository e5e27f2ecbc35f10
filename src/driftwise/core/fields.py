"""Field types shared by problem values and by the requests of the service: names, numbers and their limits."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

MAX_ITEMS = 1000
MAX_ARMS = 1000

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}\Z", description="Letters, digits, `_`, `.` and `-`.")]
ArmName = (
    Annotated[str, Meta(min_length=1, max_length=100)]
    | Annotated[int, Meta(ge=0, lt=2**53)]
    | Annotated[float, Meta(ge=-1e15, le=1e15)]
)
Number = Annotated[float, Meta(ge=-1e15, le=1e15)]
Count = Annotated[int, Meta(ge=1, le=10**6)]
Horizon = Annotated[int, Meta(ge=0, le=10**12, description="Rounds; 0 where nobody knows.")]
Noise = Annotated[float, Meta(gt=0, le=1e9)]
Samples = Annotated[int, Meta(ge=0, le=10_000)]
Seconds = Annotated[float, Meta(gt=0, le=10**9)]
Row = Annotated[list[Number], Meta(min_length=1, max_length=10_000)]
Label = Annotated[str, Meta(min_length=1, max_length=100)]
Amounts = Annotated[dict[Label, Number], Meta(min_length=1, max_length=100)]
Parameters = Annotated[dict[str, Number | str], Meta(max_length=50)]
Id = Annotated[int, Meta(ge=0, lt=2**53, description="The id a decision was answered with.")]
Unit = Annotated[str, Meta(min_length=1, max_length=200)]
Matrix = Annotated[list[Row], Meta(min_length=1, max_length=1000)]
NArms = Annotated[int, Meta(ge=1, le=MAX_ARMS)]
ArmNames = Annotated[Sequence[ArmName], Meta(min_length=1, max_length=MAX_ARMS)]
RowsByArm = Annotated[dict[Label, Row], Meta(min_length=1, max_length=MAX_ARMS)]
ByItem = (
    Annotated[list[Number | None], Meta(min_length=1, max_length=MAX_ARMS)]
    | Annotated[dict[Label, Number | None], Meta(max_length=MAX_ARMS)]
)
