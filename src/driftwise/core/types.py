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


class Problem(NamedTuple):
    """What a policy may know before the first round.

    Rewards lie in [low, high]; for unbounded ones `noise` is their standard deviation around the mean.
    `horizon` is 0 when nobody knows how long the run will be.
    """

    n_arms: int
    low: float = 0.0
    high: float = 1.0
    noise: float = 0.5
    horizon: int = 0

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def span(self) -> float:
        """The width that bonuses are scaled by: the range, or that of a bounded reward with the same noise."""
        return self.high - self.low if self.bounded else 2.0 * self.noise


class Decision(NamedTuple):
    """One choice and all that was known of it. `rng` is its own random stream, derived from (seed, t)."""

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


class Trace(NamedTuple):
    """A block of rounds as they were played, from round `start` on."""

    start: int
    actions: NDArray[Any]
    rewards: Floats


def new_trace(start: int, rounds: int) -> Trace:
    """An empty trace for `rounds` rounds of single-arm actions."""
    return Trace(int(start), np.full(rounds, -1, np.int64), np.full(rounds, np.nan))


class About(NamedTuple):
    """What `driftwise policies` says of a policy: what must be known in advance, its guarantee, where it is from.

    `drifts` is False when the guarantee assumes a world that stands still.
    """

    needs: str
    bound: str
    paper: str
    drifts: bool = True
