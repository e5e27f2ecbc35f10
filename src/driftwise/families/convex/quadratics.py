"""Losses and constraints in one shape: k/2 |x|^2 + a'x + b, several of them a round.

With k = 0 they are linear, with a = -k c a squared distance from c. The shape is closed under sums, so what a thousand
rounds ask of one fixed point is again one such function, and its largest and least values over a domain are known
exactly, part by part:

    box       every coordinate on its own: at an end, or where k x + a = 0
    ball      with x = c + u, k/2 |u|^2 + (k c + a)'u + constant: along +- (k c + a), as far as pays
    simplex   k >= 0: at a corner; k < 0: at the point nearest to -a / k
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.families.convex.projections import BALL, BOX, Domain, project_onto


class Quadratics(NamedTuple):
    """Round i has row `rows[i]` of the three tables; function j of it is curves/2 |x|^2 + slopes'x + levels."""

    curves: Floats
    slopes: Floats
    levels: Floats
    rows: NDArray[np.int32]

    @property
    def weights(self) -> Floats:
        """In how many rounds each row is met."""
        return np.bincount(self.rows, minlength=len(self.levels)).astype(float)

    @property
    def mean(self) -> "Quadratics":
        """The mean over all rounds, as one row for all of them."""
        shares = self.weights / len(self.rows)
        curves, slopes, levels = (np.tensordot(shares, table, 1)[None] for table in self[:3])
        return Quadratics(curves, slopes, levels, np.zeros(len(self.rows), np.int32))


@kernel
def value_at(forms: Quadratics, row: int, j: int, point: Floats) -> float:
    """The value of function j of a row of the tables."""
    square, product = 0.0, 0.0
    for k in range(len(point)):
        square += point[k] * point[k]
        product += forms.slopes[row, j, k] * point[k]
    return float(0.5 * forms.curves[row, j] * square + product + forms.levels[row, j])


@kernel
def fill_gradient(forms: Quadratics, row: int, j: int, point: Floats, gradient: Floats) -> None:
    """Write the gradient of function j of a row of the tables."""
    for k in range(len(point)):
        gradient[k] = forms.curves[row, j] * point[k] + forms.slopes[row, j, k]


@kernel
def most_over(domain: Domain, curve: float, slope: Floats, level: float, room: Floats) -> float:
    """The largest value of one function over a domain; `room` has a place for each coordinate."""
    total = level
    for part in range(len(domain.kinds)):
        if domain.kinds[part] == BOX:
            total += _most_over_box(domain, part, curve, slope)
        elif domain.kinds[part] == BALL:
            total += _most_over_ball(domain, part, curve, slope)
    return total + _most_over_simplices(domain, curve, slope, room)


@kernel
def _most_over_box(domain: Domain, part: int, curve: float, slope: Floats) -> float:
    total = 0.0
    for k in range(domain.starts[part], domain.stops[part]):
        low, high = domain.lows[k], domain.highs[k]
        best = max(low * (0.5 * curve * low + slope[k]), high * (0.5 * curve * high + slope[k]))
        if curve < 0.0 and low < -slope[k] / curve < high:
            best = -0.5 * slope[k] * slope[k] / curve
        total += best
    return total


@kernel
def _most_over_ball(domain: Domain, part: int, curve: float, slope: Floats) -> float:
    at_centre, steep = 0.0, 0.0
    for k in range(domain.starts[part], domain.stops[part]):
        centre = domain.centres[k]
        at_centre += centre * (0.5 * curve * centre + slope[k])
        steep += (curve * centre + slope[k]) ** 2
    steep, far = math.sqrt(steep), domain.sizes[part]
    if curve < 0.0:
        far = min(far, -steep / curve)
    return float(at_centre + far * (0.5 * curve * far + steep))


@kernel
def _most_over_simplices(domain: Domain, curve: float, slope: Floats, room: Floats) -> float:
    total, concave = 0.0, curve < 0.0
    if concave:
        for k in range(len(room)):
            room[k] = -slope[k] / curve
        project_onto(domain, room)
    for part in range(len(domain.kinds)):
        if domain.kinds[part] == BOX or domain.kinds[part] == BALL:
            continue
        size, top = domain.sizes[part], -math.inf
        for k in range(domain.starts[part], domain.stops[part]):
            top = max(top, slope[k])
            if concave:
                total += room[k] * (0.5 * curve * room[k] + slope[k])
        if not concave:
            total += size * (0.5 * curve * size + top)
    return total


@kernel
def farthest_from_mean(
    domain: Domain, forms: Quadratics, mean: Quadratics, weights: Floats, slope: Floats, room: Floats
) -> float:
    """The sum over rounds and functions of the largest |g - mean of g| over a domain."""
    total = 0.0
    for row in range(len(weights)):
        for j in range(forms.levels.shape[1]):
            curve, level = forms.curves[row, j] - mean.curves[0, j], forms.levels[row, j] - mean.levels[0, j]
            for k in range(len(slope)):
                slope[k] = forms.slopes[row, j, k] - mean.slopes[0, j, k]
            above = most_over(domain, curve, slope, level, room)
            for k in range(len(slope)):
                slope[k] = -slope[k]
            total += weights[row] * max(above, most_over(domain, -curve, slope, -level, room))
    return total
