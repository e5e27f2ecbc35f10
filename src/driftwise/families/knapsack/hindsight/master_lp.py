"""The best lottery over a growing list of plans, such that what it spends on average keeps within the budgets.

    max sum_k w_k reward_k   such that   sum_k w_k spent_k <= 1   for every resource,   sum_k w_k <= 1,   w >= 0

`spent` is in shares of the budgets; what is left of the weights buys doing nothing. A revised simplex that goes on from
the last basis when a plan is added. It factorises the basis anew at every step: plans found near the optimum are nearly
the same, and an inverse that is only updated would drift. Whatever rounding does, weights are scaled to keep within the
budgets and prices are not negative: the first can always be played, and the second asked.
"""

import numpy as np

from driftwise.core.types import Floats, Ints

GAIN, PIVOT = 1e-13, 1e-10  # less is rounding
STEPS = 500  # enough for any list we have met; stopping early costs precision, never correctness
PATIENCE = 20  # steps that change nothing before the first column that gains is taken (Bland's rule)


class Lottery:
    """Plans, and the basis of the best lottery over them."""

    def __init__(self, resources: int) -> None:
        self.rows = resources + 1
        self.columns = np.eye(self.rows)  # first the slacks: budgets unspent, and doing nothing
        self.rewards = np.zeros(self.rows)
        self.basis = np.arange(self.rows)

    def add(self, reward: float, costs: Floats) -> None:
        """One more plan."""
        self.columns = np.column_stack([self.columns, np.append(costs, 1.0)])
        self.rewards = np.append(self.rewards, reward)

    def best(self) -> tuple[float, Floats, Floats]:
        """What the best lottery earns, the weight of every plan, and the price of every resource."""
        idle = 0
        for _ in range(STEPS):
            square = self.columns[:, self.basis]
            prices = np.linalg.solve(square.T, self.rewards[self.basis])
            gains = self.rewards - prices @ self.columns
            gains[self.basis] = 0.0
            entering = int(np.argmax(gains > GAIN) if idle > PATIENCE else np.argmax(gains))
            if gains[entering] <= GAIN:
                break
            ones = np.ones(self.rows)
            level, direction = np.linalg.solve(square, np.column_stack([ones, self.columns[:, entering]])).T
            if direction.max() <= PIVOT:
                break
            ratios = np.where(direction > PIVOT, np.maximum(level, 0.0) / np.maximum(direction, PIVOT), np.inf)
            leaving = _leaving(ratios, direction, self.basis, idle > PATIENCE)
            idle = idle + 1 if ratios[leaving] <= GAIN else 0
            self.basis[leaving] = entering
        return self._read()

    def _read(self) -> tuple[float, Floats, Floats]:
        square = self.columns[:, self.basis]
        weights = np.zeros(len(self.rewards))
        weights[self.basis] = np.maximum(np.linalg.solve(square, np.ones(self.rows)), 0.0)
        weights[: self.rows] = 0.0
        weights /= max(1.0, float((self.columns @ weights).max()))
        prices = np.maximum(np.linalg.solve(square.T, self.rewards[self.basis])[:-1], 0.0)
        return float(self.rewards @ weights), weights[self.rows :], prices


def _leaving(ratios: Floats, direction: Floats, basis: Ints, first: bool) -> int:
    """The row that runs out first; among equals that of the largest pivot, or of the lowest number."""
    tied = np.flatnonzero(ratios <= ratios.min() * (1.0 + 1e-12))
    return int(tied[np.argmin(basis[tied])] if first else tied[np.argmax(direction[tied])])
