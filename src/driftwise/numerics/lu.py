"""Dense linear systems in room that the caller gives: A X = B by elimination with partial pivoting.

    factor(A, B, pivots)       A becomes its factors, B what forward substitution makes of it
    back_substitute(A, B)      B becomes the X with A X = B
    solve_factored(A, ...)     one more right-hand side, when A has been factored

Columns are taken BLOCK at a time: within a block by the book, and the rest of the matrix follows by products of whole
blocks. Almost all work is `less_product`, four rows at a time so that sums stay in registers: half the speed of the
best libraries on matrices of hundreds, more than they do on tens, and no threads of its own that would meet ours.
"""

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints

BLOCK = 32


@kernel(inline=False)
def less_product(out: Floats, weights: Floats, rows: Floats, first: int, last: int) -> None:
    """Take away from `out` the sum of `weights[l] * rows[l]` over l = first .. last - 1, of rows as much as fits, from
    their ends.
    """
    stop, index = rows.shape[1], first
    start = stop - len(out)
    while index + 4 <= last:
        a, b, c, d = weights[index], weights[index + 1], weights[index + 2], weights[index + 3]
        row_a, row_b = rows[index, start:stop], rows[index + 1, start:stop]
        row_c, row_d = rows[index + 2, start:stop], rows[index + 3, start:stop]
        for j in range(len(out)):
            out[j] -= (a * row_a[j] + b * row_b[j]) + (c * row_c[j] + d * row_d[j])
        index += 4
    while index < last:
        a, row_a = weights[index], rows[index, start:stop]
        for j in range(len(out)):
            out[j] -= a * row_a[j]
        index += 1


@kernel(inline=False)
def factor(matrix: Floats, right: Floats, pivots: Ints) -> float:
    """Write L, below the diagonal, and U in place of `matrix`, and L^-1 times `right` in place of it.

    Row k was exchanged with row `pivots[k]`. Returns the smallest pivot over the largest: 0 when A is singular.
    """
    size, wide = len(matrix), right.shape[1]
    least, most = np.inf, 0.0
    for start in range(0, size, BLOCK):
        stop = min(size, start + BLOCK)
        for k in range(start, stop):
            pivot = abs(_exchange(matrix, right, pivots, k))
            least, most = min(least, pivot), max(most, pivot)
            if pivot == 0.0:
                return 0.0
            for i in range(k + 1, size):
                weight = matrix[i, k] / matrix[k, k]
                matrix[i, k] = weight
                for j in range(k + 1, stop):
                    matrix[i, j] -= weight * matrix[k, j]
        for i in range(start + 1, size):
            above = min(i, stop)
            less_product(matrix[i, stop:size], matrix[i], matrix, start, above)
            less_product(right[i, 0:wide], matrix[i], right, start, above)
    return least / most


@kernel
def _exchange(matrix: Floats, right: Floats, pivots: Ints, k: int) -> float:
    """Bring the row with the largest entry in column k, from row k on, to row k; return that entry."""
    best = k
    for i in range(k + 1, len(matrix)):
        if abs(matrix[i, k]) > abs(matrix[best, k]):
            best = i
    pivots[k] = best
    if best != k:
        for j in range(len(matrix)):
            matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
        for j in range(right.shape[1]):
            right[k, j], right[best, j] = right[best, j], right[k, j]
    return float(matrix[k, k])


@kernel(inline=False)
def back_substitute(matrix: Floats, right: Floats) -> None:
    """Write X in place of `right`, both as `factor` has left them."""
    size, wide = len(matrix), right.shape[1]
    for block in range((size - 1) // BLOCK, -1, -1):
        start, stop = block * BLOCK, min(size, block * BLOCK + BLOCK)
        for i in range(stop - 1, start - 1, -1):
            row = right[i, 0:wide]
            less_product(row, matrix[i], right, i + 1, stop)
            scale = 1.0 / matrix[i, i]
            for j in range(wide):
                row[j] *= scale
        for i in range(start):
            less_product(right[i, 0:wide], matrix[i], right, start, stop)


@kernel(inline=False)
def solve_factored(matrix: Floats, pivots: Ints, vector: Floats) -> None:
    """Write A^-1 b in place of b; `matrix` holds the factors of A."""
    size = len(matrix)
    for k in range(size):
        vector[k], vector[pivots[k]] = vector[pivots[k]], vector[k]
    for i in range(size):
        total = vector[i]
        for j in range(i):
            total -= matrix[i, j] * vector[j]
        vector[i] = total
    for i in range(size - 1, -1, -1):
        total = vector[i]
        for j in range(i + 1, size):
            total -= matrix[i, j] * vector[j]
        vector[i] = total / matrix[i, i]
