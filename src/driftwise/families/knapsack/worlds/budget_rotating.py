"""Budgets where arms change places: what can be earned stays the same, only who earns it does not.

The best plan of every round is the same up to the names of its arms, so that nothing is gained by saving budget for
later (LP(T) is the sum of the programs of single rounds): this world has V without the losses that come of W.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.validation import whole
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.even_budgets import EvenBudgets
from driftwise.measure.phases import PhasedWorld


@dataclass(frozen=True, kw_only=True)
class BudgetRotating(PhasedWorld, EvenBudgets):
    """In phase p, arm i pays and costs what arm i + p, counted around, did at first.

    Means are drawn once by the seed, uniform on [0, 1].

    Parameters
    ----------
    phases : int
        How many stretches without change the horizon is cut into.

    >>> BudgetRotating(n_arms=3, phases=5).changes(horizon=100, seed=0)
    [20, 40, 60, 80]
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_arms", self.n_arms, low=2)

    def means(self, horizon: int, seed: int) -> Means:
        """A segment for every turn; after as many turns as there are arms the first comes again."""
        draws = generator(seed, "means")
        rewards, costs = draws.random(self.n_arms), draws.random((self.resources, self.n_arms))
        turns = [(np.arange(self.n_arms) + turn) % self.n_arms for turn in range(min(self.phases, self.n_arms))]
        edges = np.array([0, *self.changes(horizon, seed), horizon])
        phases = np.repeat(np.arange(self.phases) % self.n_arms, np.diff(edges))
        return Means.of(rewards[turns], np.stack([costs[:, turn] for turn in turns]), phases)
