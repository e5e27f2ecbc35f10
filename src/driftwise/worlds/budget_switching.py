"""Budgets where everything changes at once: from phase to phase what arms pay and cost is drawn anew."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.rules import number, whole
from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.worlds.arms import phase_starts
from driftwise.worlds.budgeted import BudgetWorld
from driftwise.worlds.means import Means


@dataclass(frozen=True, kw_only=True)
class BudgetSwitching(BudgetWorld):
    """Phases of equal length; in each, every arm's mean reward and costs are uniform on [0, 1].

    Parameters
    ----------
    n_arms, resources : int
        How many arms, and how many resources they spend.
    phases : int
        How many stretches without change the horizon is cut into.
    rate : float
        The budget of each resource by the horizon.

    >>> BudgetSwitching(phases=4).changes(horizon=1000, seed=0)
    [250, 500, 750]
    """

    n_arms: int = 8
    resources: int = 2
    phases: int = 5
    rate: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_arms", "resources", "phases"):
            whole(name, getattr(self, name), high=10**6)
        number("rate", self.rate, above=0.0, below=1.0, closed="]")

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return self.n_arms

    def rates(self, horizon: int) -> Floats:
        """The same for every resource."""
        return np.full(self.resources, self.rate)

    def changes(self, horizon: int, seed: int) -> list[int]:
        """The first round of every phase but the first."""
        return phase_starts(self.phases, horizon)

    def means(self, horizon: int, seed: int) -> Means:
        """A segment for every phase."""
        draws = generator(seed, "means")
        rewards = draws.random((self.phases, self.n_arms))
        costs = draws.random((self.phases, self.resources, self.n_arms))
        edges = np.array([0, *self.changes(horizon, seed), horizon])
        return Means.of(rewards, costs, np.repeat(np.arange(self.phases), np.diff(edges)))
