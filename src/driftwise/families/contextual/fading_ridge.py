"""Ridge regression whose pairs fade by gamma every round, and whose ridge does not.

    V  = lambda I + sum gamma^(t - 1 - s) x x'          theta = V^-1 b,   b = sum gamma^(t - 1 - s) x y
    V~ = lambda I + sum gamma^(2 (t - 1 - s)) x x'

t is the round to be decided, s the round of a pair's decision: a late pair weighs what it would weigh had it come in
time. Fading touches the pairs and not lambda I, so no rank-one step leads from one inverse to the next: `settle`
factorises V afresh at every decision, O(d^3), and is exact.

The weighted least squares estimate spreads as V^-1 V~ V^-1 does (times the noise, squared), less than V^-1: old pairs
count little, and err as little.

Rows whose rewards are under way fade like pairs do. While there are any, V^-1 in that spread is the M^-1 of
`families/contextual/pending_rows.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Decision, Floats, PerFeature, PerFeaturePair, Scratch, Shared
from driftwise.families.contextual.linear_draw import apply_lower, apply_matrix, fill_normals
from driftwise.families.contextual.pending_rows import (
    PendingRows,
    add_row,
    any_pending,
    drop_row,
    fade_rows,
    invert_with,
)
from driftwise.numerics.ridge import dot, factorise, invert


class FadingRidge(NamedTuple):
    """The sums of pairs without the ridge, once with weights and once with their squares; `clock` is the round to be
    decided. `settle` leaves V^-1 or M^-1 in `inverse`, V~ in `gram` and the estimate in `theta`.
    """

    pairs: PerFeaturePair
    squares: PerFeaturePair
    moment: PerFeature
    clock: Shared
    gram: Scratch
    inverse: Scratch
    factor: Scratch
    theta: Scratch
    image: Scratch


def new_fading_ridge(dim: int) -> FadingRidge:
    """No pairs yet."""
    square = (dim, dim)
    return FadingRidge(
        pairs=np.zeros(square),
        squares=np.zeros(square),
        moment=np.zeros(dim),
        clock=np.zeros(1, np.int64),
        gram=np.zeros(square),
        inverse=np.zeros(square),
        factor=np.zeros(square),
        theta=np.zeros(dim),
        image=np.zeros(dim),
    )


@kernel
def fade_pairs(ridge: FadingRidge, pending: PendingRows, gamma: float, t: int) -> None:
    """Let time come to round `t`."""
    behind = t - ridge.clock[0]
    if behind <= 0:
        return
    ridge.clock[0] = t
    factor = gamma if behind == 1 else gamma**behind
    for i in range(len(ridge.moment)):
        ridge.moment[i] *= factor
        for j in range(len(ridge.moment)):
            ridge.pairs[i, j] *= factor
            ridge.squares[i, j] *= factor * factor
    if any_pending(pending):
        fade_rows(pending, factor)


@kernel
def pend_faded(policy: Any, state: Any, decision: Decision) -> None:
    """A row is under way, once its round is over: the `pend` of policies that fade."""
    fade_pairs(state.ridge, state.pending, policy.gamma, decision.t + 1)
    add_row(state.pending, decision.context, _share(state.ridge, policy.gamma, decision.t))


@kernel
def settle_faded(policy: Any, state: Any, decision: Decision) -> None:
    """A row is under way no longer: the `settle` of policies that fade."""
    drop_row(state.pending, decision.context, _share(state.ridge, policy.gamma, decision.t))


@kernel
def absorb_faded(ridge: FadingRidge, gamma: float, t: int, x: Floats, y: float) -> None:
    """Take in the pair of the decision of round `t`, at what is left of its weight."""
    share = _share(ridge, gamma, t)
    for i in range(len(x)):
        weight = share * x[i]
        if weight != 0.0:
            ridge.moment[i] += weight * y
            for j in range(len(x)):
                ridge.pairs[i, j] += weight * x[j]
                ridge.squares[i, j] += share * weight * x[j]


@kernel
def _share(ridge: FadingRidge, gamma: float, t: int) -> float:
    """What is left of the weight of round `t`."""
    age = ridge.clock[0] - 1 - t
    return float(1.0 if age == 0 else gamma**age)


@kernel
def settle(ridge: FadingRidge, pending: PendingRows, prior: float) -> None:
    """Solve for this round: V^-1 or M^-1, V~ and theta."""
    with_prior(ridge.pairs, prior, ridge.gram)
    invert(ridge.gram, ridge.factor, ridge.inverse)
    apply_matrix(ridge.inverse, ridge.moment, ridge.theta)
    if any_pending(pending):
        invert_with(pending, ridge.gram, ridge.inverse)
    with_prior(ridge.squares, prior, ridge.gram)


@kernel
def faded_width(ridge: FadingRidge, x: Floats) -> float:
    """sqrt(x' V^-1 V~ V^-1 x), once settled."""
    apply_matrix(ridge.inverse, x, ridge.image)
    total = 0.0
    for i in range(len(x)):
        total += ridge.image[i] * dot(ridge.gram[i], ridge.image)
    return math.sqrt(max(0.0, total))


@kernel
def draw_faded(ridge: FadingRidge, spread: float, draw: Floats, rng: Any) -> None:
    """Write a draw from N(theta, spread^2 V^-1 V~ V^-1) to `draw`, once settled."""
    factorise(ridge.gram, ridge.factor)
    fill_normals(draw, rng)
    apply_lower(ridge.factor, draw)
    apply_matrix(ridge.inverse, draw, ridge.image)
    for i in range(len(draw)):
        draw[i] = ridge.theta[i] + spread * ridge.image[i]


@kernel
def with_prior(pairs: Floats, prior: float, out: Floats) -> None:
    """Write lambda I + pairs."""
    for i in range(len(pairs)):
        for j in range(len(pairs)):
            out[i, j] = pairs[i, j]
        out[i, i] += prior
