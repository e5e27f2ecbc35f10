"""EXP3-IX. Neu 2015, algorithm 1 and theorem 1.

    p_i = w_i / (w_1 + ... + w_K)        w_i = exp(-eta sum of l / (p + gamma))        over the losses l of arm i

eta = 2 gamma = sqrt(2 ln K / (K T)); a loss is what a reward lacks to the highest.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.exp3 import EXP3Twin
from tests.families.multi_armed.twins.log import Entry


class EXP3IXTwin(EXP3Twin):
    """Over all history."""

    def eta(self) -> float:
        n_arms = self.problem.n_arms
        return float(self.policy.eta or math.sqrt(2.0 * math.log(n_arms) / (n_arms * self.horizon())))

    def exponent(self, entry: Entry) -> float:
        return -self.eta() * (1.0 - self.gain(entry)) / (self.propensity(entry) + self.eta() / 2.0)

    def _mixed(self, weights: Floats) -> Floats:
        return np.array(weights / weights.sum())
