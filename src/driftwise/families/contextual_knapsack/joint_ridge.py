"""One ridge regression for rewards and every cost, whose pairs fade by gamma every round: they share one matrix.

    V = lambda I + sum gamma^(t - 1 - s) x x'        theta_k = V^-1 sum gamma^(t - 1 - s) x y_k
    mean of x = <x, theta_k>                         width of x = sqrt(x' V^-1 x)

t is the round to be decided, s the round of a pair's decision: a late pair weighs what it would weigh had it come in
time. y_0 is the reward, y_1 .. y_m are the costs. V is inverted afresh at every decision, O(d^3).

Rows whose outcomes are under way fade alike. P is their sum of x x', M = V + P. They are tries without any optimism
(`contextual/pending_rows.py`): the width of x is sqrt(x' M^-1 V M^-1 x). Where nothing is known of a direction they are
taken to cost half of the most, so that what nobody has paid for yet does not seem to be free:

    cost of x               <x, theta_k> + lambda / 2 x' (V^-1 - M^-1) x
    cost of all under way   <sum x, theta_k> + lambda / 2 tr(V^-1 P)

Where rows are arms, these are the bounds of `knapsack/bounds.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, put_interval
from driftwise.core.types import Floats, PerFeature, PerFeaturePair, Scratch, Shared
from driftwise.families.contextual.pending_rows import (
    PendingRows,
    add_row,
    any_pending,
    drop_row,
    fade_rows,
    narrow,
    new_pending_rows,
)
from driftwise.families.contextual.summaries import rewards_worth
from driftwise.numerics.ridge import dot, invert

MIDDLE = 0.5  # what a row may cost of which nothing is known, as a share of the most


class JointRidge(NamedTuple):
    """Sums of pairs, without the ridge; `clock` is the round to be decided. `solve` leaves V in `gram`, and the rest.

    `pending` and `awaited` are the rows under way, as P and as their sum; `waiting` counts them, and null actions too.
    """

    pairs: PerFeaturePair
    moments: PerFeature
    clock: Shared
    pending: PendingRows
    awaited: PerFeature
    waiting: Shared
    gram: Scratch
    factor: Scratch
    inverse: Scratch
    thetas: Scratch


def new_joint_ridge(dim: int, targets: int) -> JointRidge:
    """No pairs yet."""
    square = (dim, dim)
    return JointRidge(
        pairs=np.zeros(square),
        moments=np.zeros((targets, dim)),
        clock=np.zeros(1, np.int64),
        pending=new_pending_rows(dim),
        awaited=np.zeros(dim),
        waiting=np.zeros(1, np.int64),
        gram=np.zeros(square),
        factor=np.zeros(square),
        inverse=np.zeros(square),
        thetas=np.zeros((targets, dim)),
    )


@kernel
def fade(ridge: JointRidge, gamma: float, t: int) -> None:
    """Let time come to round `t`."""
    behind = t - ridge.clock[0]
    if behind <= 0:
        return
    ridge.clock[0] = t
    factor = gamma if behind == 1 else gamma**behind
    for i in range(len(ridge.awaited)):
        for j in range(len(ridge.awaited)):
            ridge.pairs[i, j] *= factor
        for target in range(len(ridge.moments)):
            ridge.moments[target, i] *= factor
    if any_pending(ridge.pending):
        fade_rows(ridge.pending, factor)


@kernel
def fade_to_round(policy: Any, state: Any, t: int, rng: Any) -> None:
    """The `advance` of policies with such a ridge."""
    fade(state.ridge, policy.gamma, t)


@kernel
def pend_joint(policy: Any, state: Any, decision: Any) -> None:
    """A decision is under way, once its round is over: the `pend` of policies with such a ridge."""
    ridge = state.ridge
    fade(ridge, policy.gamma, decision.t + 1)
    ridge.waiting[0] += 1
    if decision.action >= 0:
        x = decision.context[: len(ridge.awaited)]
        add_row(ridge.pending, x, _share(ridge, policy.gamma, decision.t))
        for i in range(len(x)):
            ridge.awaited[i] += x[i]


@kernel
def settle_joint(policy: Any, state: Any, decision: Any) -> None:
    """A decision is under way no longer: the `settle` of policies with such a ridge."""
    ridge = state.ridge
    ridge.waiting[0] -= 1
    if decision.action >= 0:
        x = decision.context[: len(ridge.awaited)]
        drop_row(ridge.pending, x, _share(ridge, policy.gamma, decision.t))
        for i in range(len(x)):
            ridge.awaited[i] = ridge.awaited[i] - x[i] if ridge.pending.counts[i] > 0 else 0.0


@kernel
def absorb(ridge: JointRidge, gamma: float, t: int, x: Floats, target: int, y: float) -> None:
    """Take in one number that came of the decision of round `t`, at what is left of its weight."""
    share = _share(ridge, gamma, t)
    for i in range(len(ridge.awaited)):
        ridge.moments[target, i] += share * x[i] * y


@kernel
def absorb_row(ridge: JointRidge, gamma: float, t: int, x: Floats) -> None:
    """Take in the row of the decision of round `t`, at what is left of its weight."""
    share = _share(ridge, gamma, t)
    for i in range(len(ridge.awaited)):
        weight = share * x[i]
        if weight != 0.0:
            for j in range(len(ridge.awaited)):
                ridge.pairs[i, j] += weight * x[j]


@kernel
def _share(ridge: JointRidge, gamma: float, t: int) -> float:
    """What is left of the weight of round `t`."""
    age = ridge.clock[0] - 1 - t
    return float(1.0 if age == 0 else gamma**age)


@kernel(inline=False)
def solve(ridge: JointRidge, prior: float) -> None:
    """Solve for this round: V and V^-1, every theta, and the covariance and M^-1 where rows are under way."""
    dim = len(ridge.awaited)
    for i in range(dim):
        for j in range(dim):
            ridge.gram[i, j] = ridge.pairs[i, j]
        ridge.gram[i, i] += prior
    invert(ridge.gram, ridge.factor, ridge.inverse)
    for target in range(len(ridge.moments)):
        for i in range(dim):
            ridge.thetas[target, i] = dot(ridge.inverse[i], ridge.moments[target])
    if any_pending(ridge.pending):
        narrow(ridge.pending, ridge)  # type: ignore[arg-type]  # it reads `gram` alone


@kernel
def mean_of(ridge: JointRidge, target: int, x: Floats) -> float:
    """The mean of a row, once solved; what stands after its features is not read."""
    return dot(ridge.thetas[target], x)


@kernel
def width_of(ridge: JointRidge, x: Floats) -> float:
    """The width of a row, once solved."""
    if any_pending(ridge.pending):
        return math.sqrt(max(0.0, _form(ridge.pending.covariance, x)))
    return math.sqrt(max(0.0, _form(ridge.inverse, x)))


@kernel
def caution_of(ridge: JointRidge, prior: float, x: Floats) -> float:
    """What rows under way add to the cost of a row, once solved."""
    if not any_pending(ridge.pending):
        return 0.0
    return float(MIDDLE * prior * max(0.0, _form(ridge.inverse, x) - _form(ridge.pending.inverse, x)))


@kernel
def expected(ridge: JointRidge, prior: float, target: int) -> float:
    """What all that is under way will come to, once solved: from 0 on, and at most 1 for each decision."""
    if not any_pending(ridge.pending):
        return 0.0
    total, trace = dot(ridge.thetas[target], ridge.awaited), 0.0
    for i in range(len(ridge.awaited)):
        trace += dot(ridge.inverse[i], ridge.pending.pairs[i])
    return float(min(max(total + MIDDLE * prior * trace, 0.0), 1.0 * ridge.waiting[0]))


@kernel
def put_mean(out: Summary, row: int, ridge: JointRidge, prior: float, radius: float, x: Floats, unit: float) -> None:
    """Write what is known of the reward of a row, once solved, for rewards up to `unit`.

    The regression draws what it does not know towards 0: by that much more the mean may be larger.
    """
    square, start = _form(ridge.inverse, x), dot(x[: len(ridge.awaited)], x) / prior
    mean, reach = mean_of(ridge, 0, x), radius * width_of(ridge, x)
    unknown = square / start if start > 0.0 else 1.0
    put_interval(out, row, unit * mean, unit * max(0.0, mean - reach), unit * min(1.0, mean + reach + unknown))
    out.count[row] = rewards_worth(square, start)


@kernel
def _form(matrix: Floats, x: Floats) -> float:
    """The quadratic form of a symmetric matrix."""
    total = 0.0
    for i in range(len(matrix)):
        total += x[i] * dot(matrix[i], x)
    return total
