"""The best fixed point in hindsight, of those that keep the constraints on average or in every round.

    OPT     min sum_t f_t(x)   such that   sum_t g_{t,i}(x) <= 0 for all i               kept on average
    OPT'    min sum_t f_t(x)   such that   g_{t,i}(x) <= 0 for all t and i               kept in every round

Linear programs go to HiGHS, others to SciPy's SLSQP. OPT' has T d rows, of which a handful matters: it is solved
without any, the most violated are added, and again, until none is violated.

Both come with prices that prove them (`families/convex/constraint_prices.py`).
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.families.convex.constraint_prices import BINDING, fairest_prices
from driftwise.families.convex.loss_history import Past
from driftwise.families.convex.point_program import SLACK, least_loss

ROWS_AT_A_TIME = 5
Rows = list[tuple[int, int]]  # which constraints are asked for: (kind of round, constraint)


class Hindsight(NamedTuple):
    """A point, what it loses in all, and what constraints cost there.

    `prices` has one per constraint, or one per kind of round and constraint. No point that keeps the constraints loses
    less than `value - gap`.
    """

    point: Floats
    value: float
    prices: Floats
    gap: float


def best_on_average(past: Past) -> Hindsight:
    """OPT: the fixed point with the least loss, of those that keep every constraint on average.

    >>> from driftwise.families.convex.loss_history import past_of
    >>> from driftwise.families import ConvexGap
    >>> best = best_on_average(past_of(ConvexGap(delta=0.2), 1000, seed=0))
    >>> round(best.value, 3), best.prices.round(3).tolist()
    (-454.545, [0.909])
    """
    rounds = past.weights.sum()

    def rows(point: Floats) -> tuple[Floats, Floats]:
        values, slopes = past.sums(point)
        return values / rounds, slopes / rounds

    point = least_loss(past, rows)
    values, slopes = past.sums(point)
    prices, gap = fairest_prices(past, point, values, slopes, np.ones(len(values)))
    return Hindsight(point, past.loss(point)[0], prices, gap)


def best_in_every_round(past: Past) -> Hindsight:
    """OPT': the fixed point with the least loss, of those that keep every constraint in every round.

    >>> from driftwise.families.convex.loss_history import past_of
    >>> from driftwise.families import ConvexGap
    >>> best = best_in_every_round(past_of(ConvexGap(delta=0.2), 1000, seed=0))
    >>> round(best.value, 3), best.prices.round(3).ravel().tolist()
    (-416.667, [1.667, 0.0])
    """
    active_rows: Rows = []

    def rows(point: Floats) -> tuple[Floats, Floats]:
        return past.some(active_rows, point)

    while True:
        point = least_loss(past, rows)
        values = past.values(point)
        slack = SLACK * _spread(past, values)
        worst = [divmod(int(i), values.shape[1]) for i in np.argsort(-values, axis=None)[:ROWS_AT_A_TIME]]
        new = [row for row in worst if values[row] > slack and row not in active_rows]
        if not new:
            break
        active_rows.extend(new)
    binding: Rows = [(int(t), int(i)) for t, i in np.argwhere(values > -BINDING * _spread(past, values))]
    several, slopes = past.some(binding, point)
    many = past.weights[[row for row, _ in binding]]
    some, gap = fairest_prices(past, point, many * several, many[:, None] * slopes, many)
    prices = np.zeros_like(values)
    for row, price in zip(binding, some, strict=True):
        prices[row] = price
    return Hindsight(point, past.loss(point)[0], prices, gap)


def _spread(past: Past, values: Floats) -> float:
    """By how much constraints change over the domain, about."""
    return max(
        1.0, float(np.abs(values).max(initial=0.0)), float(np.abs(past.values(past.domain.centres)).max(initial=0))
    )
