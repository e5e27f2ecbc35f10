"""Thompson sampling with Gaussian beliefs: normal prior, normal rewards of known noise, Bayes' rule.

    1 / sd^2 = 1 / s^2 + n / v^2          mean = (m / s^2 + (r_1 + ... + r_n) / v^2) sd^2

m and s are the prior's, v the noise, r_1 .. r_n the rewards. Without a prior m is the middle of the range and s its
width; without a range they are those of 0 to the unit, and without a unit s is infinite: an arm without rewards is
tried. What is under way counts in the spread as `tries` do, not in the mean.
"""

import math

import numpy as np
from scipy import stats

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.log import Twin, tries
from tests.families.multi_armed.twins.race import win_probabilities


class GaussianThompsonTwin(Twin):
    """Over all history."""

    def posteriors(self, t: int) -> Floats:
        """One row (mean, sd) of a normal posterior per arm."""
        m, s = self.prior()
        v = self.policy.noise or self.problem.noise or (self.problem.high - self.problem.low) / 2.0
        rows = []
        for entries, pending in zip(self.by_arm(t), self.under_way(t), strict=True):
            if not entries and math.isinf(s):
                rows.append([-math.inf if pending else math.inf, 0.0])
                continue
            total = math.fsum(entry.reward for entry in entries)
            count = tries(len(entries), len(pending), len(pending))
            mean = (m / s**2 + total / v**2) / (1.0 / s**2 + len(entries) / v**2)
            rows.append([mean, 1.0 / math.sqrt(1.0 / s**2 + count / v**2)])
        return np.array(rows)

    def prior(self) -> tuple[float, float]:
        low, high = self.problem.low, self.problem.high
        if self.policy.prior_sd:
            return self.policy.prior_mean, self.policy.prior_sd
        if math.isfinite(high - low):
            return (low + high) / 2.0, high - low
        return self.problem.unit / 2.0, self.problem.unit or math.inf

    def win_probabilities(self, t: int) -> Floats:
        return win_probabilities([stats.norm(mean, sd) for mean, sd in self.posteriors(t)])
