"""Budgets where nothing changes: the world that policies without a window were made for."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.even_budgets import EvenBudgets


@dataclass(frozen=True, kw_only=True)
class BudgetStationary(EvenBudgets):
    """Every arm's mean reward and costs are drawn once, uniform on [0, 1].

    >>> BudgetStationary(n_arms=3).means(horizon=100, seed=0).counts
    array([100.])
    """

    def means(self, horizon: int, seed: int) -> Means:
        """One segment."""
        draws = generator(seed, "means")
        rewards = draws.random((1, self.n_arms))
        costs = draws.random((1, self.resources, self.n_arms))
        return Means.of(rewards, costs, np.zeros(horizon, np.int64))
