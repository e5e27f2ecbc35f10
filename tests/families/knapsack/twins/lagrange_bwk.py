"""LagrangeBwK. Immorlica, Sankararaman, Schapire & Slivkins 2022; EXP3.P of Bubeck & Cesa-Bianchi 2012 against Hedge.

L_j = r + 1 - c_j / b_j, L_0 = r;   g_j = (L_j - low) / (2 - low), low = 1 - T / B_min
G_i += (g_j 1[i chosen] + beta) / p_i with j drawn from y;   y_j ~ exp(-sqrt(8 ln(d + 1) / T) sum of g_j)
p_i = (1 - gamma) exp(eta G_i) / sum exp(eta G) + gamma / K, K = m + 1 with the null arm last
gamma = 1.05 sqrt(K ln K / T), eta = 0.95 sqrt(ln K / (T K)), beta = sqrt(ln(K / delta) / (T K))
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.knapsack.twins.budget_log import Bill, BudgetTwin
from tests.fixtures.splitmix import branch, uniform


class LagrangeBwKTwin(BudgetTwin):
    def chances(self, t: int) -> Floats:
        """Of every arm at decision `t`, and of the null arm, which is last."""
        return self._mixed(self.learned(t)[0])

    def learned(self, t: int) -> tuple[Floats, Floats]:
        """The gains of all arms and the losses of time and resources, one outcome after another."""
        choices = self.m + 1
        beta = math.sqrt(math.log(choices / self.policy.delta) / (self.horizon * choices))
        gains, losses = np.zeros(choices), np.zeros(1 + self.d)
        for bill in self.known(t):
            told = self.lagrangians(bill)
            charged = int(np.searchsorted(np.cumsum(self.shares(losses)), uniform(branch(bill.rng)), side="right"))
            gains += beta / self._mixed(gains)
            gains[bill.arm] += told[min(charged, self.d)] / bill.propensity  # arm -1 is the last
            losses += told
        return gains, losses

    def lagrangians(self, bill: Bill) -> Floats:
        """The g of time and of every resource."""
        scarce = np.array(bill.rates) if self.policy.resolve else self.even()
        values = np.append(bill.reward, bill.reward + 1.0 - np.array(bill.costs) / scarce)
        low = min(0.0, 1.0 - self.horizon / float(self.amounts.min()))
        return np.maximum(0.0, (values - low) / (2.0 - low))

    def shares(self, losses: Floats) -> Floats:
        """The y of time and of every resource."""
        powers = np.exp(-math.sqrt(8.0 * math.log(self.d + 1) / self.horizon) * (losses - losses.min()))
        return np.array(powers / powers.sum())

    def worths(self, t: int, rates: Floats) -> Floats:
        """What a unit of each resource is worth at decision `t`."""
        scarce = rates if self.policy.resolve else self.even()
        return self.unit() * self.shares(self.learned(t)[1])[1:] / scarce

    def _mixed(self, gains: Floats) -> Floats:
        choices = self.m + 1
        gamma = min(1.0, 1.05 * math.sqrt(choices * math.log(choices) / self.horizon))
        eta = 0.95 * math.sqrt(math.log(choices) / (self.horizon * choices))
        powers = np.exp(eta * (gains - gains.max()))
        return np.array((1.0 - gamma) * powers / powers.sum() + gamma / choices)
