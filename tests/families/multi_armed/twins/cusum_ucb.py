"""CUSUM-UCB. Liu, Lee & Shroff 2018, algorithms 1 and 2.

    with probability 1 - alpha  play argmax_i  mean_i + sqrt(xi ln n / N_i),  n = N_1 + ... + N_K
    with probability alpha      play any arm

means and counts since tau_i, the restart of arm i. The test, with u the mean of the first M rewards y_1 .. y_M:

    g+_k = max(0, g+_{k-1} + y_k - u - epsilon)      g-_k = max(0, g-_{k-1} + u - y_k - epsilon)      for k > M

alarms when one reaches h. A walk that is cut off at zero is its largest sum over the last so many steps, or zero: so it
is computed here.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.restarts import RestartingTwin


class CusumUCBTwin(RestartingTwin):
    """Index, chances and walks from the log."""

    def indices(self, t: int) -> Floats:
        reading = self.read(t)
        under_way = zip(self.under_way(t), reading.starts, strict=True)
        n = sum(map(len, reading.rewards)) + sum(s >= start for rounds, start in under_way for s in rounds)
        return self.bounds(t, math.sqrt(self.policy.xi * math.log(max(1, n))))

    def probabilities(self, t: int) -> Floats:
        """The chance of each arm."""
        n_arms, alpha = self.problem.n_arms, self.policy.alpha
        best = np.arange(n_arms) == self.first_of_the_best(self.indices(t), t)
        return np.asarray(np.where(best, alpha / n_arms + 1.0 - alpha, alpha / n_arms), np.float64)

    def walks(self, rewards: list[float]) -> tuple[float, float]:
        """Where the rising and the falling walk stand after these rewards of one arm since its restart."""
        surplus = self.surplus(rewards)
        return highest(surplus - self.policy.epsilon), highest(-surplus - self.policy.epsilon)

    def surplus(self, rewards: list[float]) -> Floats:
        """By how much each reward that moves the walks exceeds the baseline."""
        warmup = self.policy.warmup
        return np.asarray(np.array(rewards[warmup:]) - math.fsum(rewards[:warmup]) / warmup)

    def alarm(self, rewards: list[float]) -> bool:
        return bool(max(self.walks(rewards)) >= self.policy.h)


def highest(steps: Floats) -> float:
    """The largest sum of the last so many steps, at least that of none."""
    return float(max(0.0, np.cumsum(steps[::-1]).max(initial=0.0)))
