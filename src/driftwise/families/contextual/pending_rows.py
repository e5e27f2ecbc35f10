"""Rows of features whose rewards are under way, as the covariance of a linear estimate counts them.

    P = sum x x' over the rows under way        M = V + P
    covariance of the estimate: M^-1 V M^-1 in the place of V^-1, and M^-1 V~ M^-1 in that of V^-1 V~ V^-1

A pending row is a try: it is taken to pay what the estimate says, without any optimism, and so narrows the bounds of
the rows like it. Where rows are arms, with n rewards and p decisions under way, that is the sqrt(n) / (n + p) of
`numerics/pending.py`. The inverse of M itself, sqrt(1 / (n + p)), is what p rewards would leave; it narrows less.
The estimate stays V^-1 b: what is under way brings no reward. Bounds gain most where the same rows come again. Draws
differ from each other anyway: in Thompson sampling no gain was measured, and no loss.

P is kept with what rounding left out of it, and the entries of a feature that no row under way has are zero: what is
over leaves no trace. Where nothing is under way only `counts` are read.

A policy has a state with the fields `ridge` and `pending`. One without a window registers `pend_row` and `settle_row`;
one with a window of features registers `await_pair` and `forgo_pair` for its state.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Decision, Floats, PerFeature, PerFeaturePair, Scratch
from driftwise.numerics.double_double import add_long
from driftwise.numerics.quadratic_forms import span
from driftwise.numerics.ridge import Ridge, invert


class PendingRows(NamedTuple):
    """P, what rounding left out of it, and how many rows under way have each feature; the rest is room to work in."""

    pairs: PerFeaturePair
    rests: PerFeaturePair
    counts: PerFeature
    gram: Scratch
    factor: Scratch
    inverse: Scratch
    covariance: Scratch


def new_pending_rows(dim: int) -> PendingRows:
    """Nothing is under way."""
    square = (dim, dim)
    return PendingRows(
        pairs=np.zeros(square),
        rests=np.zeros(square),
        counts=np.zeros(dim, np.int64),
        gram=np.zeros(square),
        factor=np.zeros(square),
        inverse=np.zeros(square),
        covariance=np.zeros(square),
    )


@kernel
def pend_row(policy: Any, state: Any, decision: Decision) -> None:
    """A row is under way: the `pend` of policies without a window."""
    add_row(state.pending, decision.context, 1.0)


@kernel
def settle_row(policy: Any, state: Any, decision: Decision) -> None:
    """A row is under way no longer: the `settle` of policies without a window."""
    drop_row(state.pending, decision.context, 1.0)


@kernel
def await_pair(state: Any, slot: int) -> None:
    """The row in a slot of the window is under way."""
    add_row(state.pending, state.window.features[slot], 1.0)


@kernel
def forgo_pair(state: Any, slot: int) -> None:
    """The row in a slot of the window is under way no longer."""
    drop_row(state.pending, state.window.features[slot], 1.0)


@kernel(inline=False)
def add_row(pending: PendingRows, x: Floats, share: float) -> None:
    """Count a row, at this weight."""
    _add(pending, x, share)
    for i in range(len(x)):
        pending.counts[i] += x[i] != 0.0


@kernel(inline=False)
def drop_row(pending: PendingRows, x: Floats, share: float) -> None:
    """Count a row no longer; a feature that no other has leaves nothing behind."""
    _add(pending, x, -share)
    for i in range(len(x)):
        if x[i] != 0.0:
            pending.counts[i] -= 1
            if pending.counts[i] == 0:
                for j in range(len(x)):  # P is symmetric, and a row is quicker to read than a column
                    if pending.pairs[i, j] != 0.0 or pending.rests[i, j] != 0.0:
                        pending.pairs[i, j] = pending.pairs[j, i] = 0.0
                        pending.rests[i, j] = pending.rests[j, i] = 0.0


@kernel
def _add(pending: PendingRows, x: Floats, share: float) -> None:
    """Change P by a row. Products are rounded alike when it comes and when it goes, above the diagonal and below."""
    first, last = span(x)
    for i in range(first, last):
        if x[i] != 0.0:
            for j in range(first, last):
                value, rest = pending.pairs[i, j], pending.rests[i, j]
                pending.pairs[i, j], pending.rests[i, j] = add_long(value, rest, share * (x[i] * x[j]), 0.0)


@kernel
def any_pending(pending: PendingRows) -> bool:
    """Whether a row is under way."""
    rows = 0
    for i in range(len(pending.counts)):
        rows += pending.counts[i]
    return rows > 0


@kernel
def copy_rows(one: PendingRows, other: PendingRows) -> None:
    """Write what is under way in `one` to `other`."""
    for i in range(len(one.counts)):
        other.counts[i] = one.counts[i]
        for j in range(len(one.counts)):
            other.pairs[i, j], other.rests[i, j] = one.pairs[i, j], one.rests[i, j]


@kernel
def clear_rows(pending: PendingRows) -> None:
    """Nothing is under way any more."""
    for i in range(len(pending.counts)):
        pending.counts[i] = 0
        for j in range(len(pending.counts)):
            pending.pairs[i, j] = 0.0
            pending.rests[i, j] = 0.0


@kernel
def fade_rows(pending: PendingRows, factor: float) -> None:
    """Time passes, and this much is left of every weight."""
    for i in range(len(pending.counts)):
        for j in range(len(pending.counts)):
            pending.pairs[i, j] *= factor
            pending.rests[i, j] *= factor


@kernel(inline=False)
def invert_with(pending: PendingRows, gram: Floats, inverse: Floats) -> None:
    """Write M^-1 = (V + P)^-1 to `inverse`, for V = `gram`."""
    for i in range(len(gram)):
        for j in range(i + 1):
            pending.gram[i, j] = gram[i, j] + pending.pairs[i, j]
    invert(pending.gram, pending.factor, inverse)


@kernel(inline=False)
def narrow(pending: PendingRows, ridge: Ridge) -> None:
    """Write M^-1 V M^-1 to `covariance`; zeros of M^-1, between blocks, cost little."""
    invert_with(pending, ridge.gram, pending.inverse)
    _multiply(pending.inverse, ridge.gram, pending.gram)
    _multiply(pending.gram, pending.inverse, pending.covariance)


@kernel
def _multiply(left: Floats, right: Floats, out: Floats) -> None:
    """The product of two matrices."""
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = 0.0
        for k in range(len(out)):
            weight = left[i, k]
            if weight != 0.0:
                for j in range(len(out)):
                    out[i, j] += weight * right[k, j]
