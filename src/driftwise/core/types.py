"""What passes between policies, worlds and the loop."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PerArm = Annotated[NDArray[Any], "one row per arm"]
ArmIds = Annotated[NDArray[Any], "holds arm numbers; negative means empty"]
Shared = Annotated[NDArray[Any], "the same whatever the arms"]
Cache = Annotated[NDArray[Any], "can be computed from the rest; starts over when the arms change"]
PerFeature = Annotated[NDArray[Any], "the last axis runs over features"]
PerFeaturePair = Annotated[NDArray[Any], "the last two axes run over features"]
Scratch = Annotated[NDArray[Any], "room to work in: holds nothing from one call to the next, and is not saved"]


# What a policy chooses. A policy for bare arms also plays worlds with features: it takes
# the rows for arms and does not look at them.
FAMILIES = {
    "armed": "one arm, without features",
    "features": "one row of a matrix of features",
    "slates": "several items at once",
}


class Problem(NamedTuple):
    """What a policy may know before the first round.

    Rewards lie in [low, high]; for unbounded ones `noise` is their standard deviation around the mean.
    `horizon` is 0 when nobody knows how long the run will be. Where choices are described by features, `dim` is how
    many there are; where several items are chosen at once, `slate` is how many.
    """

    n_arms: int
    low: float = 0.0
    high: float = 1.0
    noise: float = 0.5
    horizon: int = 0
    dim: int = 0
    slate: int = 0

    @property
    def family(self) -> str:
        """What kind of choices these are: one of FAMILIES."""
        return "slates" if self.slate else "features" if self.dim else "armed"

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def span(self) -> float:
        """The width that bonuses are scaled by: the range, or that of a bounded reward with the same noise."""
        return self.high - self.low if self.bounded else 2.0 * self.noise


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


class Trace(NamedTuple):
    """A block of rounds as they were played, from round `start` on; slates have a row of items per round."""

    start: int
    actions: NDArray[Any]
    rewards: Floats


def new_trace(start: int, rounds: int, slate: int = 0) -> Trace:
    """An empty trace for `rounds` rounds of single actions, or of slates."""
    shape = (rounds, slate) if slate else (rounds,)
    return Trace(int(start), np.full(shape, -1, np.int64), np.full(rounds, np.nan))


class About(NamedTuple):
    """What `driftwise policies` says of a policy: what must be known in advance, its guarantee, where it is from.

    `drifts` is False when the guarantee assumes a world that stands still. `family` is what it chooses between.
    """

    needs: str
    bound: str
    paper: str
    drifts: bool = True
    family: str = "armed"
