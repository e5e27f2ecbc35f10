"""Worlds that jump: the horizon is cut into phases of equal length, and what changes does so where one begins."""

from dataclasses import dataclass

from driftwise.core.validation import whole
from driftwise.measure.base_world import BaseWorld
from driftwise.measure.levels import phase_starts

MOST = 10**6


@dataclass(frozen=True, kw_only=True)
class PhasedWorld(BaseWorld):
    """A mixin that stands before the world of a family: `class Abrupt(PhasedWorld, ArmedWorld)`.

    Parameters
    ----------
    phases : int
        How many stretches without change the horizon is cut into.
    """

    phases: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # that of the world of the family
        whole("phases", self.phases, high=MOST)

    def changes(self, horizon: int, seed: int) -> list[int]:
        """The first round of every phase but the first."""
        return phase_starts(self.phases, horizon)
