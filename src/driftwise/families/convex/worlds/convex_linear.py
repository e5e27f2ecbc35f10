"""Linear losses on a box, and linear constraints that hold still, swing, or are drawn anew every round.

    f_t(x) = c_t'x                     c_t = c + uniform on [-1/2, 1/2], coordinate by coordinate; c in [-1, -1/5]
    g_{t,i}(x) = A_{t,i}'x - load n    the coefficients of a constraint sum to n, the number of coordinates

All coordinates at 1 would be best and use a constraint up to n (1 - load) too far. With `variation`, all coefficients
are larger by one factor in the first half of every cycle and smaller by it in the second. With `noise`, every
coefficient of every round is multiplied by a number uniform on [1 - noise, 1 + noise]; what counts is the mean.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftwise.core.random import fill_uniform
from driftwise.core.seeding import generator, key
from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families.convex.projections import Domain, box
from driftwise.families.convex.quadratics import Quadratics
from driftwise.families.convex.worlds.base import Asked, ConvexWorld, each_round, half_times, halves, linear


@dataclass(frozen=True, kw_only=True)
class ConvexLinear(ConvexWorld):
    """Linear losses and constraints on [0, 1]^dim.

    Parameters
    ----------
    dim, constraints : int
        Coordinates of a point, and constraints on it.
    load : float
        Which share of all that can be used the constraints allow.
    variation : float
        How far constraints stray from their mean in a round, W / T; exactly so when the halves of cycles are equal.
    cycles : int
        How often they swing out and back within the horizon.
    noise : float
        Spread of the coefficients from round to round, as a share of them.
    """

    dim: int = 5
    constraints: int = 2
    load: float = 0.4
    variation: float = 0.0
    cycles: int = 1
    noise: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("dim", self.dim, high=10**4)
        whole("constraints", self.constraints, high=10**4)
        whole("cycles", self.cycles)
        number("load", self.load, above=0.0, below=1.0)
        number("noise", self.noise, above=0.0, below=1.0, closed="[]")
        most = self.dim * self.constraints
        if not 0.0 <= self.variation < most:
            raise ParameterError(
                f"variation={self.variation:g} is outside [0, {most}): with {self.constraints} constraints on "
                f"{self.dim} coordinates a coefficient would change its sign"
            )

    @property
    def domain(self) -> Domain:
        """The unit box."""
        return box(0.0, 1.0, size=self.dim)

    @property
    def n_constraints(self) -> int:
        """As many as were asked for."""
        return self.constraints

    def changes(self, horizon: int, seed: int) -> list[int]:
        """Where the coefficients swing to the other side."""
        if self.cycles * 2 > horizon and self.variation:
            raise ParameterError(f"cycles={self.cycles} does not fit the horizon {horizon}: a cycle needs two rounds")
        return half_times(horizon, self.cycles) if self.variation else []

    def asks(self, horizon: int, seed: int) -> Callable[[int, int], Asked]:
        """Losses of each round, and constraints of two kinds: swung out, and back."""
        luck = generator(seed, "functions")
        mean_loss = -luck.uniform(0.2, 1.0, self.dim)
        shares = luck.uniform(0.5, 1.5, (self.constraints, self.dim))
        shares *= self.dim / shares.sum(axis=1, keepdims=True)
        swing = self.variation / (self.dim * self.constraints)
        table = np.stack([shares * (1.0 + swing), shares * (1.0 - swing)])
        limits = np.full((2, self.constraints), -self.load * self.dim)
        cycles = self.cycles if self.variation else 1

        def functions(start: int, stop: int) -> Asked:
            losses = mean_loss + self._uniforms(seed, "losses", start, stop, self.dim) - 0.5
            expected = linear(table, limits, halves(horizon, cycles, start, stop))
            drawn = self._drawn(seed, start, stop, expected) if self.noise else expected
            rows = each_round(start, stop)
            return Asked(linear(losses[:, None, :], np.zeros((len(rows), 1)), rows), drawn, expected)

        return functions

    def _drawn(self, seed: int, start: int, stop: int, expected: Quadratics) -> Quadratics:
        """Constraints with luck: every round has its own."""
        size = self.constraints * self.dim
        factors = 1.0 + self.noise * (2.0 * self._uniforms(seed, "constraints", start, stop, size) - 1.0)
        slopes = expected.slopes[expected.rows] * factors.reshape(-1, self.constraints, self.dim)
        return linear(slopes, expected.levels[expected.rows], each_round(start, stop))

    def _uniforms(self, seed: int, name: str, start: int, stop: int, width: int) -> Floats:
        """Uniform numbers, `width` a round; blocks join without a seam."""
        numbers = np.empty((stop - start, width))
        fill_uniform(key(seed, name), start * width, numbers.reshape(-1))
        return numbers
