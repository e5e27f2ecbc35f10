"""How far apart the two yardsticks are: constraints kept on average, and constraints kept in every round.

    f_t(x) = -r x                                              x in [0, 1]
    g_t(x) = (b + delta) x - b/2 in the first half, b x - b/2 in the second

One fixed point, kept on average: x = b / (2 b + delta), which loses -T r b / (2 b + delta). Kept in every round: x =
b / (2 (b + delta)), -T r b / (2 (b + delta)). Liu, Jiang & Li 2022, appendix E.1; what is printed there, -T r / 2 and
-(T/4) (r b / (b + delta) + r), is what two points, one for each half, would lose.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftwise.core.validation import number
from driftwise.families.convex.worlds.base import Asked, TwoHalves, halves, linear


@dataclass(frozen=True, kw_only=True)
class ConvexGap(TwoHalves):
    """One thing to have more of, and a constraint on it that is relaxed at half-time.

    Parameters
    ----------
    delta : float
        How much more a unit uses in the first half.
    base : float
        What it uses in the second, b; half of it is allowed.
    gain : float
        What a unit gains, r.
    """

    delta: float = 0.2
    base: float = 1.0
    gain: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("delta", "base", "gain"):
            number(name, getattr(self, name), above=0.0)

    def asks(self, horizon: int, seed: int) -> Callable[[int, int], Asked]:
        """The same loss throughout, and two constraints."""
        uses = np.array([[[self.base + self.delta]], [[self.base]]])

        def functions(start: int, stop: int) -> Asked:
            rows = halves(horizon, 1, start, stop)
            losses = linear(np.full((1, 1, 1), -self.gain), np.zeros((1, 1)), np.zeros_like(rows))
            constraints = linear(uses, np.full((2, 1), -0.5 * self.base), rows)
            return Asked(losses, constraints, constraints)

        return functions
