"""Discounted UCB. Garivier & Moulines 2011, section 3.

    N_t(i) = sum_s gamma^(t-s) [I_s = i]        n_t = sum_i N_t(i)
    X_t(i) = sum_s gamma^(t-s) X_s [I_s = i] / N_t(i)
    play each arm once; then the arm that maximises  X_t(i) + 2 B sqrt(xi ln n_t / N_t(i))

s runs over the rounds before t whose rewards are known. Where n_t < 1 the bonus is zero.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.log import Entry, Twin, tries


class DiscountedUCBTwin(Twin):
    """Every weight anew at every decision."""

    def counts(self, t: int) -> Floats:
        """N_t(i)."""
        return np.array([math.fsum(self.policy.gamma ** (t - entry.t) for entry in arm) for arm in self.by_arm(t)])

    def weights_under_way(self, t: int) -> Floats:
        """The same of what is under way."""
        rounds = self.under_way(t)
        return np.array([math.fsum(self.policy.gamma ** (t - s) for s in arm) for arm in rounds])

    def weighed(self, t: int) -> list[list[tuple[float, float]]]:
        return [[(self.policy.gamma ** (t - entry.t), entry.reward) for entry in arm] for arm in self.by_arm(t)]

    def means(self, t: int) -> Floats:
        """X_t(i), infinite without a try."""
        return np.array([self._mean(*each) for each in zip(self.by_arm(t), self.under_way(t), strict=True)])

    def indices(self, t: int) -> Floats:
        bounded = math.isfinite(self.problem.low) and math.isfinite(self.problem.high)
        span = self.problem.high - self.problem.low if bounded else 2.0 * self.problem.noise
        counts, means = self.counts(t), self.means(t)
        pending = self.weights_under_way(t)
        log = math.log(max(1.0, math.fsum(counts) + math.fsum(pending)))
        if log == 0.0:
            return means
        numbers = [len(each) for each in self.under_way(t)]
        together = zip(means, counts, pending, numbers, strict=True)
        seen = [tries(*each) if math.isfinite(mean) else 1.0 for mean, *each in together]
        return np.array(means + 2.0 * span * np.sqrt(self.policy.xi * log / np.array(seen)))

    def choose(self, t: int) -> int:
        """The arm with the largest index."""
        return self.first_of_the_best(self.indices(t), t)

    def _mean(self, entries: list[Entry], pending: list[int]) -> float:
        if not entries:
            return -math.inf if pending and math.isnan(self.middle) else self.middle if pending else math.inf
        newest = max(entry.t for entry in entries)
        weights = [self.policy.gamma ** (newest - entry.t) for entry in entries]
        total = math.fsum(w * entry.reward for w, entry in zip(weights, entries, strict=True))
        return total / math.fsum(weights)
