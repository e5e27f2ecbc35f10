"""What passes between policies, worlds and the loop."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.errors import ParameterError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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


# What a policy chooses. A policy for bare arms also plays worlds with features: it takes
# the rows for arms and does not look at them.
FAMILIES = {
    "armed": "one arm, without features",
    "features": "one row of a matrix of features",
    "slates": "several items at once",
    "budgets": "one arm or none, each spending from budgets",
    "convex": "a point of a convex set",
    "restless": "several arms that move on their own",
}


class Budgets(NamedTuple):
    """What may be spent of each resource over the whole run, in units in which one choice costs at most 1.

    Once the problem of an agent has changed on the way: what a whole run would spend at the pace of what was left.
    """

    amounts: Floats

    @property
    def family(self) -> str:
        """Its name in FAMILIES."""
        return "budgets"


class Restless(NamedTuple):
    """Arms that go from state to state on their own, and otherwise when activated: what is known of them beforehand.

    There are N arms in C classes, with S states. Arms of a class share their rewards and their two kernels: of an arm
    that is left alone (0) and of one that is activated (1). `core/restless.py` makes one and checks it.

    classes (N)            the class of each arm
    rewards (C, S)         what an arm earns in a slot, by the state that the slot leads to
    support (C, 2, S, S)   which transitions can happen
    kinds (C, 2, S)        of each row of a kernel: 0 known, 1 unknown and always the same, 2 drifting
    known (C, 2, S, S)     the rows that are known; the others are 0
    episode (1)            slots after which all arms start over; 0 when they never do
    discount (1)           of rewards, from slot to slot
    costs (N)              of activating each arm
    """

    classes: Ints
    rewards: Floats
    support: NDArray[np.bool_]
    kinds: Ints
    known: Floats
    episode: Ints
    discount: Floats
    costs: Floats

    @property
    def family(self) -> str:
        """Its name in FAMILIES."""
        return "restless"


SETTINGS: dict[str, Any] = {"budgets": Budgets, "restless": Restless}


class Problem(NamedTuple):
    """What a policy may know before the first round.

    Rewards lie in [low, high]. `noise` is their standard deviation around the mean, and `unit` how large a mean can be,
    whatever its sign; both are in the unit of rewards, and 0 where nobody says: then they follow from the range, and
    without one policies with features learn them (`kernels/reward_scale.py`), the others refuse or do without.
    `horizon` is 0 when nobody knows how long the run will be. Where choices are described by features, `dim` is how
    many there are; where several items are chosen at once, `slate` is how many. `setting` is what only some families
    have: `Budgets`, `Convex` or `Restless`. A point has `dim` coordinates.
    """

    n_arms: int
    low: float = 0.0
    high: float = 1.0
    noise: float = 0.0
    horizon: int = 0
    dim: int = 0
    slate: int = 0
    unit: float = 0.0
    setting: Any = ()

    @property
    def family(self) -> str:
        """What kind of choices these are: one of FAMILIES."""
        if self.setting:
            return str(self.setting.family)
        return "slates" if self.slate else "features" if self.dim else "armed"

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
    """One choice and all that was known of it. `rng` is its own random stream, derived from (seed, t).

    `context` is what describes the action chosen: its row of features, or nothing.
    """

    t: int
    action: Any
    propensity: float
    context: Any
    rng: Any

    @property
    def id(self) -> int:
        """What a reward that comes later is joined by: the round of the decision."""
        return self.t


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


def trace_for(problem: Problem, start: int, rounds: int) -> Trace:
    """An empty trace for what is chosen in this problem."""
    return new_trace(start, rounds, problem.slate, problem.dim if problem.family == "convex" else 0)


class About(NamedTuple):
    """What `driftwise policies` says of a policy: what must be known in advance, its guarantee, where it is from.

    `drifts` is False when the guarantee assumes a world that stands still. `family` is what it chooses between.
    `learns_rewards` is False for a policy that learns from the states of its arms alone.
    """

    needs: str
    bound: str
    paper: str
    drifts: bool = True
    family: str = "armed"
    learns_rewards: bool = True
