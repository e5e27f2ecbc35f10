"""The covariance of a belief while rewards are under way: what it would be if filters had seen the pending rows."""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Scratch
from driftwise.numerics.ridge import dot, factorise


class NarrowRoom(NamedTuple):
    """Room to work in."""

    root: Scratch
    grown: Scratch
    factor: Scratch
    column: Scratch


def new_narrow_room(dim: int) -> NarrowRoom:
    """Room for matrices of this size."""
    return NarrowRoom(np.zeros((dim, dim)), np.zeros((dim, dim)), np.zeros((dim, dim)), np.zeros(dim))


@kernel(inline=False)
def narrow_covariance(covariance: Floats, pairs: Floats, variance: float, room: NarrowRoom) -> None:
    """Replace C by (C^-1 + P / variance)^-1, for P = `pairs`, zero for coordinates it does not have.

    It is L B^-1 L', with C = L L' and B = I + L' P L / variance.
    """
    dim, n_pairs = len(covariance), len(pairs)
    root, grown, product = room.root, room.grown, room.factor
    factorise(covariance, root)
    for i in range(n_pairs):
        for j in range(n_pairs):
            product[i, j] = 0.0
            for k in range(j, n_pairs):
                product[i, j] += pairs[i, k] * root[k, j]
    for i in range(dim):
        for j in range(i + 1):
            grown[i, j] = 0.0
            if j < n_pairs:
                for k in range(i, n_pairs):
                    grown[i, j] += root[k, i] * product[k, j]
            grown[i, j] /= variance
        grown[i, i] += 1.0
    factorise(grown, product)
    for column in range(dim):  # G^-1 L' with B = G G', a column of it at a time
        for i in range(dim):
            total = root[column, i] if i <= column else 0.0
            for k in range(i):
                total -= product[i, k] * room.column[k]
            room.column[i] = total / product[i, i]
        for i in range(dim):
            grown[column, i] = room.column[i]
    for i in range(dim):
        for j in range(dim):
            covariance[i, j] = dot(grown[i], grown[j])
