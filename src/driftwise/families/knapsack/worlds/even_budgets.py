"""Worlds with any number of arms and resources, whose budgets are all alike: what their files share."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.families.knapsack.worlds.base import BudgetWorld


@dataclass(frozen=True, kw_only=True)
class EvenBudgets(BudgetWorld):
    """Arms and resources by number, and one rate for every budget.

    Parameters
    ----------
    n_arms, resources : int
        How many arms, and how many resources they spend.
    rate : float
        The budget of each resource by the horizon.
    """

    n_arms: int = 8
    resources: int = 2
    rate: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_arms", "resources"):
            whole(name, getattr(self, name), high=10**6)
        number("rate", self.rate, above=0.0, below=1.0, closed="]")

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return self.n_arms

    def rates(self, horizon: int) -> Floats:
        """The same for every resource."""
        return np.full(self.resources, self.rate)
