"""All that points were asked for in a run, to be looked back at: losses and constraints of every round.

    Recorded    functions k/2 |x|^2 + a'x + b, as the worlds of driftwise have them; rounds that are alike are kept once
    Functions   your own, as Python callables of a round and a point

Both can tell the sum of all losses at a point, the sum of each constraint, and each constraint in every round, with
gradients. Hindsight (`hindsight.py`) needs no more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import finite, whole
from driftwise.errors import ParameterError
from driftwise.families.convex.ground_truth import ConvexGroundTruth
from driftwise.families.convex.projections import Domain
from driftwise.families.convex.quadratics import Quadratics


class Past(Protocol):
    """What hindsight asks for. A row is a kind of round; `weights` says how many rounds are of each kind."""

    @property
    def domain(self) -> Domain:
        """What points are chosen from."""

    @property
    def weights(self) -> Floats:
        """In how many rounds each row is met."""

    @property
    def is_linear(self) -> bool:
        """Whether every function is known to be linear."""

    def loss(self, point: Floats) -> tuple[float, Floats]:
        """The sum of all losses, and its gradient."""

    def sums(self, point: Floats) -> tuple[Floats, Floats]:
        """The sum of each constraint over all rounds, and its gradient, a row each."""

    def values(self, point: Floats) -> Floats:
        """Every constraint, a row for each kind of round."""

    def some(self, which: Sequence[tuple[int, int]], point: Floats) -> tuple[Floats, Floats]:
        """Some constraints, each named by its row and number, and their gradients."""


@dataclass(frozen=True)
class Recorded:
    """Quadratic and linear functions of recorded rounds."""

    domain: Domain
    losses: Quadratics
    constraints: Quadratics

    @property
    def weights(self) -> Floats:
        """In how many rounds each row is met."""
        return self.constraints.weights

    @property
    def is_linear(self) -> bool:
        """Whether nothing is curved."""
        return not self.losses.curves.any() and not self.constraints.curves.any()

    def loss(self, point: Floats) -> tuple[float, Floats]:
        """The sum of all losses, and its gradient."""
        values, gradients = _of_mean(self.losses, point)
        return float(values[0]), gradients[0]

    def sums(self, point: Floats) -> tuple[Floats, Floats]:
        """The sum of each constraint over all rounds, and its gradient."""
        return _of_mean(self.constraints, point)

    def values(self, point: Floats) -> Floats:
        """Every constraint, a row for each kind of round."""
        forms = self.constraints
        values: Floats = 0.5 * forms.curves * (point @ point) + forms.slopes @ point + forms.levels
        return values

    def some(self, which: Sequence[tuple[int, int]], point: Floats) -> tuple[Floats, Floats]:
        """Some constraints, each named by its row and number, and their gradients."""
        row, number = np.array(which, np.int64).reshape(-1, 2).T
        curves, slopes, levels = (table[row, number] for table in self.constraints[:3])
        return 0.5 * curves * (point @ point) + slopes @ point + levels, curves[:, None] * point + slopes


def _of_mean(forms: Quadratics, point: Floats) -> tuple[Floats, Floats]:
    """Values and gradients of sums over all rounds."""
    mean, rounds = forms.mean, len(forms.rows)
    values = 0.5 * mean.curves[0] * (point @ point) + mean.slopes[0] @ point + mean.levels[0]
    return rounds * values, rounds * (mean.curves[0][:, None] * point + mean.slopes[0])


@dataclass(frozen=True, kw_only=True)
class Functions:
    """Losses and constraints of your own: Python functions of a round, counted from 0, and a point.

    Parameters
    ----------
    domain : Domain
        What points are chosen from.
    rounds : int
        How many rounds there are.
    loss_at, gradient_at : callable
        The loss f(t, x), convex in x, and its gradient.
    values_at, jacobian_at : callable, optional
        The constraints g(t, x) <= 0, convex in x, as a list of numbers; and their gradients, a row each.

    >>> from driftwise.families.convex.projections import box
    >>> past = Functions(
    ...     domain=box(0.0, 1.0),
    ...     rounds=10,
    ...     loss_at=lambda t, x: (x[0] - 0.1 * t) ** 2,
    ...     gradient_at=lambda t, x: 2 * (x - 0.1 * t),
    ... )
    >>> value, slope = past.loss(np.array([0.5]))
    >>> round(value, 3), slope.round(3).tolist()
    (0.85, [1.0])
    """

    domain: Domain
    rounds: int
    loss_at: Callable[[int, Floats], Any]
    gradient_at: Callable[[int, Floats], Any]
    values_at: Callable[[int, Floats], Any] | None = None
    jacobian_at: Callable[[int, Floats], Any] | None = None
    n_constraints: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", whole("rounds", self.rounds))
        if (self.values_at is None) != (self.jacobian_at is None):
            raise ParameterError("constraints need both values_at and jacobian_at: give both, or neither")
        if self.values_at is not None:
            first = finite("values_at(0, x)", self.values_at(0, self.domain.centres), None)
            object.__setattr__(self, "n_constraints", len(first))

    @property
    def weights(self) -> Floats:
        """Every round is of its own kind."""
        return np.ones(self.rounds)

    @property
    def is_linear(self) -> bool:
        """Nothing is known of them."""
        return False

    def loss(self, point: Floats) -> tuple[float, Floats]:
        """The sum of all losses, and its gradient."""
        total, slope = 0.0, np.zeros(self.domain.dim)
        for t in range(self.rounds):
            total += self.one_loss(t, point)
            slope += finite(f"gradient_at({t}, x)", self.gradient_at(t, point), (self.domain.dim,))
        return total, slope

    def one_loss(self, t: int, point: Floats) -> float:
        """The loss of one round."""
        return float(finite(f"loss_at({t}, x)", self.loss_at(t, point), (1,))[0])

    def sums(self, point: Floats) -> tuple[Floats, Floats]:
        """The sum of each constraint over all rounds, and its gradient."""
        slopes = np.zeros((self.n_constraints, self.domain.dim))
        for t in range(self.rounds):
            slopes += self._jacobian(t, point)
        return self.values(point).sum(axis=0), slopes

    def values(self, point: Floats) -> Floats:
        """Every constraint in every round."""
        return np.array([self.one_row(t, point) for t in range(self.rounds)])

    def some(self, which: Sequence[tuple[int, int]], point: Floats) -> tuple[Floats, Floats]:
        """Some constraints, each named by its round and number, and their gradients."""
        values = [self.one_row(t, point)[number] for t, number in which]
        slopes = [self._jacobian(t, point)[number] for t, number in which]
        return np.array(values), np.array(slopes).reshape(len(slopes), self.domain.dim)

    def one_row(self, t: int, point: Floats) -> Floats:
        """The constraints of one round."""
        values = () if self.values_at is None else self.values_at(t, point)
        return finite(f"values_at({t}, x)", values, (self.n_constraints,))

    def _jacobian(self, t: int, point: Floats) -> Floats:
        values = np.zeros((0, self.domain.dim)) if self.jacobian_at is None else self.jacobian_at(t, point)
        return finite(f"jacobian_at({t}, x)", values, (self.n_constraints, self.domain.dim))


def past_of(
    world: ConvexGroundTruth, horizon: int, seed: int, *, drawn: bool = False, summed: bool = False
) -> Recorded:
    """What one run of a world asked for.

    Where constraints are drawn around a mean, the mean is what a fixed point must keep, and what is recorded; with
    `drawn`, the constraints as they were met. With `summed`, the rounds of a block become one row, their mean: enough
    for the best point that keeps constraints on average, at any horizon.
    """
    losses: list[Quadratics] = []
    constraints: list[Quadratics] = []
    for tape in world.tapes(horizon, seed):
        for pile, forms in (losses, tape.losses), (constraints, tape.constraints if drawn else tape.expected):
            pile.append(forms.mean if summed else forms)
    return Recorded(world.domain, _joined(losses), _once(_joined(constraints)))


def _joined(blocks: list[Quadratics]) -> Quadratics:
    """Blocks one after another."""
    shifts = np.cumsum([0, *(len(block.levels) for block in blocks[:-1])])
    rows = np.concatenate([block.rows + shift for block, shift in zip(blocks, shifts, strict=True)])
    curves, slopes, levels = (np.concatenate([block[i] for block in blocks]) for i in range(3))
    return Quadratics(curves, slopes, levels, rows.astype(np.int32))


def _once(forms: Quadratics) -> Quadratics:
    """The same functions, rows that are alike kept once, in the order in which they are first met."""
    flat = np.concatenate([table.reshape(len(table), -1) for table in forms[:3]], axis=1)
    _, first, same = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.argsort(order)[same.reshape(-1)]
    curves, slopes, levels = (table[first[order]] for table in forms[:3])
    return Quadratics(curves, slopes, levels, places[forms.rows].astype(np.int32))
