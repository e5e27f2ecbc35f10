"""Ridge regression that takes pairs in and gives them back, one at a time: O(d^2) each.

    V = lambda I + sum x x'      b = sum x y      theta = V^-1 b      width of x = sqrt(x' V^-1 x)

The inverse follows by rank-one steps (Sherman & Morrison), and each step adds a little error. It is not left to luck:
every round one column of V V^-1 - I is measured, in turn, and when what was measured says that some index could be off
by more than one part in 10^9, the inverse is computed afresh from V. With E = V V^-1 - I, the relative error of
x' V^-1 x is at most |E| sqrt(cond V), and cond V at most trace V trace V^-1. Features so large, or a ridge so small,
that even a fresh inverse is off by one part in 10^6 are refused with an error.

Zeros in x cost nothing: features made of blocks, one per arm, are as cheap as a regression per arm.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, PerFeature, PerFeaturePair, Scratch, Shared

TOLERANCE = 1e-9  # relative error of an index at which the inverse is computed afresh
HOPELESS = 1e-6  # and at which even a fresh one is refused
THIN = 1e-4  # a pair that held all but this much of a direction is not taken out by a rank-one step


class Ridge(NamedTuple):
    """V, b and V^-1; `errors` holds the squared length of each measured column of V V^-1 - I."""

    gram: PerFeaturePair
    moment: PerFeature
    inverse: PerFeaturePair
    errors: PerFeature
    prior: Shared
    cursor: Shared
    repairs: Shared
    theta: Scratch
    image: Scratch
    factor: Scratch


def new_ridge(dim: int, prior: float) -> Ridge:
    """No pairs yet: V = prior I."""
    return Ridge(
        gram=prior * np.eye(dim),
        moment=np.zeros(dim),
        inverse=np.eye(dim) / prior,
        errors=np.zeros(dim),
        prior=np.array([float(prior)]),
        cursor=np.zeros(1, np.int64),
        repairs=np.zeros(1, np.int64),
        theta=np.zeros(dim),
        image=np.zeros(dim),
        factor=np.zeros((dim, dim)),
    )


@kernel
def clear(ridge: Ridge) -> None:
    """As if no pair had ever come."""
    dim = len(ridge.moment)
    for i in range(dim):
        ridge.moment[i] = 0.0
        ridge.errors[i] = 0.0
        for j in range(dim):
            ridge.gram[i, j] = 0.0
            ridge.inverse[i, j] = 0.0
        ridge.gram[i, i] = ridge.prior[0]
        ridge.inverse[i, i] = 1.0 / ridge.prior[0]
    ridge.cursor[0] = 0


@kernel
def absorb(ridge: Ridge, x: Floats, y: float) -> None:
    """Take the pair (x, y) in."""
    _add(ridge, x, y, 1.0)
    _follow(ridge, 1.0, 1.0 + _apply(ridge, x))


@kernel
def release(ridge: Ridge, x: Floats, y: float) -> None:
    """Give the pair (x, y) back."""
    _add(ridge, x, y, -1.0)
    left = 1.0 - _apply(ridge, x)
    if left > THIN:
        _follow(ridge, -1.0, left)
    else:
        repair(ridge)


@kernel
def solve(ridge: Ridge) -> None:
    """Write V^-1 b to `theta`."""
    dim = len(ridge.moment)
    for i in range(dim):
        ridge.theta[i] = 0.0
    for j in range(dim):
        weight = ridge.moment[j]
        if weight != 0.0:
            for i in range(dim):
                ridge.theta[i] += weight * ridge.inverse[j, i]


@kernel
def dot(x: Floats, y: Floats) -> float:
    """<x, y>."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@kernel
def width(ridge: Ridge, x: Floats) -> float:
    """The length of x as the inverse measures it: how little is known in its direction."""
    return math.sqrt(max(0.0, _apply(ridge, x)))


