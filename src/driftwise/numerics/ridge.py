"""Ridge regression that takes pairs in and gives them back, one at a time: O(d^2) each.

    V = lambda I + sum x x'      b = sum x y      theta = V^-1 b      width of x = sqrt(x' V^-1 x)

**V and b do not wear out.** Each entry is kept with what rounding left out of it, twice the digits in all, so a pair
that goes takes away what it had brought: the sums are those of the pairs at hand, whatever has come and gone.

**The inverse M is watched.** It follows V by rank-one steps (Sherman & Morrison), and each step adds a little error.
Let E = V M - I. M is symmetric to the last bit, so V^(1/2) M V^(1/2) - I is symmetric and has the eigenvalues of E:

    |x' M x - x' V^-1 x|  <=  |D^-1 E D| x' V^-1 x      for every x and any diagonal D

Here D^2 is the diagonal of V: units of measurement do not matter. Taking a pair in does not magnify the error. Giving x
back does, by at most 1 / (1 - x' M x) and only along x, so each time it is checked that V M x = x. What rounding adds
elsewhere comes slowly: `audit` measures the columns of E in turn, one at a time. When either shows more than TOLERANCE
the inverse is computed afresh.

A fresh inverse is not perfect either. V is rounded, and for that alone x' V^-1 x is off by about UNIT times the strain
of V, the sum of V_ii M_ii: d for features that have nothing in common, large where one direction was seen much and
another hardly at all. M is kept within SLACK of that, and the regression refuses to answer where a fresh inverse may be
off by more than HOPELESS, until pairs have gone and it can again. So the relative error of a width stays below about
10^-9 up to a strain of 10^5, 10^-8 up to 10^6, and 10^-6 always; `benchmarks/accuracy.py` measures it. Theta is solved
for with a step of refinement, which squares its error, unless the inverse is FINE.

Zeros in x cost little: where pairs leave V in blocks, one per arm, so is V^-1, and only the blocks are multiplied.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Cache, Floats, PerFeature, PerFeaturePair, Scratch, Shared
from driftwise.numerics.quadratic_forms import RowForms, new_row_forms, span

UNIT = 2.0**-53  # what one rounding may change, relatively
TOLERANCE = 1e-9  # relative error at which the inverse is computed afresh
FINE = 1e-12  # relative error below which the inverse needs no help
SLACK = 64.0  # times the error that the rounding of V makes by itself: fresh inverses stay below 12
HOPELESS = 1e-6  # relative error of a fresh inverse at which it is refused
SMALL = 12  # features: below, a product is summed entry by entry, in a register
THIN = 1e-4  # a pair that brings or takes all but this much of a direction is not followed by a rank-one step


class Ridge(NamedTuple):
    """V, b and V^-1. `gram_rest` and `moment_rest` are what rounding left out of V and b. `errors` holds the squared
    length of each column of D^-1 (V V^-1 - I) D as last measured, `cursor` the next to measure. What lies outside
    `starts` .. `stops` of a row of V and V^-1 is zero. `repairs` counts fresh inverses; `refused` while there is none.
    """

    gram: PerFeaturePair
    gram_rest: PerFeaturePair
    moment: PerFeature
    moment_rest: PerFeature
    inverse: PerFeaturePair
    errors: PerFeature
    prior: Shared
    cursor: Cache
    starts: Cache
    stops: Cache
    repairs: Shared
    refused: Shared
    theta: Scratch
    image: Scratch
    answer: Scratch
    factor: Scratch
    forms: RowForms


def new_ridge(dim: int, prior: float) -> Ridge:
    """No pairs yet: V = prior I."""
    square = (dim, dim)
    return Ridge(
        gram=prior * np.eye(dim),
        gram_rest=np.zeros(square),
        moment=np.zeros(dim),
        moment_rest=np.zeros(dim),
        inverse=np.eye(dim) / prior,
        errors=np.zeros(dim),
        prior=np.array([float(prior)]),
        cursor=np.zeros(1, np.int64),
        starts=np.zeros(dim, np.int64),
        stops=np.full(dim, dim),
        repairs=np.zeros(1, np.int64),
        refused=np.zeros(1, np.bool_),
        theta=np.zeros(dim),
        image=np.zeros(dim),
        answer=np.zeros(dim),
        factor=np.zeros(square),
        forms=new_row_forms(dim),
    )


@kernel(inline=False)
def clear(ridge: Ridge) -> None:
    """As if no pair had ever come."""
    dim = len(ridge.moment)
    for i in range(dim):
        ridge.moment[i] = 0.0
        ridge.moment_rest[i] = 0.0
        ridge.errors[i] = 0.0
        for j in range(dim):
            ridge.gram[i, j] = 0.0
            ridge.gram_rest[i, j] = 0.0
            ridge.inverse[i, j] = 0.0
        ridge.gram[i, i] = ridge.prior[0]
        ridge.inverse[i, i] = 1.0 / ridge.prior[0]
    ridge.cursor[0] = 0
    ridge.refused[0] = False


@kernel(inline=False)
def absorb(ridge: Ridge, x: Floats, y: float) -> None:
    """Take the pair (x, y) in."""
    _add(ridge, x, y, 1.0)
    grown = 1.0 + _apply(ridge, x)
    _widen(ridge, x)
    if grown * THIN < 1.0 and not ridge.refused[0]:
        _follow(ridge, -1.0, grown)
    else:
        repair(ridge)


@kernel(inline=False)
def release(ridge: Ridge, x: Floats, y: float) -> None:
    """Give the pair (x, y) back."""
    _add(ridge, x, y, -1.0)
    rest = 1.0 - _apply(ridge, x)
    if rest > THIN and not ridge.refused[0]:
        _follow(ridge, 1.0, rest)
        _check(ridge, x, rest)
    else:
        repair(ridge)


@kernel
def solve(ridge: Ridge) -> None:
    """Write V^-1 b to `theta`."""
    if ridge.refused[0]:
        raise FloatingPointError("the features are too large for the ridge to be inverted: scale them down")
    _multiply(ridge, ridge.inverse, ridge.moment, ridge.theta)
    if _error(ridge) > FINE:
        _refine(ridge)


@kernel(inline=False)
def _refine(ridge: Ridge) -> None:
    """A step from `theta` towards V^-1 b: what is left of its error is the square of what it was, relatively."""
    _multiply(ridge, ridge.gram, ridge.theta, ridge.answer)
    for i in range(len(ridge.answer)):
        ridge.answer[i] = ridge.moment[i] - ridge.answer[i]
    _multiply(ridge, ridge.inverse, ridge.answer, ridge.image)
    for i in range(len(ridge.image)):
        ridge.theta[i] += ridge.image[i]


@kernel
def dot(x: Floats, y: Floats) -> float:
    """<x, y>."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@kernel
