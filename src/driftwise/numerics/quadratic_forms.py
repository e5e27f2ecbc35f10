"""<x, v> and x' M x of many rows x at once, M symmetric.

Rows that are mostly non-zero are turned on their side and worked out abreast, up to LANES of them: the processor does
several at a time, which it cannot within a row of five features. Few rows, and those with many zeros, are taken one by
one, and zeros cost nothing. Either way the sums of a row are formed in the same order, so the results are the same.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Scratch

LANES = 64  # rows worked out abreast
FEW = 8  # rows not worth turning
STRIDE = 16  # features looked at together


class RowForms(NamedTuple):
    """Results: `means` <x, v> and `squares` x' M x; the rest is room to work in."""

    means: Scratch
    squares: Scratch
    crosses: Scratch
    columns: Scratch
    places: Scratch


def new_row_forms(dim: int) -> RowForms:
    """Room for rows of `dim` features."""
    return RowForms(
        means=np.zeros(LANES),
        squares=np.zeros(LANES),
        crosses=np.zeros(LANES),
        columns=np.zeros((dim, LANES)),
        places=np.zeros(dim, np.int64),
    )


@kernel(inline=False)
def measure_rows(forms: RowForms, matrix: Floats, vector: Floats, rows: Floats, first: int, count: int) -> None:
    """Write both forms of rows `first` .. `first + count - 1`, at most LANES of them."""
    if count < FEW or _mostly_zero(rows[first]):
        for lane in range(count):
            _measure_row(forms, matrix, vector, rows[first + lane], lane)
    else:
        _measure_abreast(forms, matrix, vector, rows, first, count)


@kernel
def span(x: Floats) -> tuple[int, int]:
    """Where the numbers of a row begin and end that are not zero."""
    first, last = 0, len(x)
    while last - first >= STRIDE and _all_zero(x, first):
        first += STRIDE
    while last - first >= STRIDE and _all_zero(x, last - STRIDE):
        last -= STRIDE
    while first < last and x[first] == 0.0:
        first += 1
    while first < last and x[last - 1] == 0.0:
        last -= 1
    return first, last


@kernel
def _all_zero(x: Floats, first: int) -> bool:
    """Whether STRIDE numbers are zero; without a way out of the loop, the processor does several at a time."""
    nonzero = False
    for i in range(first, first + STRIDE):
        nonzero |= x[i] != 0.0
    return not nonzero


@kernel
def _mostly_zero(x: Floats) -> bool:
    zeros = 0
    for i in range(len(x)):
        zeros += x[i] == 0.0
    return 2 * zeros > len(x)


@kernel
def measure_row(matrix: Floats, vector: Floats, x: Floats, crosses: Floats) -> tuple[float, float]:
    """<x, v> and x' M x of one row that has few zeros; `crosses` is room for as many numbers.

    The sums are those of `measure_rows`, each in the same order. The inner loop adds to many of them, four features a
    turn: the processor does several at a time, which it cannot within one sum.
    """
    dim = len(x)
    for i in range(dim):
        crosses[i] = 0.0
    fours = dim - dim % 4
    for j in range(0, fours, 4):
        a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
        crosses[j + 1] += matrix[j, j + 1] * a
        crosses[j + 2] = crosses[j + 2] + matrix[j, j + 2] * a + matrix[j + 1, j + 2] * b
        cross = crosses[j + 3] + matrix[j, j + 3] * a + matrix[j + 1, j + 3] * b
        crosses[j + 3] = cross + matrix[j + 2, j + 3] * c
        for i in range(j + 4, dim):
            cross = crosses[i] + matrix[j, i] * a + matrix[j + 1, i] * b
            crosses[i] = cross + matrix[j + 2, i] * c + matrix[j + 3, i] * d
    for j in range(fours, dim):
        for i in range(j + 1, dim):
            crosses[i] += matrix[j, i] * x[j]
    mean, square = 0.0, 0.0
    for i in range(dim):
        square += x[i] * (matrix[i, i] * x[i] + 2.0 * crosses[i])
        mean += x[i] * vector[i]
    return mean, square


@kernel
def _measure_row(forms: RowForms, matrix: Floats, vector: Floats, x: Floats, lane: int) -> None:
    """One row, by its non-zeros."""
    count = 0
    first, last = span(x)
    for i in range(first, last):
        forms.places[count] = i  # stays only where the next line moves on
        count += x[i] != 0.0
    mean, square = 0.0, 0.0
    for k in range(count):
        i = forms.places[k]
        cross = 0.0
        for m in range(k):
            j = forms.places[m]
            cross += matrix[i, j] * x[j]
        square += x[i] * (matrix[i, i] * x[i] + 2.0 * cross)
        mean += x[i] * vector[i]
    forms.means[lane] = mean
    forms.squares[lane] = square


@kernel
def _measure_abreast(forms: RowForms, matrix: Floats, vector: Floats, rows: Floats, first: int, count: int) -> None:
    """Every inner loop runs over rows; four features a turn, so that what it sums is stored less often."""
    means, squares, crosses, columns = forms.means, forms.squares, forms.crosses, forms.columns
    for lane in range(count):
        means[lane] = 0.0
        squares[lane] = 0.0
    for i in range(rows.shape[1]):
        for lane in range(count):
            columns[i, lane] = rows[first + lane, i]
            crosses[lane] = 0.0
        fours = i - i % 4
        for j in range(0, fours, 4):
            a, b, c, d = matrix[i, j], matrix[i, j + 1], matrix[i, j + 2], matrix[i, j + 3]
            for lane in range(count):
                cross = crosses[lane] + a * columns[j, lane] + b * columns[j + 1, lane]
                crosses[lane] = cross + c * columns[j + 2, lane] + d * columns[j + 3, lane]
        for j in range(fours, i):
            weight = matrix[i, j]
            for lane in range(count):
                crosses[lane] += weight * columns[j, lane]
        own, slope = matrix[i, i], vector[i]
        for lane in range(count):
            x = columns[i, lane]
            squares[lane] += x * (own * x + 2.0 * crosses[lane])
            means[lane] += x * slope
