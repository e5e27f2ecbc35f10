"""Epsilon-greedy with a constant step. Sutton & Barto 2018, section 2.5, equation 2.6 written out.

    Q = (1 - alpha)^(n-1) R_1 + sum_{i=2..n} alpha (1 - alpha)^(n-i) R_i        rewards of an arm in the order they came

The first reward is the first value; an arm without one is worth more than all others, but less once one is under way.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.log import Twin


class EpsilonGreedyTwin(Twin):
    """Over all history, in the order it was told."""

    def values(self, t: int) -> Floats:
        """Q of every arm."""
        rewards = [[entry.reward for entry in arm] for arm in self.by_arm(t)]
        return np.array([self._value(*each) for each in zip(rewards, self.under_way(t), strict=True)])

    def win_probabilities(self, t: int) -> Floats:
        """Epsilon is shared alike, the rest goes to the first of the best."""
        chances = np.full(self.problem.n_arms, self.policy.epsilon / self.problem.n_arms)
        chances[self.first_of_the_best(self.values(t), t)] += 1.0 - self.policy.epsilon
        return chances

    def _value(self, rewards: list[float], pending: list[int]) -> float:
        if not rewards:
            return -math.inf if pending else math.inf
        n, alpha = len(rewards), self.policy.step
        weights = [(1.0 - alpha) ** (n - 1)] + [alpha * (1.0 - alpha) ** (n - i) for i in range(2, n + 1)]
        return math.fsum(weight * reward for weight, reward in zip(weights, rewards, strict=True))