def _apply(ridge: Ridge, x: Floats) -> float:
    """Write V^-1 x to `image`; return x' V^-1 x."""
    _multiply(ridge, ridge.inverse, x, ridge.image)
    return dot(x, ridge.image)


@kernel
def _multiply(ridge: Ridge, matrix: Floats, x: Floats, out: Floats) -> None:
    """V or V^-1 times x."""
    dim = len(out)
    if dim < SMALL:
        for i in range(dim):
            out[i] = dot(matrix[i], x)
        return
    for i in range(dim):
        out[i] = 0.0
    for j in range(dim):
        weight = x[j]
        if weight != 0.0:
            row, sums = matrix[j, ridge.starts[j] : ridge.stops[j]], out[ridge.starts[j] : ridge.stops[j]]
            for i in range(len(row)):
                sums[i] += weight * row[i]


@kernel
def _add(ridge: Ridge, x: Floats, y: float, sign: float) -> None:
    """Change V and b by a pair. Products are rounded alike when it comes and when it goes."""
    first, last = span(x)
    for i in range(first, last):
        weight = sign * x[i]
        if weight != 0.0:
            ridge.moment[i], ridge.moment_rest[i] = _sum(ridge.moment[i], ridge.moment_rest[i], weight * y)
            for j in range(first, last):
                ridge.gram[i, j], ridge.gram_rest[i, j] = _sum(ridge.gram[i, j], ridge.gram_rest[i, j], weight * x[j])


