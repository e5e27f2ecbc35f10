"""Windows by how well they predicted, and prices that follow what is spent: one outcome after another.

errors_ik = sum over the outcomes of i of fade^age (r - (S + 1/2) / (n + 1))^2, and the same of every cost, where S
            and n are those of window k before it; age in outcomes of i
window of i = argmin_k errors_ik + share (all errors of k, with sqrt(fade) for fade and age in outcomes of any arm)
UCB and LCB = mean +- rho sqrt(ln(w) / (2 (n + 1))), means by n + 1, within [0, 1];   w = T where nothing is forgotten
price_j = clip(price_j - eta (rate_j - cost_j), 0, T / B_j), eta = step / sqrt(T)
arm = argmax UCB_i - price'LCB_i, or none where that is not above 0

What is under way: `tries` in place of n + 1 and `mean_cost`, in `budget_log.py`; and the price is moved as if all of it
had come at the present rate, at (S + 1/2) / (n + 1) of its arm's window each. It ends with the longest window that
does, or with the T rounds where none does.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.knapsack.twins.budget_log import Bill, BudgetTwin, mean_cost, tries


class PrequentialPacingTwin(BudgetTwin):
    def sizes(self) -> list[int]:
        """The windows; 0 forgets nothing."""
        shortest, count = min(self.horizon, max(60, 8 * self.m)), self.policy.windows
        ratio = (self.horizon / shortest) ** (1.0 / (count - 1)) if count > 1 else 1.0
        return [min(2**15, round(shortest * ratio**k)) for k in range(count - 1)] + [0]

    def ring(self) -> int:
        """How long a round is remembered."""
        return max(self.sizes()) or min(2**15, self.horizon)

    def under_way(self, t: int) -> list[int]:
        """Rounds of an arm while they are remembered; those of the null arm until they are over."""
        return [arm for s, arm in self.pending.items() if arm < 0 or s >= t - self.ring()]

    def counted(self, t: int) -> list[Bill]:
        """What has counted before decision `t`: a second outcome of a round that the longest ring remembers has not."""
        counted: list[Bill] = []
        for bill in self.known(t):
            age, again = bill.arrival + 1 - bill.t, any(bill.t == other.t for other in counted)
            if bill.arm < 0 or not again or age > self.ring():
                counted.append(bill)
        return counted

    def seen(self, size: int, clock: int, bills: list[Bill]) -> list[Bill]:
        """Those of a window that ends before round `clock`."""
        return [bill for bill in bills if bill.arm >= 0 and (size == 0 or clock - size <= bill.t < clock)]

    def used(self, t: int) -> list[int]:
        """The window of every arm at decision `t`; among equals the longest."""
        sizes, bills = self.sizes(), self.counted(t)
        errors, pooled = np.zeros((self.m, len(sizes))), np.zeros(len(sizes))
        for i, bill in enumerate(bills):
            if bill.arm < 0:
                continue
            now = np.array([self.surprise(bill, self.seen(size, bill.arrival + 1, bills[:i])) for size in sizes])
            errors[bill.arm] = self.policy.fade * errors[bill.arm] + now
            pooled = math.sqrt(self.policy.fade) * pooled + now
        total = errors + self.policy.share * pooled
        return [max(k for k in range(len(sizes)) if row[k] == row.min()) for row in total]

    def surprise(self, bill: Bill, seen: list[Bill]) -> float:
        """How far the means of a window, started at one half, were from what came."""
        count, total, spent = self.of_arm(bill.arm, seen)
        misses = np.append(bill.reward - (total + 0.5) / (count + 1), bill.costs - (spent + 0.5) / (count + 1))
        return float((misses**2).sum())

    def bounds(self, t: int) -> tuple[Floats, Floats]:
        upper, lower, sizes, bills = np.zeros(self.m), np.zeros((self.d, self.m)), self.sizes(), self.counted(t)
        for arm, window in enumerate(self.used(t)):
            count, total, spent = self.of_arm(arm, self.seen(sizes[window], t, bills))
            rounds, pending = sizes[window] or self.horizon, self.under_way(t).count(arm)
            width = self.policy.rho * math.sqrt(math.log(max(2, rounds)) / (2.0 * tries(count + 1, pending)))
            upper[arm] = min(1.0, total / (count + 1) + width)
            lower[:, arm] = [max(0.0, mean_cost(each, count, pending) - width) for each in spent]
        return upper, lower

    def prices(self, t: int) -> Floats:
        prices = np.zeros(self.d)
        for bill in self.counted(t):
            moved = prices - self.policy.step / math.sqrt(self.horizon) * (np.array(bill.rates) - np.array(bill.costs))
            prices = np.clip(moved, 0.0, self.horizon / self.amounts)
        return prices

    def charges(self, t: int, rates: Floats) -> Floats:
        """The prices to go by, once what is under way is charged for."""
        sizes, used, bills, excess = self.sizes(), self.used(t), self.counted(t), np.zeros(self.d)
        for arm in self.under_way(t):
            excess -= rates
            if arm >= 0:
                count, _, spent = self.of_arm(arm, self.seen(sizes[used[arm]], t, bills))
                excess += (spent + 0.5) / (count + 1)
        moved = self.prices(t) + self.policy.step / math.sqrt(self.horizon) * excess
        charges: Floats = np.clip(moved, 0.0, self.horizon / self.amounts)
        return charges

    def worths(self, t: int, rates: Floats) -> Floats:
        """What a unit of each resource is worth at decision `t`."""
        return self.unit() * self.charges(t, rates)

    def gains(self, t: int, rates: Floats) -> Floats:
        """What is compared at decision `t`: what an arm earns once its costs are paid for."""
        upper, lower = self.bounds(t)
        return upper - self.charges(t, rates) @ lower
