"""KL-UCB. Garivier & Cappe 2011, algorithm 1.

    play each arm once; then the arm that maximises  max{q in [0, 1] : N[a] d(S[a] / N[a], q) <= ln t + c ln ln t}

with d the divergence of Bernoulli laws, for rewards moved to [0, 1]. t counts the rounds completed; the right side is
zero where it would be negative or is not defined. Of equal indices the first arm's wins.
"""

import functools
import math

import numpy as np
from scipy.optimize import brentq

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.log import Twin, tries

BELOW_ONE = math.nextafter(1.0, 0.0)


class KLUCBTwin(Twin):
    """Over all history."""

    def plays(self, t: int) -> int:
        """The t of the formula."""
        return t

    def level(self, t: int) -> float:
        """The right side."""
        plays = self.plays(t)
        if plays <= 1:
            return 0.0
        return max(0.0, math.log(plays) + float(self.policy.c) * math.log(math.log(plays)))

    def indices(self, t: int) -> Floats:
        rewards = [[self.place(entry.reward) for entry in entries] for entries in self.by_arm(t)]
        return np.array([self._index(t, *each) for each in zip(rewards, self.under_way(t), strict=True)])

    def choose(self, t: int) -> int:
        """The arm with the largest index."""
        return self.first_of_the_best(self.indices(t), t)

    def place(self, reward: float) -> float:
        """On [0, 1]."""
        return (reward - self.problem.low) / (self.problem.high - self.problem.low)

    def _index(self, t: int, rewards: list[float], pending: list[int]) -> float:
        if not rewards and not pending:
            return math.inf
        return upper(self.mean(rewards), self.level(t) / tries(len(rewards), len(pending), len(pending)))


def divergence(p: float, q: float) -> float:
    """The definition: p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)), where 0 ln 0 = 0."""
    total = 0.0
    for a, b in ((p, q), (1.0 - p, 1.0 - q)):
        if a > 0.0:
            total += a * math.log(a / b) if b > 0.0 else math.inf
    return total


@functools.cache
def upper(mean: float, level: float) -> float:
    """The largest q with d(mean, q) <= level, by a root finder."""
    if divergence(mean, BELOW_ONE) <= level:
        return 1.0
    if level == 0.0:
        return mean
    return float(brentq(lambda q: divergence(mean, q) - level, mean, BELOW_ONE, xtol=1e-15, rtol=1e-15))
