"""A parameter that stands still and jumps: phases of equal length, each with a random direction of its own."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.families.contextual.worlds.base import FeaturedWorld, Path, unit_vectors
from driftwise.measure.phases import PhasedWorld


@dataclass(frozen=True, kw_only=True)
class AbruptLinear(PhasedWorld, FeaturedWorld):
    """theta_t is one random unit vector per phase.

    Parameters
    ----------
    phases : int
        How many phases the horizon is cut into; with 1 nothing drifts.
    """

    def path(self, horizon: int, seed: int) -> Path:
        """The vector of the phase that a round lies in."""
        jumps, vectors = self.changes(horizon, seed), unit_vectors(self.phases, self.dim, seed, "directions")

        def theta(start: int, stop: int) -> Floats:
            return vectors[np.searchsorted(jumps, np.arange(start, stop), side="right")]

        return theta
