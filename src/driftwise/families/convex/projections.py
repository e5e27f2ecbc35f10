"""The convex sets that points are chosen from, and the nearest point of them: boxes, balls, simplices and products.

    box       low <= x <= high             clip every coordinate
    ball      |x - c| <= r                 c + (x - c) r / |x - c|, where x lies outside
    simplex   x >= 0, sum x = s            max(x - theta, 0), theta so that they sum to s
    product   a part of x in each          each part on its own

theta is the root of a convex, falling, piecewise linear function, sum_k max(x_k - theta, 0) - s. Newton's method from
the left, from max x - s on, reaches it exactly in finitely many steps, and needs no room: each step only looks at the
coordinates above theta (Michelot 1986). Counting from max x keeps all digits, however large the coordinates are.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints, Shared
from driftwise.core.validation import finite, number, whole
from driftwise.errors import ParameterError

BOX, BALL, SIMPLEX = 0, 1, 2
LARGEST = 1e100  # beyond it, sums of squares could overflow
CLOSE = 1e-9  # how far outside a point may lie and still count as inside, relative to the size of the set


class Domain(NamedTuple):
    """A product of sets. Part p has `kinds[p]` and the coordinates from `starts[p]` to `stops[p]`.

    `lows` and `highs` enclose the set, coordinate by coordinate; `centres` lie inside. `sizes` are the radius of a ball
    and the sum of a simplex. Make one with `box`, `ball`, `simplex` and `product`.

    >>> disc_and_shares = product(ball([0.0, 0.0], 1.0), simplex(3))
    >>> disc_and_shares.project([3.0, 4.0, 0.5, 0.9, -1.0]).round(3).tolist()
    [0.6, 0.8, 0.3, 0.7, 0.0]
    >>> disc_and_shares.contains([0.6, 0.8, 0.3, 0.7, 0.0]), disc_and_shares.contains([1.0, 1.0, 0.0, 0.0, 1.0])
    (True, False)
    """

    kinds: Shared
    starts: Shared
    stops: Shared
    sizes: Shared
    lows: Shared
    highs: Shared
    centres: Shared

    @property
    def dim(self) -> int:
        """How many coordinates a point has."""
        return len(self.lows)

    def project(self, point: ArrayLike) -> Floats:
        """The nearest point of the set."""
        nearest = self.checked(point)
        project_onto(self, nearest)
        return nearest

    def contains(self, point: ArrayLike, *, slack: float = CLOSE) -> bool:
        """Whether a point lies in the set, or no further outside than `slack` times its size."""
        return bool(excess(self, self.checked(point)) <= slack * self.reach)

    @property
    def reach(self) -> float:
        """The longest side of the box around the set, or 1 where that is less."""
        return max(1.0, float((self.highs - self.lows).max()))

    def checked(self, point: ArrayLike) -> Floats:
        """A copy of a point, made sure of: as many numbers as there are coordinates, all of them finite."""
        return finite("point", point, (self.dim,))


class ConvexStructure(NamedTuple):
    """What is known of points to choose: their domain, how many constraints there are, the first one."""

    domain: Domain
    constraints: Ints
    start: Floats


def convex(domain: object, constraints: int = 0, start: ArrayLike | None = None) -> ConvexStructure:
    """The structure for a domain; the first point is its middle where none is given."""
    if not isinstance(domain, Domain):
        raise ParameterError(f"domain={domain!r} is not a domain: make one with box, ball, simplex or product")
    first = domain.centres.copy() if start is None else finite("initial_point", start, (domain.dim,))
    count = whole("n_constraints", constraints, low=0, high=10**6)
    return checked(ConvexStructure(domain, np.array([count], np.int64), first))


def checked(structure: ConvexStructure) -> ConvexStructure:
    """The same structure, made sure of: kernels trust it, and it may have come from saved bytes."""
    if not isinstance(structure, ConvexStructure):
        raise ParameterError("this problem has no domain to choose points from: make one with box, ball or simplex")
    domain = structure.domain
    dim, parts = domain.dim, len(domain.kinds)
    tiles = np.array_equal(domain.starts, np.append(0, domain.stops[:-1])) and list(domain.stops[-1:]) == [dim]
    long = all(len(each) == parts for each in (domain.starts, domain.stops, domain.sizes))
    wide = all(each.shape == (dim,) for each in (domain.highs, domain.centres, structure.start))
    known = long and wide and tiles and bool((domain.stops > domain.starts).all())
    if not known or not bool((domain.lows <= domain.highs).all()) or set(domain.kinds) - {BOX, BALL, SIMPLEX}:
        raise ParameterError("the domain does not fit together: make one with box, ball, simplex or product")
    if structure.constraints.shape != (1,) or structure.constraints[0] < 0:
        raise ParameterError(f"constraints={structure.constraints.tolist()} is not a whole number of at least 0")
    if not domain.contains(structure.start):
        raise ParameterError(f"the first point {structure.start.tolist()} lies outside the domain")
    return structure


# ---- making one ----


def box(low: ArrayLike, high: ArrayLike, *, size: int | None = None) -> Domain:
    """All points between `low` and `high`: vectors, or numbers for `size` coordinates.

    >>> box(0.0, 1.0, size=3).project([-1.0, 0.5, 7.0]).tolist()
    [0.0, 0.5, 1.0]
    """
    lows, highs = _vector("low", low, size), _vector("high", high, size)
    dim = max(len(lows), len(highs))
    if not {len(lows), len(highs)} <= {1, dim} or (size is not None and dim != size):
        raise ParameterError(f"low has {len(lows)} coordinates and high {len(highs)}: a box needs as many of both")
    lows, highs = np.resize(lows, dim), np.resize(highs, dim)
    empty = np.flatnonzero(lows > highs)
    if len(empty):
        k = empty[0]
        raise ParameterError(f"low={lows[k]:g} lies above high={highs[k]:g} in coordinate {k}: the box is empty")
    return _part(BOX, 0.0, lows, highs, 0.5 * lows + 0.5 * highs)


def ball(centre: ArrayLike, radius: float, *, size: int | None = None) -> Domain:
    """All points no further than `radius` from `centre`: a vector, or a number for `size` coordinates.

    >>> ball(0.0, 5.0, size=2).project([6.0, 8.0]).tolist()
    [3.0, 4.0]
    """
    middle, radius = _vector("centre", centre, size), number("radius", radius, above=0.0)
    return _part(BALL, radius, middle - radius, middle + radius, middle)


def simplex(size: int, total: float = 1.0) -> Domain:
    """All shares of a total: `size` coordinates, none negative, that sum to `total`.

    >>> simplex(3).project([0.6, 0.6, -1.0]).tolist()
    [0.5, 0.5, 0.0]
    """
    size, total = whole("size", size, high=10**7), number("total", total, above=0.0)
    return _part(SIMPLEX, total, np.zeros(size), np.full(size, total), np.full(size, total / size))


def product(*domains: Domain) -> Domain:
    """All points whose first coordinates lie in the first domain, the next in the second, and so on.

    >>> product(box(0.0, 1.0), simplex(2, total=4.0)).project([2.0, 1.0, 1.0]).tolist()
    [1.0, 2.0, 2.0]
    """
    if not domains:
        raise ParameterError("a product of no domains has no points to choose from: give at least one")
    for each in domains:
        if not isinstance(each, Domain):
            raise ParameterError(f"{each!r} is not a domain: make one with box, ball, simplex or product")
    shifts = np.cumsum([0, *(each.dim for each in domains[:-1])])
    moved = [
        each._replace(starts=each.starts + shift, stops=each.stops + shift)
        for each, shift in zip(domains, shifts, strict=True)
    ]
    return Domain(*(np.concatenate(column) for column in zip(*moved, strict=True)))


def _part(kind: int, size: float, lows: Floats, highs: Floats, centres: Floats) -> Domain:
    if not (0.5 * np.abs(highs) + 0.5 * np.abs(lows) < LARGEST).all():
        raise ParameterError(f"the domain is too large: its coordinates must stay below {LARGEST:g}")
    return Domain(
        kinds=np.array([kind], np.int64),
        starts=np.zeros(1, np.int64),
        stops=np.array([len(lows)], np.int64),
        sizes=np.array([size]),
        lows=lows,
        highs=highs,
        centres=centres,
    )


def _vector(name: str, value: ArrayLike, size: int | None) -> Floats:
    """A vector; a number stands for a vector of `size` equal ones."""
    vector = finite(name, value, None)
    if size is None or len(vector) == size:
        return vector
    if len(vector) > 1:
        raise ParameterError(f"{name} has {len(vector)} coordinates, and size={size}: leave one of them out")
    return np.full(whole("size", size, high=10**7), vector[0])


# ---- the nearest point ----


@kernel
def project_onto(domain: Domain, point: Floats) -> None:
    """Move a point to the nearest one of the set, in place."""
    for part in range(len(domain.kinds)):
        start, stop, kind = domain.starts[part], domain.stops[part], domain.kinds[part]
        if kind == BOX:
            for k in range(start, stop):
                point[k] = min(max(point[k], domain.lows[k]), domain.highs[k])
        elif kind == BALL:
            _into_ball(domain, part, point)
        else:
            _onto_simplex(point, start, stop, domain.sizes[part])


@kernel
def _into_ball(domain: Domain, part: int, point: Floats) -> None:
    radius, length = domain.sizes[part], distance(domain, part, point)
    if length > radius:
        for k in range(domain.starts[part], domain.stops[part]):
            point[k] = domain.centres[k] + (point[k] - domain.centres[k]) / length * radius


@kernel
def distance(domain: Domain, part: int, point: Floats) -> float:
    """How far a point is from the centre of a ball; measured by its largest coordinate, so that nothing overflows."""
    largest, squares = 0.0, 0.0
    for k in range(domain.starts[part], domain.stops[part]):
        largest = max(largest, abs(point[k] - domain.centres[k]))
    if largest == 0.0:
        return 0.0
    for k in range(domain.starts[part], domain.stops[part]):
        share = (point[k] - domain.centres[k]) / largest
        squares += share * share
    return largest * math.sqrt(squares)


@kernel
def _onto_simplex(point: Floats, start: int, stop: int, total: float) -> None:
    top = point[start]
    for k in range(start + 1, stop):
        top = max(top, point[k])
    theta, above, before = -total, 0, stop - start + 1
    while True:
        above, excess_sum = 0, 0.0
        for k in range(start, stop):
            if point[k] - top > theta:
                above += 1
                excess_sum += point[k] - top
        if above >= before:
            break
        theta, before = (excess_sum - total) / above, above
    for k in range(start, stop):
        point[k] = max(point[k] - top - theta, 0.0)


@kernel
def excess(domain: Domain, point: Floats) -> float:
    """By how much a point breaks the worst of the conditions that make the set; 0 inside."""
    worst = 0.0
    for k in range(len(point)):
        if point[k] != point[k]:
            return math.inf
    for part in range(len(domain.kinds)):
        if domain.kinds[part] == BALL:
            worst = max(worst, distance(domain, part, point) - domain.sizes[part])
            continue
        total = 0.0
        for k in range(domain.starts[part], domain.stops[part]):
            worst = max(worst, domain.lows[k] - point[k], point[k] - domain.highs[k])
            total += point[k]
        if domain.kinds[part] == SIMPLEX:
            worst = max(worst, abs(total - domain.sizes[part]))
    return worst
