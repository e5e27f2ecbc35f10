"""Worlds in which points of a convex set are chosen: what they share. A world only says which functions it asks with.

    loss of round t             f_t(x) = k/2 |x|^2 + a'x + b        the reward is -f_t(x)
    constraint i of round t     g_{t,i}(x), in the same shape       should be at most 0 in the mean over rounds

A round reveals the value and the gradient of each at the point chosen, and nothing of them elsewhere.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Problem, Slopes
from driftwise.core.validation import cast_fields, whole
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.families.convex.projections import CLOSE, Domain, box, convex, excess
from driftwise.families.convex.quadratics import Quadratics, fill_gradient, value_at
from driftwise.measure.base_world import BaseWorld
from driftwise.measure.levels import Levels

BLOCK = 1 << 14


class Asked(NamedTuple):
    """The functions of a stretch of rounds; `expected` are the constraints before luck, where there is any."""

    losses: Quadratics
    constraints: Quadratics
    expected: Quadratics


class ConvexTape(NamedTuple):
    """Rounds from `start` on, and the domain of their functions."""

    start: int
    domain: Domain
    losses: Quadratics
    constraints: Quadratics
    expected: Quadratics

    @property
    def levels(self) -> Levels:
        """What drifts, as a picture shows it: each constraint in the middle of the domain."""
        middle, forms = self.domain.centres, self.expected
        return Levels(0.5 * forms.curves * (middle @ middle) + forms.slopes @ middle + forms.levels, forms.rows)


class Gauge(NamedTuple):
    """What a round reveals: gradient, constraints and their gradients; and the sum of each constraint so far."""

    gradient: Floats
    values: Floats
    jacobian: Floats
    sums: Floats


@kernel
def _observe(tape: ConvexTape, nature: Gauge, t: int) -> tuple[tuple[()], bool]:
    return (), True


@kernel
def _respond(tape: ConvexTape, nature: Gauge, t: int, action: Floats) -> Slopes:
    if not excess(tape.domain, action) <= _slack(tape.domain):
        raise ValueError("the policy chose a point outside the domain")
    i = t - tape.start
    loss = value_at(tape.losses, tape.losses.rows[i], 0, action)
    fill_gradient(tape.losses, tape.losses.rows[i], 0, action, nature.gradient)
    row = tape.constraints.rows[i]
    for j in range(len(nature.values)):
        nature.values[j] = value_at(tape.constraints, row, j, action)
        nature.sums[j] += nature.values[j]
        fill_gradient(tape.constraints, row, j, action, nature.jacobian[j])
    return Slopes(-loss, nature.gradient, nature.values, nature.jacobian)


@kernel
def _slack(domain: Domain) -> float:
    widest = 1.0
    for k in range(len(domain.lows)):
        widest = max(widest, domain.highs[k] - domain.lows[k])
    return CLOSE * widest


register(ConvexTape, observe=_observe, respond=_respond)


@dataclass(frozen=True, kw_only=True)
class ConvexWorld(BaseWorld):
    """A domain, and functions that drift; subclasses write `domain` and `asks` in plain NumPy."""

    block: ClassVar[int] = BLOCK

    def __post_init__(self) -> None:
        cast_fields(self)

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """What points are chosen from."""

    @abstractmethod
    def asks(self, horizon: int, seed: int) -> Callable[[int, int], Asked]:
        """A function `(start, stop) -> Asked`; it is called in order, block after block."""

    @property
    def n_constraints(self) -> int:
        """How many constraints there are."""
        return 1

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world."""
        structure = convex(self.domain, self.n_constraints)
        return Problem(1, -np.inf, np.inf, 1.0, horizon, self.domain.dim, structure=structure, family="convex")

    def changes(self, horizon: int, seed: int) -> list[int]:
        """Rounds at which constraints jump."""
        return []

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[ConvexTape]:
        """The world in blocks of at most `size` rounds: the same rounds, however they are cut."""
        horizon, size = whole("horizon", horizon), whole("size", self.block if size is None else size)
        domain, asks = self.domain, self.asks(horizon, seed)
        for start in range(0, horizon, size):
            stop = min(horizon, start + size)
            functions = asks(start, stop)
            shapes = (1, self.n_constraints, self.n_constraints)
            forms = (self._checked(each, count, stop - start) for each, count in zip(functions, shapes, strict=True))
            yield ConvexTape(start, domain, *forms)

    def _checked(self, forms: Quadratics, count: int, rounds: int) -> Quadratics:
        """What a world says of its functions is checked once a block: kernels trust it."""
        name, dim = type(self).__name__, self.domain.dim
        curves, slopes, levels = (np.ascontiguousarray(table, np.float64) for table in forms[:3])
        rows = np.ascontiguousarray(forms.rows, np.int32)
        fits = slopes.shape[1:] == (count, dim) and curves.shape == levels.shape == slopes.shape[:2]
        if not fits or rows.shape != (rounds,) or not 0 <= rows.min() <= rows.max() < len(slopes):
            raise ParameterError(
                f"{name} gave functions of shape {slopes.shape} for {rounds} rounds of {count} in {dim}"
            )
        if not (np.isfinite(slopes).all() and np.isfinite(levels).all() and np.isfinite(curves).all()):
            raise ParameterError(f"{name} gave a function that is not finite")
        if curves.min(initial=0.0) < 0.0:
            raise ParameterError(f"{name} gave a function that is not convex")
        return Quadratics(curves, slopes, levels, rows)

    def nature(self, horizon: int = 0) -> Gauge:
        """An empty gauge."""
        dim, count = self.domain.dim, self.n_constraints
        return Gauge(np.zeros(dim), np.zeros(count), np.zeros((count, dim)), np.zeros(count))


@dataclass(frozen=True, kw_only=True)
class TwoHalves(ConvexWorld):
    """A number between 0 and 1 in a world of two halves, with nothing left to chance."""

    @property
    def certain(self) -> bool:
        """Nothing here is drawn: every seed gives the same world."""
        return True

    @property
    def domain(self) -> Domain:
        """A number between 0 and 1."""
        return box(0.0, 1.0)

    def changes(self, horizon: int, seed: int) -> list[int]:
        """Half-time."""
        return half_times(horizon, 1) if horizon > 1 else []


def linear(slopes: Floats, levels: Floats, rows: NDArray[np.int32]) -> Quadratics:
    """Functions without curvature."""
    return Quadratics(np.zeros(slopes.shape[:2]), slopes, levels, rows)


def each_round(start: int, stop: int) -> NDArray[np.int32]:
    """Rows for rounds of which each has its own."""
    return np.arange(stop - start, dtype=np.int32)


def halves(horizon: int, cycles: int, start: int, stop: int) -> NDArray[np.int32]:
    """0 in the first half of every cycle, 1 in the second."""
    position = np.arange(start, stop) * 2 * cycles // horizon
    return (position % 2).astype(np.int32)


def half_times(horizon: int, cycles: int) -> list[int]:
    """The rounds at which one half gives way to the other."""
    return [-(-half * horizon // (2 * cycles)) for half in range(1, 2 * cycles)]
