"""What constraints that change cost for certain: the first half is tight, and only there is anything to be gained.

    f_t(x) = -x in the first half, 0 in the second            x in [0, 1]
    g_t(x) = (1 + delta) x - 1/2, then (1 - delta) x - 1/2

In the mean x = 1/2 keeps the constraint and gains T / 4. Whoever does not know that the second half will be loose must
stay at 1 / (2 (1 + delta)) in the first, and misses T delta / (4 (1 + delta)): regret in proportion to W = T delta.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftwise.core.validation import number
from driftwise.families.convex.worlds.base import Asked, TwoHalves, halves, linear


@dataclass(frozen=True, kw_only=True)
class ConvexHard(TwoHalves):
    """A constraint that is tight while there is something to gain, and loose when there is nothing.

    Parameters
    ----------
    delta : float
        How much tighter and looser than in the mean.
    """

    delta: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        number("delta", self.delta, above=0.0, below=1.0)

    def asks(self, horizon: int, seed: int) -> Callable[[int, int], Asked]:
        """Two halves."""
        gains = np.array([[[-1.0]], [[0.0]]])
        uses = np.array([[[1.0 + self.delta]], [[1.0 - self.delta]]])

        def functions(start: int, stop: int) -> Asked:
            rows = halves(horizon, 1, start, stop)
            constraints = linear(uses, np.full((2, 1), -0.5), rows)
            return Asked(linear(gains, np.zeros((2, 1)), rows), constraints, constraints)

        return functions
