"""A parameter drawn from a Gaussian belief, and the row it likes best.

With V = L L' and z standard normal, theta + v L'^-1 z has the law N(theta, v^2 V^-1): one factorisation, O(d^3 / 6),
and one triangle to solve. While rewards are under way, theta + v M^-1 L z has the covariance of
`families/contextual/pending_rows.py`, v^2 M^-1 V M^-1.
"""

from typing import Any

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import normal
from driftwise.core.types import Floats
from driftwise.families.contextual.pending_rows import PendingRows, any_pending, invert_with
from driftwise.numerics.ridge import Ridge, dot, factorise, solve


@kernel
def draw_parameter(ridge: Ridge, pending: PendingRows, spread: float, draw: Floats, rng: Any) -> None:
    """Write a draw to `draw`: its mean is V^-1 b, its covariance spread^2 V^-1 or, with rows under way, theirs."""
    factorise(ridge.gram, ridge.factor)
    fill_normals(draw, rng)
    if any_pending(pending):
        invert_with(pending, ridge.gram, pending.inverse)
        apply_lower(ridge.factor, draw)
        apply_matrix(pending.inverse, draw, ridge.image)
        for i in range(len(draw)):
            draw[i] = ridge.image[i]
    else:
        _solve_upper(ridge.factor, draw)
    solve(ridge)
    for i in range(len(draw)):
        draw[i] = ridge.theta[i] + spread * draw[i]


@kernel
def fill_normals(out: Floats, rng: Any) -> None:
    """Standard normals from one stream."""
    for i in range(len(out)):
        out[i], rng = normal(rng)


@kernel
def apply_lower(factor: Floats, z: Floats) -> None:
    """Z becomes L z, for the lower factor L."""
    for i in range(len(z) - 1, -1, -1):
        z[i] *= factor[i, i]
        for j in range(i):
            z[i] += factor[i, j] * z[j]


@kernel
def apply_matrix(matrix: Floats, x: Floats, out: Floats) -> None:
    """Write the product of a symmetric matrix and `x`."""
    for i in range(len(x)):
        out[i] = 0.0
    for j in range(len(x)):
        weight = x[j]
        if weight != 0.0:
            for i in range(len(x)):
                out[i] += weight * matrix[j, i]


@kernel
def _solve_upper(factor: Floats, z: Floats) -> None:
    """Z becomes L'^-1 z, for the lower factor L."""
    for i in range(len(z) - 1, -1, -1):
        z[i] /= factor[i, i]
        for j in range(i):
            z[j] -= factor[i, j] * z[i]


@kernel
def favourite_row(context: Floats, theta: Floats) -> int:
    """The row with the largest mean under `theta`, the first among equals."""
    best, top = 0, -np.inf
    for row in range(len(context)):
        mean = dot(context[row], theta)
        if mean > top:
            best, top = row, mean
    return best
