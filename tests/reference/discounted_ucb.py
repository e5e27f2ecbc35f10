"""Discounted UCB. Garivier & Moulines 2011, section 3.

    N_t(i) = sum_s gamma^(t-s) [I_s = i]        n_t = sum_i N_t(i)
    X_t(i) = sum_s gamma^(t-s) X_s [I_s = i] / N_t(i)
    play each arm once; then the arm that maximises  X_t(i) + 2 B sqrt(xi ln n_t / N_t(i))

s runs over the rounds before t whose rewards are known. Where n_t < 1 the bonus is zero.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.reference.log import Entry, Twin


class DiscountedUCBTwin(Twin):
    """Every weight anew at every decision."""

    def counts(self, t: int) -> Floats:
        """N_t(i)."""
        return np.array([math.fsum(self.policy.gamma ** (t - entry.t) for entry in arm) for arm in self.by_arm(t)])

    def means(self, t: int) -> Floats:
        """X_t(i), infinite without a reward."""
        return np.array([self._mean(arm) for arm in self.by_arm(t)])

    def indices(self, t: int) -> Floats:
        bounded = math.isfinite(self.problem.low) and math.isfinite(self.problem.high)
        span = self.problem.high - self.problem.low if bounded else 2.0 * self.problem.noise
        counts, means = self.counts(t), self.means(t)
        log = math.log(max(1.0, math.fsum(counts)))
        if log == 0.0:
            return means
        seen = np.isfinite(means)
        return np.array(means + 2.0 * span * np.sqrt(self.policy.xi * log / np.where(seen, counts, 1.0)))

    def choose(self, t: int) -> int:
        """The lowest arm with the largest index."""
        return int(np.argmax(self.indices(t)))

    def _mean(self, entries: list[Entry]) -> float:
        if not entries:
            return math.inf
        newest = max(entry.t for entry in entries)
        weights = [self.policy.gamma ** (newest - entry.t) for entry in entries]
        total = math.fsum(w * entry.reward for w, entry in zip(weights, entries, strict=True))
        return total / math.fsum(weights)
