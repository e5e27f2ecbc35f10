"""What passes between policies, worlds and the loop."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftwise.errors import ParameterError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Array = NDArray[Any]


class Record(Protocol):
    """A NamedTuple: parameters of a policy, a state, or a tape."""

    @property
    def _fields(self) -> tuple[str, ...]:
        """The names of its fields, in order."""

    def __iter__(self) -> Iterator[Any]:
        """The values of its fields, in order."""

    def _asdict(self) -> dict[str, Any]:
        """The values of its fields, by name."""

    def _replace(self, *args: Any, **changes: Any) -> Self:
        """The same with other values in some fields."""


State = Record  # a NamedTuple of arrays, and of such tuples
RecordT = TypeVar("RecordT", bound=Record)


def with_fields(record: RecordT, **changes: Any) -> RecordT:
    """The same NamedTuple with other values in some fields."""
    return record._replace(**changes)


PerArm = Annotated[NDArray[Any], "one row per arm"]
ArmIds = Annotated[NDArray[Any], "holds arm numbers; -1 means empty, and -2 - k arm k whose reward is under way"]
Shared = Annotated[NDArray[Any], "the same whatever the arms"]
Derived = Annotated[NDArray[Any], "follows from the problem and the parameters; a changed problem brings its own"]
Cache = Annotated[NDArray[Any], "can be computed from the rest; starts over when the arms or the problem change"]
PerRound = Annotated[NDArray[Any], "a ring: the row of round t is t modulo its length; the state has a `clock`"]
PerClass = Annotated[NDArray[Any], "one row per class of arms"]
PerFeature = Annotated[NDArray[Any], "the last axis runs over features"]
PerFeaturePair = Annotated[NDArray[Any], "the last two axes run over features"]
Scratch = Annotated[NDArray[Any], "room to work in: holds nothing from one call to the next, and is not saved"]


class Problem(NamedTuple):
    """What a policy may know before the first round.

    Rewards lie in [low, high]. `noise` is their standard deviation around the mean, and `unit` how large a mean can be,
    whatever its sign; both are in the unit of rewards, and 0 where nobody says: then they follow from the range, and
    without one policies with features learn them (`numerics/reward_scale.py`), the others refuse or do without.
    `horizon` is 0 when nobody knows how long the run will be. Where choices are described by features, `dim` is how
    many there are; where several items are chosen at once, `slate` is how many. A point has `dim` coordinates.
    `family` is the name of the problem's family, and `structure` what only that family has.
    """

    n_arms: int
    low: float = 0.0
    high: float = 1.0
    noise: float = 0.0
    horizon: int = 0
    dim: int = 0
    slate: int = 0
    unit: float = 0.0
    structure: Any = ()
    family: str = "multi-armed"

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def spread(self) -> float:
        """The noise, or half the range; 0 where neither is known."""
        return self.noise or (0.5 * (self.high - self.low) if self.bounded else 0.0)

    @property
    def size(self) -> float:
        """The unit, or the largest reward of the range, whatever its sign; 0 where neither is known."""
        return self.unit or (max(abs(self.low), abs(self.high)) if self.bounded else 0.0)

    @property
    def width(self) -> float:
        """The range, or that of a bounded reward with the same noise; 0 where neither is known."""
        return self.high - self.low if self.bounded else 2.0 * self.noise

    @property
    def span(self) -> float:
        """The width, for those who must know it: bonuses are scaled by it."""
        if not self.width:
            raise ParameterError(
                "nothing is known of how large rewards are: give reward_range=(low, high), "
                "or noise=, the standard deviation of a reward around its mean"
            )
        return self.width


class Decision(NamedTuple):
    """One choice and all that was known of it. `rng` is its own random stream, derived from (seed, t): 64 bits.

    `context` is what describes the action chosen: its row of features, or nothing.
    """

    t: int
    action: Any
    propensity: float
    context: Any
    rng: np.uint64 | int

    @property
    def id(self) -> int:
        """What a reward that comes later is joined by: the round of the decision."""
        return self.t

    def __repr__(self) -> str:
        return f"Decision(id={self.id}, action={self.action!r}, propensity={self.propensity:.4g})"

    def _repr_html_(self) -> str:
        from driftwise.display.html import card, table
        from driftwise.display.text import number

        head, row = ["id", "action", "propensity"], [self.id, self.action, number(self.propensity)]
        if len(self.context):
            head.append("features")
            row.append(
                ", ".join(map(number, np.ravel(self.context)[:8])) + (", …" if np.size(self.context) > 8 else "")
            )
        return card("Decision", table(head, [row], left=2))


#: A decision from a tuple of its fields: a third of the time of `Decision(...)`, which is a Python function.
new_decision: Callable[[tuple[int, Any, float, Any, np.uint64 | int]], Decision] = partial(tuple.__new__, Decision)


class Outcome(NamedTuple):
    """What came of a decision."""

    reward: float


class SlateOutcome(NamedTuple):
    """What came of a slate: the reward of each item, in the order of the slate, and their sum."""

    reward: float
    items: Floats


class Spent(NamedTuple):
    """What came of a decision with budgets: its reward, and its cost in each resource."""

    reward: float
    costs: Floats


class Slopes(NamedTuple):
    """What came of a point x: the reward -f(x), the gradient of f, and of each constraint g its value and gradient."""

    reward: float
    gradient: Floats
    values: Floats
    jacobian: Floats


class Moves(NamedTuple):
    """What came of activating some arms of many: what each arm earned, and the state it went to.

    `reward` is what the slot counts for in all. A state below 0 has not been seen: nothing can be learned of that arm.
    """

    reward: float
    rewards: Floats
    states: Ints


class Trace(NamedTuple):
    """A block of rounds as they were played, from round `start` on.

    Slates have a row of items per round, points a row of coordinates.
    """

    start: int
    actions: NDArray[Any]
    rewards: Floats


def new_trace(start: int, rounds: int, slate: int = 0, point: int = 0) -> Trace:
    """An empty trace for `rounds` rounds of single actions, of slates, or of points."""
    width = slate or point
    shape = (rounds, width) if width else (rounds,)
    actions = np.full(shape, np.nan) if point else np.full(shape, -1, np.int64)
    return Trace(int(start), actions, np.full(rounds, np.nan))


class About(NamedTuple):
    """What `driftwise policies` says of a policy: what must be known in advance, its guarantee, where it is from.

    `drifts` is False when the guarantee assumes a world that stands still. `family` is what it chooses between.
    `learns_rewards` is False for a policy that learns from the states of its arms alone. `disjoint` is True for one
    that has a regression per arm where arms have parameters of their own: others take those for one long parameter.
    """

    needs: str
    bound: str
    paper: str
    drifts: bool = True
    family: str = "multi-armed"
    learns_rewards: bool = True
    disjoint: bool = False