@kernel
def _sum(value: float, rest: float, term: float) -> tuple[float, float]:
    """`value + rest + term` as the nearest double, and what that leaves out (Knuth's two-sum)."""
    total = value + term
    rounded = total - value
    rest += (value - (total - rounded)) + (term - rounded)
    nearest = total + rest
    return nearest, rest - (nearest - total)


@kernel
def _follow(ridge: Ridge, sign: float, scale: float) -> None:
    """V^-1 after a pair came (-1) or went (+1) whose image is in `image`; the image is divided by sqrt(scale)."""
    first, last = span(ridge.image)
    factor = 1.0 / math.sqrt(scale)
    for i in range(first, last):
        ridge.image[i] *= factor
    for i in range(first, last):
        weight = sign * ridge.image[i]
        if weight != 0.0:
            for j in range(first, last):
                ridge.inverse[i, j] += weight * ridge.image[j]


@kernel
def _widen(ridge: Ridge, x: Floats) -> None:
    """A pair has come whose image is in `image`: where it made numbers of zeros."""
    if len(x) < SMALL:
        return
    first, last = len(x), -1
    for i in range(len(x)):
        if x[i] != 0.0 or ridge.image[i] != 0.0:
            first, last = min(first, i), i
    for i in range(first, last + 1):
        if x[i] != 0.0 or ridge.image[i] != 0.0:
            ridge.starts[i] = min(ridge.starts[i], first)
            ridge.stops[i] = max(ridge.stops[i], last + 1)


@kernel
def _narrow(ridge: Ridge, row: int) -> None:
    """Where the numbers in a row of V and V^-1 begin and end."""
    if len(ridge.errors) < SMALL:
        return
    start, stop = 0, len(ridge.errors)
    while start < row and ridge.inverse[row, start] == 0.0 and ridge.gram[row, start] == 0.0:
        start += 1
    while stop > row + 1 and ridge.inverse[row, stop - 1] == 0.0 and ridge.gram[row, stop - 1] == 0.0:
        stop -= 1
    ridge.starts[row] = start
    ridge.stops[row] = stop


@kernel
def _check(ridge: Ridge, x: Floats, rest: float) -> None:
    """Of the pair that went the inverse now says image / sqrt(left): mend it unless V makes x of that."""
    _multiply(ridge, ridge.gram, ridge.image, ridge.answer)
    factor = 1.0 / math.sqrt(rest)
    wrong, whole = 0.0, 0.0
    for i in range(len(x)):
        miss = factor * ridge.answer[i] - x[i]
        wrong += miss * miss / ridge.gram[i, i]
        whole += x[i] * x[i] / ridge.gram[i, i]
    limit = _allowed(ridge)
    if not (limit > 0.0 and wrong <= limit * limit * whole):
        repair(ridge)
    else:  # remembered for as long as a column is: in the place of the one measured last
        last = ridge.cursor[0] - 1 if ridge.cursor[0] > 0 else len(x) - 1
        ridge.errors[last] = max(ridge.errors[last], wrong / whole if whole > 0.0 else 0.0)


@kernel(inline=False)
def audit(ridge: Ridge) -> None:
    """Measure the next column of E, and mend the inverse when the columns as last measured ask for it."""
    column = ridge.cursor[0]
    _measure(ridge, column)
    ridge.cursor[0] = column + 1 if column + 1 < len(ridge.errors) else 0
    if not _error(ridge) <= _allowed(ridge):
        repair(ridge)


