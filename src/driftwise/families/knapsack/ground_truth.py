"""What oracles and comparators read of a world with budgets: its means, and when budgets arrive."""

from typing import Protocol

from driftwise.core.protocols import World
from driftwise.core.types import Floats, Ints
from driftwise.families.knapsack.means import Means


class BudgetSchedule(Protocol):
    """The budgets by stage: a stage starts where more of a resource arrives."""

    @property
    def starts(self) -> Ints:
        """The first round of each stage."""

    @property
    def there(self) -> Floats:
        """What may have been spent of each resource by the end of each stage."""


class KnapsackGroundTruth(World, Protocol):
    """A world with budgets that tells its means in advance."""

    def means(self, horizon: int, seed: int) -> Means:
        """The mean rewards and costs of every round of one run."""

    def stages(self, horizon: int) -> BudgetSchedule:
        """The budgets of one run, stage by stage."""
