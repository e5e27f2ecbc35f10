"""The comparator of runs with budgets: the best plan in hindsight, LP(T).

regret          sum over rounds of what the plan earns on average minus what the arm chosen earns on average; when the
                world has closed, nothing is earned
steady regret   the same without the luck of costs: what was spent beyond its mean is given back at the plan's prices.
                Its mean is that of the regret but for one round, its variance is much smaller
spent           the largest share of a budget that was used
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.core.protocols import Tape
from driftwise.core.types import Floats
from driftwise.families.knapsack.ground_truth import KnapsackGroundTruth
from driftwise.families.knapsack.hindsight.hindsight_lp import plan_of
from driftwise.measure.comparator import ByMeans
from driftwise.measure.ledger import REGRET, Ledger


class BestPlan:
    """What the best plan earns in every round, and what arms are worth at its prices."""

    def __init__(self, world: KnapsackGroundTruth, horizon: int, seed: int) -> None:
        self.plan, means = plan_of(world, horizon, seed)
        self._table = means.rewards[self.plan.units.segments]
        self._worths = self.plan.worths(means)
        self._tops: Floats = np.maximum(self._worths.max(axis=1), 0.0)
        self._budget: Floats = world.stages(horizon).there[-1]

    def block(self, tape: Tape) -> ByMeans:
        """The units of the rounds of a tape."""
        rows = self.plan.units.rows[tape.start : tape.start + len(tape.levels.rows)]
        return ByMeans(rows, self._table, self.plan.rewards, self._worths, self._tops)

    def tell(self, ledger: Ledger, nature: Any) -> Mapping[str, float]:
        """What the plan earned, how much of the budget the run used, and its regret without the luck of costs."""
        results = {"benchmark": self.plan.value, "spent": float((nature.spent / self._budget).max())}
        if self.plan.prices.ndim == 1:
            results["steady_regret"] = float(ledger.totals[REGRET]) - float(self.plan.prices @ nature.luck)
        return results
