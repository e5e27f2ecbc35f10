"""UCB1. Auer, Cesa-Bianchi & Fischer 2002, figure 1.

    play each machine once; then machine j that maximises  mean_j + sqrt(2 ln n / n_j)

n is the number of plays so far (t, counting rounds from 0) and n_j those of machine j. For rewards in [low, high] the
bonus is as many times wider; 2 is the parameter xi.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.log import Twin, tries


class UCB1Twin(Twin):
    """Over all history."""

    def plays(self, t: int) -> int:
        """The n of the formula."""
        return t

    def indices(self, t: int) -> Floats:
        rewards = [[entry.reward for entry in entries] for entries in self.by_arm(t)]
        return np.array([self._index(t, *each) for each in zip(rewards, self.under_way(t), strict=True)])

    def choose(self, t: int) -> int:
        """The arm with the largest index."""
        return self.first_of_the_best(self.indices(t), t)

    def _index(self, t: int, rewards: list[float], pending: list[int]) -> float:
        if not rewards and not pending:
            return math.inf
        if math.isnan(self.mean(rewards)):
            return -math.inf
        bounded = math.isfinite(self.problem.low) and math.isfinite(self.problem.high)
        span = self.problem.high - self.problem.low if bounded else 2.0 * self.problem.noise
        count = tries(len(rewards), len(pending), len(pending))
        return self.mean(rewards) + span * math.sqrt(self.policy.xi * math.log(max(1, self.plays(t))) / count)