@kernel
def _measure(ridge: Ridge, column: int) -> None:
    """Measure a column of E."""
    _multiply(ridge, ridge.gram, ridge.inverse[column], ridge.answer)
    ridge.answer[column] -= 1.0
    total = 0.0
    for i in range(len(ridge.answer)):
        total += ridge.answer[i] * ridge.answer[i] / ridge.gram[i, i]
    ridge.errors[column] = total * ridge.gram[column, column]
    _narrow(ridge, column)


@kernel
def _error(ridge: Ridge) -> float:
    """|D^-1 E D|, by the columns as last measured."""
    total = 0.0
    for i in range(len(ridge.errors)):
        total += ridge.errors[i]
    return math.sqrt(total)


@kernel
def _allowed(ridge: Ridge) -> float:
    """The error at which the inverse is computed afresh; none at all where V can hardly be inverted."""
    rounding = UNIT * _strain(ridge)
    return min(max(TOLERANCE, SLACK * rounding), HOPELESS) if rounding < HOPELESS else -1.0


@kernel
def _strain(ridge: Ridge) -> float:
    """How much the rounding of V is magnified."""
    total = 0.0
    for i in range(len(ridge.errors)):
        total += ridge.gram[i, i] * ridge.inverse[i, i]
    return total


@kernel(inline=False)
def repair(ridge: Ridge) -> None:
    """V^-1 from V by Cholesky, measured whole."""
    ridge.repairs[0] += 1
    ridge.refused[0] = True
    invert(ridge.gram, ridge.factor, ridge.inverse)
    for column in range(len(ridge.errors)):
        _measure(ridge, column)
    if not _error(ridge) + UNIT * _strain(ridge) < HOPELESS:
        raise FloatingPointError("the features are too large for the ridge to be inverted: scale them down")
    ridge.refused[0] = False


@kernel
def invert(matrix: Floats, factor: Floats, inverse: Floats) -> None:
    """The inverse of a positive definite matrix, symmetric to the last bit; `factor` is room to work in."""
    factorise(matrix, factor)
    dim = len(matrix)
    for i in range(dim):  # the inverse W of the lower factor, row by row
        for j in range(i):
            inverse[i, j] = 0.0
        for k in range(i):
            weight = factor[i, k]
            if weight != 0.0:
                for j in range(k + 1):
                    inverse[i, j] -= weight * inverse[k, j]
        for j in range(i):
            inverse[i, j] /= factor[i, i]
        inverse[i, i] = 1.0 / factor[i, i]
    for i in range(dim):
        for j in range(i + 1):
            factor[i, j] = inverse[i, j]
            inverse[i, j] = 0.0
    for k in range(dim):  # W' W
        for i in range(k + 1):
            weight = factor[k, i]
            if weight != 0.0:
                for j in range(i + 1):
                    inverse[i, j] += weight * factor[k, j]
    for i in range(dim):
        for j in range(i):
            inverse[j, i] = inverse[i, j]


@kernel
def factorise(matrix: Floats, factor: Floats) -> None:
    """The lower Cholesky factor, and its transpose above the diagonal; `matrix` is read on and below it."""
    dim = len(matrix)
    for i in range(dim):
        for j in range(i + 1):
            factor[i, j] = matrix[i, j]
    for k in range(dim):
        if not factor[k, k] > 0.0:
            raise FloatingPointError("the features are too large for the ridge to be inverted: scale them down")
        factor[k, k] = math.sqrt(factor[k, k])
        for i in range(k + 1, dim):
            weight = factor[i, k] / factor[k, k]
            factor[i, k] = weight
            factor[k, i] = weight
            if weight != 0.0:
                for j in range(k + 1, i + 1):
                    factor[i, j] -= weight * factor[k, j]
