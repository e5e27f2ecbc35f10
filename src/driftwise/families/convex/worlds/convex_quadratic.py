"""Squared distances from targets on a ball, and one quadratic constraint: stay close to the middle.

    f_t(x) = |x - a_t|^2 / 2           a_t = a + uniform on [-1/2, 1/2], coordinate by coordinate; |a| = 1
    g_t(x) = |x|^2 - allowed           allowed is larger and smaller by `variation` in the halves of every cycle

The mean target lies at the edge of the unit ball, beyond what the constraint allows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftwise.core.random import fill_uniform
from driftwise.core.seeding import generator, key
from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families.convex.projections import Domain, ball
from driftwise.families.convex.quadratics import Quadratics
from driftwise.families.convex.worlds.base import Asked, ConvexWorld, each_round, half_times, halves


@dataclass(frozen=True, kw_only=True)
class ConvexQuadratic(ConvexWorld):
    """Moving targets in the unit ball, to be approached from within a smaller one.

    Parameters
    ----------
    dim : int
        Coordinates of a point.
    allowed : float
        Square of the distance from the middle that the constraint allows.
    variation : float
        How far the constraint strays from its mean in a round, W / T; exactly so when the halves of cycles are equal.
    cycles : int
        How often it swings out and back within the horizon.
    """

    dim: int = 5
    allowed: float = 0.25
    variation: float = 0.0
    cycles: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("dim", self.dim, high=10**4)
        whole("cycles", self.cycles)
        number("allowed", self.allowed, above=0.0)
        if not 0.0 <= self.variation < self.allowed:
            raise ParameterError(
                f"variation={self.variation:g} is outside [0, {self.allowed:g}): no point would be allowed"
            )

    @property
    def domain(self) -> Domain:
        """The unit ball."""
        return ball(0.0, 1.0, size=self.dim)

    def changes(self, horizon: int, seed: int) -> list[int]:
        """Where the constraint swings to the other side."""
        if self.cycles * 2 > horizon and self.variation:
            raise ParameterError(f"cycles={self.cycles} does not fit the horizon {horizon}: a cycle needs two rounds")
        return half_times(horizon, self.cycles) if self.variation else []

    def asks(self, horizon: int, seed: int) -> Callable[[int, int], Asked]:
        """Losses of each round, and constraints of two kinds."""
        direction = generator(seed, "functions").standard_normal(self.dim)
        middle = direction / np.linalg.norm(direction)
        levels = np.array([[self.variation - self.allowed], [-self.variation - self.allowed]])
        cycles = self.cycles if self.variation else 1

        def functions(start: int, stop: int) -> Asked:
            targets, rows = np.empty((stop - start, self.dim)), each_round(start, stop)
            fill_uniform(key(seed, "losses"), start * self.dim, targets.reshape(-1))
            targets += middle - 0.5
            squares = 0.5 * (targets**2).sum(axis=1, keepdims=True)
            losses = Quadratics(np.ones((len(rows), 1)), -targets[:, None, :], squares, rows)
            two = np.full((2, 1), 2.0), np.zeros((2, 1, self.dim)), levels
            constraints = Quadratics(*two, halves(horizon, cycles, start, stop))
            return Asked(losses, constraints, constraints)

        return functions
