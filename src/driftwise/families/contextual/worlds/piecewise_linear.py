"""A parameter that goes straight from one random direction to the next (Cheung, Simchi-Levi & Zhu, section 9.1.2).

    theta_t = ((tau_{s+1} - t) v_s + (t - tau_s) v_{s+1}) / (tau_{s+1} - tau_s),    tau_s <= t <= tau_{s+1}

with tau_0 = 1, tau_{P+1} = T, and P breaks between drawn from {2, ..., T - 1} without replacement; v_0, ..., v_{P+1}
are random vectors of unit length. At a break the parameter turns and does not jump. The length of its way is the sum
of |v_{s+1} - v_s|: 39 on average for the paper's 30 breaks in the plane, 43 in five dimensions.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.core.validation import whole
from driftwise.errors import ParameterError
from driftwise.families.contextual.worlds.base import FeaturedWorld, Path, unit_vectors


@dataclass(frozen=True, kw_only=True)
class PiecewiseLinear(FeaturedWorld):
    """theta_t passes through random unit vectors, on straight lines between random rounds.

    With `dim=2,actions=basis` it is the paper's pair of arms, as it stands the paper's linear bandit.

    Parameters
    ----------
    breaks : int
        Rounds between the first and the last at which the parameter turns.
    instance : int
        When 0 or more, every run has the way, and the fixed actions, of this number, and runs differ in noise and
        fresh actions alone; -1 draws a way of its own for every run.
    """

    breaks: int = 30
    instance: int = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("breaks", self.breaks, low=0, high=10**6)
        whole("instance", self.instance, low=-1)

    def changes(self, horizon: int, seed: int) -> list[int]:
        """None: at a break the parameter turns and does not jump."""
        self.knots(horizon, seed)  # which refuses a horizon too short
        return []

    def knots(self, horizon: int, seed: int) -> tuple[Floats, Floats]:
        """The rounds tau_s, counted from 1, and the vectors v_s."""
        if self.breaks > horizon - 2:
            raise ParameterError(f"breaks={self.breaks} does not fit the horizon {horizon}: both ends are no breaks")
        drawn = self._drawn_from(seed)
        between = generator(drawn, "breaks").choice(horizon - 2, self.breaks, replace=False) + 2
        rounds = np.concatenate([[1.0], np.sort(between), [float(horizon)]])
        return rounds, unit_vectors(self.breaks + 2, self.dim, drawn, "directions")

    def path(self, horizon: int, seed: int) -> Path:
        """Linear interpolation, coordinate by coordinate."""
        knots, vectors = self.knots(horizon, seed)

        def theta(start: int, stop: int) -> Floats:
            rounds = np.arange(start + 1, stop + 1, dtype=float)
            return np.stack([np.interp(rounds, knots, line) for line in vectors.T], axis=1)

        return theta

    def _sets(self, seed: int, start: int, stop: int) -> tuple[Floats, NDArray[np.int32]]:
        return super()._sets(self._drawn_from(seed) if self.actions == "fixed" else seed, start, stop)

    def _drawn_from(self, seed: int) -> int:
        return seed if self.instance < 0 else self.instance
