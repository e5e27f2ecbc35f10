"""PrimalDualBwK. Badanidiyuru, Kleinberg & Slivkins 2018, with time as resource 0 and all budgets scaled to the least.

rad(a, N) = sqrt(C a / N) + C / N, C = ln(d T m);   UCB and LCB = mean +- rad(mean, n), within [0, 1]
arm = argmax UCB_i / sum_j y_j LCB'_ji              LCB' in units of which B_min may be spent: time takes B_min / T
v_j *= (1 + eps)^LCB'_ji, eps = min(1, sqrt(ln(d + 1) / B_min)), y = v / sum v
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.reference.budget_log import Bill, BudgetTwin


class PrimalDualBwKTwin(BudgetTwin):
    def least(self) -> float:
        return min(float(self.horizon), float(self.amounts.min()))

    def radius(self, mean: float, count: int) -> float:
        reach = math.log(self.d * self.horizon * self.m)
        return float(self.policy.scale * (math.sqrt(reach * mean / count) + reach / count))

    def lower(self, arm: int, bills: list[Bill]) -> Floats:
        count, _, spent = self.of_arm(arm, bills)
        if not count:
            return np.zeros(self.d)
        return np.array([max(0.0, mean - self.radius(mean, count)) for mean in spent / count])

    def prices(self, bills: list[Bill]) -> Floats:
        """The y of time and of every resource, one outcome after another; each is priced by what was known before."""
        eps = min(1.0, math.sqrt(math.log(self.d + 1) / self.least()))
        exponents = np.zeros(1 + self.d)
        for i, bill in enumerate(bills):
            exponents[0] += self.least() / self.horizon
            if bill.arm >= 0:
                exponents[1:] += self.lower(bill.arm, bills[:i]) * self.least() / self.amounts
        v = (1.0 + eps) ** (exponents - exponents.max())
        return np.array(v / v.sum())

    def ratios(self, t: int, rates: Floats) -> Floats:
        """What is compared at decision `t`; infinite for an arm of which nothing is known."""
        bills = self.known(t)
        y, scarce = self.prices(bills), rates if self.policy.resolve else self.even()
        ratios = np.full(self.m, np.inf)
        for arm in range(self.m):
            count, total, _ = self.of_arm(arm, bills)
            if count:
                cost = float(y[0] + (y[1:] * self.lower(arm, bills) / scarce).sum())
                ratios[arm] = min(1.0, total / count + self.radius(total / count, count)) / cost
        return ratios

    def worths(self, t: int, rates: Floats) -> Floats:
        """What a unit of each resource is worth at decision `t`."""
        scarce = rates if self.policy.resolve else self.even()
        best = min(1.0, float(self.ratios(t, rates).max()))
        return self.unit() * best * self.prices(self.known(t))[1:] / scarce
