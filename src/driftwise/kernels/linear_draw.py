"""A parameter drawn from a Gaussian belief, and the row it likes best.

With V = L L' and z standard normal, theta + v L'^-1 z has the law N(theta, v^2 V^-1): one factorisation, O(d^3 / 6),
and one triangle to solve.
"""

from typing import Any

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import normal
from driftwise.core.types import Floats
from driftwise.kernels.ridge import Ridge, dot, factorise, solve


@kernel
def draw_parameter(ridge: Ridge, spread: float, draw: Floats, rng: Any) -> None:
    """Write a draw from N(V^-1 b, spread^2 V^-1) to `draw`."""
    factorise(ridge.gram, ridge.factor)
    fill_normals(draw, rng)
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
