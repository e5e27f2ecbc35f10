"""Rows that span: which action to take so that the features seen point in every direction.

The row farthest from the span of those taken before, then the farthest from the span of those and this, and so on: the
first pivots of a QR factorisation with pivoting, which make the volume between them large one by one. Rows equally far
to nine digits are equal, and the first is taken, so that rounding does not choose.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Scratch
from driftwise.families.contextual.feature_window import FeatureWindow
from driftwise.families.contextual.pending_ring import NOBODY, PendingRing, slot_under_way

NO_ROW = -1
EQUAL = 1e-9  # squared distances that differ by less, relatively, are equal
FLAT = 1e-12  # rows whose squared distance is less of the longest row add no direction


class Span(NamedTuple):
    """Room for orthonormal directions, a row each, and for the row at hand."""

    directions: Scratch
    rest: Scratch


def new_span(dim: int) -> Span:
    """No directions yet."""
    return Span(np.zeros((dim, dim)), np.zeros(dim))


@kernel(inline=False)
def widen(span: Span, rank: int, x: Floats) -> int:
    """Add the direction of x to the `rank` there are, unless it is among them; how many there are now."""
    if rank == len(span.rest):
        return rank
    square = _distance(span, rank, x)
    if square <= FLAT * _square(x):
        return rank
    for i in range(len(x)):
        span.directions[rank, i] = span.rest[i] / np.sqrt(square)
    return rank + 1


@kernel(inline=False)
def farthest(span: Span, rank: int, rows: Floats) -> int:
    """The row farthest from the span of the `rank` directions; NO_ROW when all rows lie in it."""
    best, top, longest = NO_ROW, 0.0, 0.0
    for row in range(len(rows)):
        longest = max(longest, _square(rows[row]))
        square = _distance(span, rank, rows[row])
        if square > top * (1.0 + EQUAL):
            best, top = row, square
    return best if top > FLAT * longest else NO_ROW


@kernel
def _distance(span: Span, rank: int, x: Floats) -> float:
    """Write what of x lies outside the span to `rest`; its squared length."""
    for i in range(len(x)):
        span.rest[i] = x[i]
    for k in range(rank):
        along = 0.0
        for i in range(len(x)):
            along += span.rest[i] * span.directions[k, i]
        for i in range(len(x)):
            span.rest[i] -= along * span.directions[k, i]
    return _square(span.rest)


@kernel
def _square(x: Floats) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return total


@kernel
def explored_row(span: Span, window: FeatureWindow, ring: PendingRing, context: Floats) -> int:
    """The row to explore in one of the first d rounds of a cycle, which is a pass through the ring; else NO_ROW.

    Rows count once they are taken. Those that nobody told of yet are unknown here: so many are picked from the rows at
    hand in their stead.
    """
    position, begun = window.head[0], window.clock[0] - window.head[0]
    if position >= window.features.shape[1]:
        return NO_ROW
    rank, unknown = 0, 0
    for slot in range(position):
        under_way = slot_under_way(ring, window, begun + slot)
        if window.filled[slot]:
            rank = widen(span, rank, window.features[slot])
        elif under_way != NOBODY:
            rank = widen(span, rank, ring.rows[under_way])
        else:
            unknown += 1
    row = farthest(span, rank, context)
    while unknown > 0 and row != NO_ROW:
        rank = widen(span, rank, context[row])
        row = farthest(span, rank, context)
        unknown -= 1
    return row


def coverage(actions: Floats) -> float:
    """The least eigenvalue of sum a a' over the rows that are picked when these actions are offered in every round."""
    rows = rest = np.array(actions, np.float64)
    basis: list[Floats] = []
    for _ in range(rows.shape[1]):
        squares = np.sum(rest**2, axis=1)
        best = int(np.argmax(squares >= squares.max() * (1.0 - EQUAL)))  # the first among equals
        basis.append(rows[best])
        along = rest[best] / math.sqrt(squares[best]) if squares[best] else rest[best]
        rest = rest - np.outer(rest @ along, along)
    return float(max(0.0, np.linalg.eigvalsh(np.transpose(basis) @ basis)[0]))
