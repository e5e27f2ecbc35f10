"""SW-UCB for arms. Cheung, Simchi-Levi & Zhu 2022, eq. (28) and (29).

    play the arm that maximises  mean_i + R sqrt(2 ln(2 d T^2) / N_i)

with mean and count over the last w rounds; an arm that is not among them is played at once.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.log import tries
from tests.families.multi_armed.twins.window import WindowedTwin


class SlidingArmedUCBTwin(WindowedTwin):
    """Mean and radius over the window."""

    def rounds(self, t: int) -> int:
        """T: the horizon, or the window where nobody knows it; once they are over, the rounds played."""
        return max(t, self.problem.horizon or self.policy.window)

    def indices(self, t: int) -> Floats:
        bounded = math.isfinite(self.problem.low) and math.isfinite(self.problem.high)
        noise = (self.problem.high - self.problem.low) / 2.0 if bounded else self.problem.noise
        radius = self.policy.scale * noise * math.sqrt(2.0 * math.log(2 * self.problem.n_arms * self.rounds(t) ** 2))
        rewards = [[entry.reward for entry in entries] for entries in self.by_arm(t)]
        return np.array([self._index(radius, *each) for each in zip(rewards, self.under_way(t), strict=True)])

    def choose(self, t: int) -> int:
        """The arm with the largest index."""
        return self.first_of_the_best(self.indices(t), t)

    def _index(self, radius: float, rewards: list[float], pending: list[int]) -> float:
        if not rewards and not pending:
            return math.inf
        if math.isnan(self.mean(rewards)):
            return -math.inf
        return self.mean(rewards) + radius / math.sqrt(tries(len(rewards), len(pending), len(pending)))
