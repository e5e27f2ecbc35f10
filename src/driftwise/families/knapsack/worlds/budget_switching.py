"""Budgets where everything changes at once: from phase to phase what arms pay and cost is drawn anew."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.even_budgets import EvenBudgets
from driftwise.measure.phases import PhasedWorld


@dataclass(frozen=True, kw_only=True)
class BudgetSwitching(PhasedWorld, EvenBudgets):
    """Phases of equal length; in each, every arm's mean reward and costs are uniform on [0, 1].

    Parameters
    ----------
    phases : int
        How many stretches without change the horizon is cut into.

    >>> BudgetSwitching(phases=4).changes(horizon=1000, seed=0)
    [250, 500, 750]
    """

    def means(self, horizon: int, seed: int) -> Means:
        """A segment for every phase."""
        draws = generator(seed, "means")
        rewards = draws.random((self.phases, self.n_arms))
        costs = draws.random((self.phases, self.resources, self.n_arms))
        edges = np.array([0, *self.changes(horizon, seed), horizon])
        return Means.of(rewards, costs, np.repeat(np.arange(self.phases), np.diff(edges)))
