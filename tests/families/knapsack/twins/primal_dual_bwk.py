"""PrimalDualBwK. Badanidiyuru, Kleinberg & Slivkins 2018, with time as resource 0 and all budgets scaled to the least.

rad(a, N) = sqrt(C a / N) + C / N, C = ln(d T m);   UCB and LCB = mean +- rad(mean, n), within [0, 1]
arm = argmax UCB_i / sum_j y_j LCB'_ji              LCB' in units of which B_min may be spent: time takes B_min / T
v_j *= (1 + eps)^LCB'_ji, eps = min(1, sqrt(ln(d + 1) / B_min)), y = v / sum v

What is under way: rad has (n + p)^2 / n for n, or p (1 + p) where no outcome has come, and means are then 1/2. Each
outcome under way has moved v already, by the LCB of now; when it comes it does so by that of then.
"""

import math
from typing import Any

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.knapsack.twins.budget_log import Bill, BudgetTwin, tries


class PrimalDualBwKTwin(BudgetTwin):
    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        self.waited: list[list[int]] = []  # what else was under way when each outcome came

    def learn(self, bill: Bill) -> None:
        super().learn(bill)
        self.waited.append(self.under_way(bill.arrival))

    def least(self) -> float:
        return min(float(self.horizon), float(self.amounts.min()))

    def radius(self, mean: float, tried: float) -> float:
        reach = math.log(self.d * self.horizon * self.m)
        return float(self.policy.scale * (math.sqrt(reach * mean / tried) + reach / tried))

    def tried(self, count: int, pending: int) -> float:
        return tries(count, pending) if count else pending * (1 + pending)

    def lower(self, arm: int, bills: list[Bill], under_way: list[int]) -> Floats:
        count, _, spent = self.of_arm(arm, bills)
        tried = self.tried(count, under_way.count(arm))
        if not tried:
            return np.zeros(self.d)
        means = spent / count if count else np.full(self.d, 0.5)
        return np.array([max(0.0, mean - self.radius(mean, tried)) for mean in means])

    def prices(self, t: int) -> Floats:
        """The y of time and of every resource, one outcome after another; each is priced by what was known before."""
        bills, under_way = self.known(t), self.under_way(t)
        eps = min(1.0, math.sqrt(math.log(self.d + 1) / self.least()))
        moves = [(bill.arm, bills[:i], self.waited[i]) for i, bill in enumerate(bills)]
        moves += [(arm, bills, under_way) for arm in under_way]
        exponents = np.zeros(1 + self.d)
        for arm, before, waited in moves:
            exponents[0] += self.least() / self.horizon
            if arm >= 0:
                exponents[1:] += self.lower(arm, before, waited) * self.least() / self.amounts
        v = (1.0 + eps) ** (exponents - exponents.max())
        return np.array(v / v.sum())

    def ratios(self, t: int, rates: Floats) -> Floats:
        """What is compared at decision `t`; infinite for an arm that was never chosen."""
        bills, under_way = self.known(t), self.under_way(t)
        y, scarce = self.prices(t), rates if self.policy.resolve else self.even()
        ratios = np.full(self.m, np.inf)
        for arm in range(self.m):
            count, total, _ = self.of_arm(arm, bills)
            if tried := self.tried(count, under_way.count(arm)):
                mean = total / count if count else 0.5
                cost = float(y[0] + (y[1:] * self.lower(arm, bills, under_way) / scarce).sum())
                ratios[arm] = min(1.0, mean + self.radius(mean, tried)) / cost
        return ratios

    def worths(self, t: int, rates: Floats) -> Floats:
        """What a unit of each resource is worth at decision `t`."""
        scarce = rates if self.policy.resolve else self.even()
        best = min(1.0, float(self.ratios(t, rates).max()))
        return self.unit() * best * self.prices(t)[1:] / scarce
