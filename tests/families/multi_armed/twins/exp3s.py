"""EXP3.S. Auer, Cesa-Bianchi, Freund & Schapire 2002, section 8.

    w_i(t + 1) = w_i(t) exp(gamma xhat_i / K) + e alpha / K  (w_1(t) + ... + w_K(t))
    xhat_i = x / p_i if i was drawn, else 0

alpha = 1 / T and gamma = min(1, sqrt(K (S ln(K T) + e) / ((e - 1) T))) for at most S - 1 changes. x is the
reward between `low` and `high` where they are given, not clipped to them.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.exp3 import EXP3Twin
from tests.families.multi_armed.twins.log import Entry


class EXP3STwin(EXP3Twin):
    """Every reward in the order it was told, from weights of one."""

    def alpha(self) -> float:
        return float(self.policy.alpha or 1.0 / self.horizon())

    def gamma(self) -> float:
        if self.policy.gamma:
            return float(self.policy.gamma)
        n_arms, horizon, hardness = self.problem.n_arms, self.horizon(), self.policy.changes + 1
        square = n_arms * (hardness * math.log(n_arms * horizon) + math.e) / ((math.e - 1.0) * horizon)
        return min(1.0, math.sqrt(square))

    def gain(self, entry: Entry) -> float:
        low, high = self.policy.low, self.policy.high
        return (entry.reward - low) / (high - low) if low < high else super().gain(entry)

    def weights(self, t: int) -> Floats:
        n_arms = self.problem.n_arms
        weights = [1.0] * n_arms
        for entry in self.known(t):
            shared = math.e * self.alpha() / n_arms * math.fsum(weights)
            weights[entry.arm] *= math.exp(self.exponent(entry))
            weights = [weight + shared for weight in weights]
        return np.array(weights)
