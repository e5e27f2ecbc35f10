"""The problem value of online convex optimisation with constraints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from driftwise.core.fields import Row
from driftwise.core.problem import ProblemValue, plain
from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.convex.projections import BALL, BOX, Domain, ball, box, product, simplex

Size = Annotated[float, Meta(gt=0, le=1e15)]


class Box(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag="box"):
    """All points between two."""

    low: Row
    high: Row

    @property
    def dim(self) -> int:
        """How many coordinates points have."""
        return len(self.low)

    def domain(self) -> Domain:
        """The set, for kernels."""
        return box(self.low, self.high)


class Ball(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag="ball"):
    """All points no further than `radius` from `centre`."""

    centre: Row
    radius: Size

    @property
    def dim(self) -> int:
        """How many coordinates points have."""
        return len(self.centre)

    def domain(self) -> Domain:
        """The set, for kernels."""
        return ball(self.centre, self.radius)


class Simplex(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag="simplex"):
    """All shares of a total."""

    size: Annotated[int, Meta(ge=1, le=10_000)]
    total: Size = 1.0

    @property
    def dim(self) -> int:
        """How many coordinates points have."""
        return self.size

    def domain(self) -> Domain:
        """The set, for kernels."""
        return simplex(self.size, self.total)


class Convex(ProblemValue, frozen=True, tag="convex"):
    """A point of a convex set is chosen, and gradients come back.

    Parameters
    ----------
    domain : Domain, or list of Box, Ball and Simplex
        What points are chosen from: `box`, `ball`, `simplex` or a `product` of them.
    n_constraints : int
        How many constraints the points should keep on average.
    initial_point : sequence of float, optional
        The first point; the middle of the domain where none is given.

    >>> from driftwise.families.convex.projections import box
    >>> Convex(box(0.0, 1.0, size=2)).domain
    [Box(low=[0.0, 0.0], high=[1.0, 1.0])]
    """

    domain: Annotated[list[Box | Ball | Simplex], Meta(min_length=1, max_length=100)]
    n_constraints: Annotated[int, Meta(ge=0, le=1000)] = 0
    initial_point: Row | None = None

    if TYPE_CHECKING:  # the constructor takes more than the fields hold: `__post_init__` makes plain parts of a domain

        def __init__(
            self,
            domain: Domain | Sequence[Box | Ball | Simplex],
            n_constraints: int = 0,
            initial_point: Sequence[float] | Floats | None = None,
            *,
            horizon: int = 0,
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        msgspec.structs.force_setattr(self, "domain", parts_of(self.domain))

    def whole_domain(self) -> Domain:
        """The set points are chosen from: the product of its parts."""
        parts = [part.domain() for part in self.domain]
        return product(*parts) if len(parts) > 1 else parts[0]


def parts_of(domain: object) -> list[Box | Ball | Simplex]:
    """A domain as plain parts."""
    if isinstance(domain, Domain):
        return [_part(domain, place) for place in range(len(domain.kinds))]
    if isinstance(domain, list) and domain and all(isinstance(part, Box | Ball | Simplex) for part in domain):
        return domain
    raise ParameterError(f"domain={domain!r} is not a domain: make one with box, ball, simplex or product")


def _part(domain: Domain, place: int) -> Box | Ball | Simplex:
    kind, inside = domain.kinds[place], slice(domain.starts[place], domain.stops[place])
    if kind == BOX:
        return Box(plain(domain.lows[inside]), plain(domain.highs[inside]))
    if kind == BALL:
        return Ball(plain(domain.centres[inside]), float(domain.sizes[place]))
    return Simplex(int(domain.stops[place] - domain.starts[place]), float(domain.sizes[place]))
