"""Worlds that only the claims of this paper need: where Theorem 1 says something, Appendix C.1, and the null arm."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.families import BudgetRotating
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import BudgetWorld


@dataclass(frozen=True, kw_only=True)
class GoodAndBad(BudgetWorld):
    """An arm that pays 0.95 and costs 0.4, and one that pays 0.05 and costs 0.95; there is 0.5 a round."""

    @property
    def arms(self) -> int:
        """Two."""
        return 2

    def rates(self, horizon: int) -> Floats:
        """Enough for the good arm."""
        return np.array([0.5])

    def means(self, horizon: int, seed: int) -> Means:
        """Always the same."""
        return Means.of([[0.95, 0.05]], [[[0.4, 0.95]]], np.zeros(horizon, np.int32))


@dataclass(frozen=True, kw_only=True)
class CheapBest(BudgetRotating):
    """Arms change places; whichever is the best is cheap: 0.1 to 0.3 against 0.6 to 1."""

    def means(self, horizon: int, seed: int) -> Means:
        """Rewards and places as in the world without this; only costs are drawn anew."""
        means, draws = super().means(horizon, seed), generator(seed, "cheap best")
        cheap = draws.uniform(0.1, 0.3, (self.resources, 1))
        dear = draws.uniform(0.6, 1.0, (self.resources, self.n_arms))
        ranks = np.argsort(np.argsort(-means.rewards, axis=1), axis=1)  # of each arm: 0 is the best
        costs = np.where(ranks[:, None, :] == 0, cheap[None], dear[:, ranks].transpose(1, 0, 2))
        return Means.of(means.rewards, costs, means.rows)


@dataclass(frozen=True, kw_only=True)
class WithIdleArm(BudgetRotating):
    """Arms that change places, and one more that pays and costs nothing but has to be tried to be known."""

    @property
    def arms(self) -> int:
        """One more."""
        return self.n_arms + 1

    def means(self, horizon: int, seed: int) -> Means:
        """The same as without it, and zeros."""
        means, wider = super().means(horizon, seed), ((0, 0), (0, 1))
        return Means.of(np.pad(means.rewards, wider), np.pad(means.costs, ((0, 0), *wider)), means.rows)
