"""UCB with budgets, over all history. Agrawal & Devanur 2014, with the radii of Liu, Jiang & Li 2022, Appendix D.

rad(a, N) = sqrt(g a / N) + g / N       g = ln(m T^2), for costs ln(m d T^2)
UCB = mean + 2 rad(mean, n + 1), LCB = mean - 2 rad(mean, n + 1), means by n + 1, and LCB at least 0
what is under way: `tries` and `mean_cost` in `budget_log.py`
right-hand side (1 - eps) b, eps = (sqrt(g m B) + m g + sqrt(g B)) / B for the least B, at most 1/2
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.knapsack.twins.budget_log import BudgetTwin, Program, mean_cost, tries


class UCBBwKTwin(BudgetTwin):
    def radius(self, mean: float, tried: float, kinds: int) -> float:
        gamma = math.log(kinds * self.horizon**2)
        return 2.0 * float(self.policy.scale) * (math.sqrt(gamma * mean / tried) + gamma / tried)

    def bounds(self, t: int) -> tuple[Floats, Floats]:
        upper, lower = np.zeros(self.m), np.zeros((self.d, self.m))
        for arm in range(self.m):
            count, total, spent = self.of_arm(arm, self.known(t))
            pending = self.under_way(t).count(arm)
            tried = tries(count + 1, pending)
            upper[arm] = total / (count + 1) + self.radius(total / (count + 1), tried, self.m)
            for j, each in enumerate(spent):
                mean = mean_cost(each, count, pending)
                lower[j, arm] = max(0.0, mean - self.radius(mean, tried, self.m * self.d))
        return upper, lower

    def program(self, t: int, rates: Floats) -> Program:
        budget, least = rates if self.policy.resolve else self.even(), float(self.amounts.min())
        gamma = math.log(self.m * self.d * self.horizon**2)
        eps = min(0.5, ((gamma * self.m * least) ** 0.5 + self.m * gamma + (gamma * least) ** 0.5) / least)
        return Program(*self.bounds(t), (1.0 - eps * self.policy.shrink) * budget)
