"""A regression per arm: the *disjoint* model, in which every arm has a parameter of its own.

Arm k has V_k, b_k and V_k^-1 of d features each, and rows under way of its own. That is the regression of one long
parameter, m d features with the row of an arm at its place and zeros elsewhere, but for what is never touched: the
blocks beside the diagonal, and, when a reward comes, the blocks of the other arms. `ridge_of` and `pending_of` are
views of one arm, which all that works on a regression takes (`numerics/ridge.py`, `pending_rows.py`).

`theta` is solved for when a pair has come, so that a choice only reads it.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Cache, Floats, PerArm, Scratch, Shared
from driftwise.families.contextual.pending_rows import PendingRows, any_pending, narrow
from driftwise.numerics.quadratic_forms import RowForms, measure_row, new_row_forms
from driftwise.numerics.ridge import Ridge, absorb, audit, solve


class ArmRidges(NamedTuple):
    """The fields of `Ridge` for every arm; `crosses` is room to work in, as are those that arms share."""

    gram: PerArm
    gram_rest: PerArm
    moment: PerArm
    moment_rest: PerArm
    inverse: PerArm
    errors: PerArm
    theta: PerArm
    repairs: PerArm
    refused: PerArm
    prior: Shared
    cursor: Cache
    starts: Cache
    stops: Cache
    image: Scratch
    answer: Scratch
    factor: Scratch
    crosses: Scratch
    forms: RowForms


class ArmPendingRows(NamedTuple):
    """The fields of `PendingRows` for every arm; the room to work in is shared."""

    pairs: PerArm
    rests: PerArm
    counts: PerArm
    gram: Scratch
    factor: Scratch
    inverse: Scratch
    covariance: Scratch


def new_arm_ridges(n_arms: int, dim: int, prior: float) -> ArmRidges:
    """No pairs yet: V = prior I for every arm."""
    squares, rows = (n_arms, dim, dim), (n_arms, dim)
    return ArmRidges(
        gram=np.broadcast_to(prior * np.eye(dim), squares).copy(),
        gram_rest=np.zeros(squares),
        moment=np.zeros(rows),
        moment_rest=np.zeros(rows),
        inverse=np.broadcast_to(np.eye(dim) / prior, squares).copy(),
        errors=np.zeros(rows),
        theta=np.zeros(rows),
        repairs=np.zeros((n_arms, 1), np.int64),
        refused=np.zeros((n_arms, 1), np.bool_),
        prior=np.array([float(prior)]),
        cursor=np.zeros((n_arms, 1), np.int64),
        starts=np.zeros(rows, np.int64),
        stops=np.full(rows, dim),
        image=np.zeros(dim),
        answer=np.zeros(dim),
        factor=np.zeros((dim, dim)),
        crosses=np.zeros(dim),
        forms=new_row_forms(dim),
    )


def new_arm_pending_rows(n_arms: int, dim: int) -> ArmPendingRows:
    """Nothing is under way."""
    return ArmPendingRows(
        pairs=np.zeros((n_arms, dim, dim)),
        rests=np.zeros((n_arms, dim, dim)),
        counts=np.zeros((n_arms, dim), np.int64),
        gram=np.zeros((dim, dim)),
        factor=np.zeros((dim, dim)),
        inverse=np.zeros((dim, dim)),
        covariance=np.zeros((dim, dim)),
    )


@kernel
def ridge_of(ridges: ArmRidges, arm: int) -> Ridge:
    """The regression of an arm."""
    return Ridge(
        ridges.gram[arm],
        ridges.gram_rest[arm],
        ridges.moment[arm],
        ridges.moment_rest[arm],
        ridges.inverse[arm],
        ridges.errors[arm],
        ridges.prior,
        ridges.cursor[arm],
        ridges.starts[arm],
        ridges.stops[arm],
        ridges.repairs[arm],
        ridges.refused[arm],
        ridges.theta[arm],
        ridges.image,
        ridges.answer,
        ridges.factor,
        ridges.forms,
    )


@kernel
def pending_of(pending: ArmPendingRows, arm: int) -> PendingRows:
    """The rows of an arm that are under way."""
    return PendingRows(
        pending.pairs[arm],
        pending.rests[arm],
        pending.counts[arm],
        pending.gram,
        pending.factor,
        pending.inverse,
        pending.covariance,
    )


@kernel
def absorb_for(ridges: ArmRidges, arm: int, x: Floats, y: float) -> None:
    """Take the pair (x, y) of an arm in, look after its inverse, and solve for its parameter."""
    ridge = ridge_of(ridges, arm)
    absorb(ridge, x, y)
    audit(ridge)
    solve(ridge)


@kernel
def measure_arm(ridges: ArmRidges, pending: ArmPendingRows, arm: int, x: Floats) -> tuple[float, float]:
    """<x, theta> and x' C x of an arm: C is V^-1 or, with rows under way, their covariance."""
    if ridges.refused[arm, 0]:
        raise FloatingPointError("the features are too large for the ridge to be inverted: scale them down")
    rows = pending_of(pending, arm)
    if any_pending(rows):
        narrow(rows, ridge_of(ridges, arm))
        return measure_row(pending.covariance, ridges.theta[arm], x, ridges.crosses)
    return measure_row(ridges.inverse[arm], ridges.theta[arm], x, ridges.crosses)
