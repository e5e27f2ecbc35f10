"""Arms that change places, drawn once for all runs: what the windows of the theorems must know, V, is then known."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.validation import whole
from driftwise.families import BudgetRotating
from driftwise.families.knapsack.means import Means


@dataclass(frozen=True, kw_only=True)
class Carousel(BudgetRotating):
    """The means are drawn by `instance`, rewards and costs by the seed.

    Parameters
    ----------
    instance : int
        Which means.
    idle : int
        1 adds an arm that pays and costs nothing, but has to be tried to be known.
    """

    instance: int = 0
    idle: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("instance", self.instance, low=0)
        whole("idle", self.idle, low=0, high=1)

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return self.n_arms + self.idle

    def means(self, horizon: int, seed: int) -> Means:
        """The same whatever the seed."""
        means = super().means(horizon, self.instance)
        if not self.idle:
            return means
        wider = (0, 0), (0, self.idle)
        return Means.of(np.pad(means.rewards, wider), np.pad(means.costs, ((0, 0), *wider)), means.rows)
