"""Sliding-window UCB with budgets. Liu, Jiang & Li 2022, Algorithm 1 and Appendix D.

    UCB_i  = sum of r / (n_i + 1) + width        over the rounds t - w1 .. t - 1 in which i was chosen
    LCB_ji = sum of c_j / (n_i + 1) - width      over the rounds t - w2 .. t - 1
    max UCB'x such that LCB x <= b, sum x <= 1, x >= 0

width: sqrt(2 ln(12 m T^3) / (n + 1)), for costs ln(12 m d T^3); of Appendix D 2 (sqrt(g a / (n + 1)) + g / (n + 1))
with g = ln(m T^2) and a the mean, for costs g = ln(m d T^2); practical 0.35 sqrt(ln(w) / (2 (n + 1))).
Of arms of which the longer window holds nothing the one tried longest ago is chosen, where it is shorter than m rounds.
What is under way in the longer window: `tries` in place of n + 1 and `mean_cost`, in `budget_log.py`.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.knapsack.twins.budget_log import Bill, BudgetTwin, Program, mean_cost, tries


class SlidingKnapsackUCBTwin(BudgetTwin):
    def windows(self) -> tuple[int, int]:
        return self.policy.window, self.policy.cost_window or self.policy.window

    def within(self, t: int, window: int) -> list[Bill]:
        """One bill for each answered round of a window: of one that was told twice, the first."""
        first: dict[int, Bill] = {}
        for bill in self.known(t):
            if t - window <= bill.t <= t - 1 and bill.arm >= 0:
                first.setdefault(bill.t, bill)
        return list(first.values())

    def under_way(self, t: int) -> list[int]:
        """Of the rounds of the longer window."""
        return [arm for s, arm in self.pending.items() if s >= t - max(self.windows())]

    def settle(self, t: int, now: int) -> None:
        """What had left both windows by the end of round `now` was a try all the same."""
        if t >= now + 1 - max(self.windows()):
            super().settle(t, now)

    def last_try(self, arm: int) -> int:
        """The latest round of an arm whose outcome came while it was in a window, or was under way when it left."""
        window = max(self.windows())
        came = [bill.t for bill in self.log if bill.arm == arm and bill.t >= bill.arrival + 1 - window]
        return max([*came, *(s for s, each in self.pending.items() if each == arm)], default=-1)

    def alike(self, t: int, arm: int) -> list[int]:
        """The arms of which nothing is known or under way at decision `t`, where this is one and arms are too many."""
        longest = max(self.windows())
        held = {bill.arm for bill in self.within(t, longest)} | {*self.under_way(t)}
        return [each for each in range(self.m) if each not in held] if self.m > longest and arm not in held else [arm]

    def stale(self) -> int:
        """Outcomes of arms that came when both windows had passed their round."""
        return sum(bill.arm >= 0 and bill.t < bill.arrival + 1 - max(self.windows()) for bill in self.log)

    def width(self, mean: float, n: float, window: int, kinds: int) -> float:
        """After n tries; `kinds` is m for rewards, m d for costs."""
        horizon = self.horizon
        if self.policy.conf == "paper":
            return float(self.policy.scale * math.sqrt(2.0 * math.log(12 * kinds * horizon**3) / n))
        if self.policy.conf == "appendix":
            gamma = math.log(kinds * horizon**2)
            return float(2.0 * self.policy.scale * (math.sqrt(gamma * mean / n) + gamma / n))
        return float(0.35 * self.policy.scale * math.sqrt(math.log(max(2, window)) / (2.0 * n)))

    def bounds(self, t: int) -> tuple[Floats, Floats]:
        """Upper bounds on rewards, and lower bounds on costs, a row per resource."""
        w1, w2 = self.windows()
        upper, lower = np.zeros(self.m), np.zeros((self.d, self.m))
        for arm in range(self.m):
            pending = self.under_way(t).count(arm)
            count, total, _ = self.of_arm(arm, self.within(t, w1))
            upper[arm] = total / (count + 1) + self.width(total / (count + 1), tries(count + 1, pending), w1, self.m)
            count, _, spent = self.of_arm(arm, self.within(t, w2))
            for j, each in enumerate(spent):
                mean = mean_cost(each, count, pending)
                lower[j, arm] = mean - self.width(mean, tries(count + 1, pending), w2, self.m * self.d)
        return (np.minimum(upper, 1.0), np.maximum(lower, 0.0)) if self.policy.clip else (upper, lower)

    def program(self, t: int, rates: Floats) -> Program:
        budget = rates if self.policy.resolve else self.even()
        return Program(*self.bounds(t), (1.0 - self.shrinkage()) * budget)

    def shrinkage(self) -> float:
        """The eps of Appendix D for the variation that the window of costs is made for; none where it is T."""
        if not self.policy.shrink:
            return 0.0
        m, horizon, window, budget = self.m, self.horizon, self.windows()[1], float(self.amounts.min())
        gamma = math.log(m * self.d * horizon**2)
        variation = 0.0 if window == horizon else horizon * (m * gamma) ** 0.5 / window**1.5
        alpha = (gamma * m * budget) ** 0.5 + m * gamma
        beta = (gamma * budget) ** 0.5 + (m * variation * gamma) ** (1 / 3) * horizon ** (2 / 3)
        return float(min(0.5, (alpha + beta) / budget))
