"""What worlds of every family share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from driftwise.core.types import Problem
from driftwise.core.validation import whole
from driftwise.measure.levels import BLOCK
from driftwise.measure.variation import Course, courses


class BaseWorld(ABC):
    """A world whose actions last and change nothing; see `driftwise.core.protocols.World` for what it promises."""

    @property
    def block(self) -> int:
        """Rounds in a block."""
        return BLOCK

    @property
    def lasting(self) -> bool:
        """Whether action k is the same action in every round."""
        return True

    @property
    def unused_parameters(self) -> tuple[str, ...]:
        """Names of parameters that play no part with the values of the others; reports leave them out."""
        return ()

    @abstractmethod
    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world."""

    @abstractmethod
    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[Any]:
        """The world in blocks of at most `size` rounds, `block` unless given: the same rounds, however they are cut."""

    def changes(self, horizon: int, seed: int) -> list[int]:
        """Rounds at which something jumps; empty where all glides."""
        return []

    def courses(self, horizon: int, seed: int) -> Iterator[Course]:
        """What drifts, block by block."""
        return courses(self, horizon, seed)

    def nature(self, horizon: int = 0) -> tuple[Any, ...]:
        """What actions may change in this world: nothing."""
        return ()

    def draw(self, horizon: int, seed: int) -> tuple[Any, Any]:
        """The whole world as one tape, and a fresh nature."""
        (tape,) = self.tapes(horizon, seed, size=whole("horizon", horizon))
        return tape, self.nature(horizon)
