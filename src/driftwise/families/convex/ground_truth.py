"""What comparators read of a world of points: its domain, and losses and constraints on its tapes."""

from typing import Protocol

from driftwise.core.protocols import World
from driftwise.families.convex.projections import Domain


class ConvexGroundTruth(World, Protocol):
    """A world of points whose tapes have the losses and constraints of every round."""

    @property
    def domain(self) -> Domain:
        """The set that points are chosen from."""
