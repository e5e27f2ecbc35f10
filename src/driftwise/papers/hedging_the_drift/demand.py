"""From loans to a bandit: features of borrowers, prices, and the daily probability that a price is accepted.

    price      p = payments discounted at 0.12% a month, less the loan; on a grid of 0 to 500 units of 10 dollars
    borrower   x = (FICO, term, amount, prime rate, new car, used car, competitor's rate), scaled
    demand     taken with "probability" <theta, [x; q x]> at price q = p / 500; theta by ridge regression, day by day
    reward     q <theta, [x; q x]>, that is <theta, a> with the features a = [q x; q^2 x]

The paper's grid cannot be in dollars: half of the loans earn more than 2,000. In units of 10 dollars it fits. What the
paper calls the price leaves the subtraction of the loan out.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.papers.hedging_the_drift.loans import Loans

GRID = np.arange(51) / 50.0  # 0, 10, ..., 500, as shares of 500
TOP = 500.0

SCALINGS: dict[str, Callable[[Floats], Floats]] = {
    "minmax": lambda x: (x - x.min(axis=0)) / _or_one(x.max(axis=0) - x.min(axis=0)),
    "z": lambda x: (x - x.mean(axis=0)) / _or_one(x.std(axis=0)),
    "max": lambda x: x / _or_one(np.abs(x).max(axis=0)),
}


class Market(NamedTuple):
    """Borrowers as they came (a row each), the day of each, the lender's own price for each as a share of the largest
    of the grid, cut to it, and theta of every day.
    """

    borrowers: Floats
    day: Ints
    own: Floats
    theta: Floats

    @property
    def variation(self) -> float:
        """B_T: how far theta moves in all."""
        return float(np.linalg.norm(np.diff(self.theta, axis=0), axis=1).sum())

    def features(self, start: int, stop: int) -> Floats:
        """The features of every price of the grid, for a stretch of borrowers."""
        x = self.borrowers[start:stop, None, :]
        return np.concatenate([GRID[:, None] * x, GRID[:, None] ** 2 * x], axis=2)


def market(loans: Loans, *, most: int, scaling: str, intercept: int, ridge: float, unit: float) -> Market:
    """The first `most` applications by date, those of a day in the order of the file; ridge 0 is least squares."""
    order = np.argsort(loans.day, kind="stable")[:most]
    loans = Loans(loans.day[order], *(column[order] for column in loans[1:]))
    _, day = np.unique(loans.day, return_inverse=True)
    x = SCALINGS[scaling](_described(loans))
    if intercept:
        x = np.column_stack([np.ones(len(x)), x])
    price = loans.price / (unit * TOP)  # the regression takes it as it is: one loan in twelve lies above the grid
    theta = _daily(np.column_stack([x, price[:, None] * x]), loans.applied, day, ridge)
    return Market(x, day, np.clip(price, 0.0, 1.0), theta)


def _described(loans: Loans) -> Floats:
    facts = (loans.fico, loans.term, loans.amount, loans.prime, loans.car == 0, loans.car == 1, loans.competitor)
    return np.column_stack(facts).astype(float)


def _daily(rows: Floats, accepts: Floats, day: Ints, ridge: float) -> Floats:
    """Theta of every day."""
    edges = np.searchsorted(day, np.arange(day[-1] + 2))
    theta = np.empty((day[-1] + 1, rows.shape[1]))
    for each, (start, stop) in enumerate(pairwise(edges)):
        x, y = rows[start:stop], accepts[start:stop]
        if ridge:
            theta[each] = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y)
        else:
            theta[each] = np.linalg.lstsq(x, y, rcond=None)[0]
    return theta


def _or_one(width: Floats) -> Floats:
    """A feature that never differs is not scaled."""
    return np.where(width > 0.0, width, 1.0)
