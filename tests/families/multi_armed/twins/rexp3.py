"""REXP3. Besbes, Gur & Zeevi 2014, section 3 and theorem 2.

rounds in batches of Delta = ceil((K ln K)^(1/3) (T / V)^(2/3)); in each, EXP3 from the start
gamma = min(1, sqrt(K ln K / ((e - 1) Delta)))
"""

import math

from tests.families.multi_armed.twins.exp3 import EXP3Twin
from tests.families.multi_armed.twins.log import Entry


class REXP3Twin(EXP3Twin):
    """EXP3 on the decisions of the present batch."""

    def batch(self) -> int:
        if self.policy.batch:
            return int(self.policy.batch)
        n_arms = self.problem.n_arms
        root = math.pow(n_arms * math.log(n_arms), 1 / 3)
        return math.ceil(root * math.pow(self.horizon() / self.policy.variation, 2 / 3))

    def gamma(self) -> float:
        n_arms = self.problem.n_arms
        return min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1.0) * self.batch())))

    def known(self, t: int) -> list[Entry]:
        """What was told of decisions of the batch that `t` lies in."""
        return [entry for entry in super().known(t) if entry.t // self.batch() == t // self.batch()]

    def stale(self) -> int:
        """Rewards that arrived in a later batch than their decision's."""
        return sum(entry.arrival // self.batch() > entry.t // self.batch() for entry in self.log)
