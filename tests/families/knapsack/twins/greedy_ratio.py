"""The arm with the largest reward for its cost, both seen hopefully.

argmax UCB_i / max(1, load_i), load_i = max_j LCB_ji / b_j;   paced: with chance 1 / load_i, else nothing
UCB and LCB = mean +- 0.35 sqrt(ln(T) / (2 (n + 1))), means by n + 1, within [0, 1]
What is under way: `tries` and `mean_cost` in `budget_log.py`.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.knapsack.twins.budget_log import BudgetTwin, mean_cost, tries


class GreedyRatioTwin(BudgetTwin):
    def bounds(self, t: int) -> tuple[Floats, Floats]:
        upper, lower = np.zeros(self.m), np.zeros((self.d, self.m))
        for arm in range(self.m):
            count, total, spent = self.of_arm(arm, self.known(t))
            pending = self.under_way(t).count(arm)
            width = 0.35 * self.policy.scale * math.sqrt(math.log(self.horizon) / (2.0 * tries(count + 1, pending)))
            upper[arm] = min(1.0, total / (count + 1) + width)
            lower[:, arm] = [max(0.0, mean_cost(each, count, pending) - width) for each in spent]
        return upper, lower

    def loads(self, t: int, rates: Floats) -> Floats:
        scarce = rates if self.policy.paced else self.even()
        loads: Floats = (self.bounds(t)[1] / scarce[:, None]).max(axis=0)
        return loads

    def ratios(self, t: int, rates: Floats) -> Floats:
        """What is compared at decision `t`."""
        return self.bounds(t)[0] / np.maximum(1.0, self.loads(t, rates))

    def chance(self, t: int, rates: Floats, arm: int) -> float:
        """How likely the best arm is played."""
        return 1.0 / max(1.0, float(self.loads(t, rates)[arm])) if self.policy.paced else 1.0

    def worths(self, t: int, rates: Floats) -> Floats:
        """What a unit of each resource is worth at decision `t`: of the scarcest, what it earns with the best arm."""
        upper, lower = self.bounds(t)
        arm = int(np.argmax(self.ratios(t, rates)))
        spends = lower[:, arm] / (rates if self.policy.paced else self.even())
        worths, scarcest = np.zeros(self.d), int(np.argmax(spends))
        if spends[scarcest] > 1.0:
            worths[scarcest] = self.unit() * upper[arm] / lower[scarcest, arm]
        return worths