@kernel
def _apply(ridge: Ridge, x: Floats) -> float:
    """Write V^-1 x to `image`; return x' V^-1 x."""
    dim = len(ridge.image)
    for i in range(dim):
        ridge.image[i] = 0.0
    for j in range(dim):
        weight = x[j]
        if weight != 0.0:
            for i in range(dim):
                ridge.image[i] += weight * ridge.inverse[j, i]
    return dot(x, ridge.image)


@kernel
def _add(ridge: Ridge, x: Floats, y: float, sign: float) -> None:
    for i in range(len(x)):
        weight = sign * x[i]
        if weight != 0.0:
            ridge.moment[i] += weight * y
            for j in range(len(x)):
                ridge.gram[i, j] += weight * x[j]


@kernel
def _follow(ridge: Ridge, sign: float, left: float) -> None:
    """V^-1 after a pair whose image under the old V^-1 is in `image` came (+1) or went (-1)."""
    dim = len(ridge.image)
    for i in range(dim):
        weight = sign * ridge.image[i] / left
        if weight != 0.0:
            for j in range(dim):
                ridge.inverse[i, j] -= weight * ridge.image[j]


@kernel
def audit(ridge: Ridge) -> None:
    """Measure the next column of V V^-1 - I, and mend the inverse when the measured error asks for it."""
    column = ridge.cursor[0]
    _measure(ridge, column)
    ridge.cursor[0] = column + 1 if column + 1 < len(ridge.errors) else 0
    if _index_error(ridge) > TOLERANCE:
        repair(ridge)


@kernel
def _measure(ridge: Ridge, column: int) -> None:
    dim = len(ridge.errors)
    for i in range(dim):
        ridge.image[i] = 0.0
    for j in range(dim):
        weight = ridge.inverse[column, j]
        if weight != 0.0:
            for i in range(dim):
                ridge.image[i] += weight * ridge.gram[j, i]
    ridge.image[column] -= 1.0
    ridge.errors[column] = dot(ridge.image, ridge.image)


@kernel
def _index_error(ridge: Ridge) -> float:
    """The most an index can be off, relatively, by the columns as last measured."""
    squares, trace, inverse_trace = 0.0, 0.0, 0.0
    for i in range(len(ridge.errors)):
        squares += ridge.errors[i]
        trace += ridge.gram[i, i]
        inverse_trace += ridge.inverse[i, i]
    return math.sqrt(squares * trace * inverse_trace)


@kernel(inline=False)
def repair(ridge: Ridge) -> None:
    """V^-1 from V by Cholesky, measured whole."""
    invert(ridge.gram, ridge.factor, ridge.inverse)
    ridge.repairs[0] += 1
    for column in range(len(ridge.errors)):
        _measure(ridge, column)
    if not _index_error(ridge) < HOPELESS:
        raise FloatingPointError("the features are too large for the ridge to be inverted: scale them down")


@kernel
def invert(matrix: Floats, factor: Floats, inverse: Floats) -> None:
    """The inverse of a positive definite matrix; `factor` is room to work in."""
    factorise(matrix, factor)
    dim = len(matrix)
    for j in range(dim):  # the inverse of the lower factor takes its place, column by column
        factor[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, dim):
            total = 0.0
            for k in range(j, i):
                total -= factor[i, k] * factor[k, j]
            factor[i, j] = total / factor[i, i]
    for i in range(dim):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, dim):
                total += factor[k, i] * factor[k, j]
            inverse[i, j] = total
            inverse[j, i] = total


@kernel
def factorise(matrix: Floats, factor: Floats) -> None:
    """The lower Cholesky factor."""
    dim = len(matrix)
    for j in range(dim):
        for i in range(j, dim):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = total / factor[j, j]
            elif total > 0.0:
                factor[j, j] = math.sqrt(total)
            else:
                raise FloatingPointError("the features are too large for the ridge to be inverted: scale them down")
