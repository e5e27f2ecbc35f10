"""Discounted Thompson sampling. Raj & Kalyani 2017.

    theta_i ~ Beta(S_i + alpha_0, F_i + beta_0); play the arm with the largest theta
    after every round  S_i <- gamma S_i + [i was played and succeeded],  F_i <- gamma F_i + [i was played and failed]

Written out, the trial of round s counts gamma^(t-1-s) at decision t. A reward inside the range is turned into a trial.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.thompson import ThompsonTwin


class DiscountedThompsonTwin(ThompsonTwin):
    """Every weight anew at every decision."""

    def posteriors(self, t: int) -> Floats:
        """One row (a, b) of a Beta posterior per arm."""
        gamma, rows = self.policy.gamma, []
        for entries in self.by_arm(t):
            successes = math.fsum(gamma ** (t - 1 - entry.t) for entry in entries if self._succeeds(entry))
            failures = math.fsum(gamma ** (t - 1 - entry.t) for entry in entries if not self._succeeds(entry))
            rows.append([self.policy.alpha0 + successes, self.policy.beta0 + failures])
        return np.array(rows)
