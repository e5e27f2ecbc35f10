"""D-LinUCB. Russac, Vernade & Cappe, NeurIPS 2019, algorithm 1, after t rounds s = 1 .. t.

    V = sum gamma^(t-s) x x' + lambda I        V~ = sum gamma^(2(t-s)) x x' + lambda I
    theta = V^-1 sum gamma^(t-s) x y
    beta = sqrt(lambda) S + R sqrt(2 ln(1/delta) + d ln(1 + L^2 (1 - gamma^(2t)) / (lambda d (1 - gamma^2))))
    play the row that maximises  <x, theta> + beta |x|_{V^-1 V~ V^-1}

A round s counted from 0 is t - 1 - s rounds old at decision t. While rows x are under way, V^-1 in the norm is M^-1
with M = V + sum gamma^(t-s) x x' over those.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.contextual.twins.feature_log import FeatureTwin


class DiscountedFeatureTwin(FeatureTwin):
    """Weighted least squares anew at every decision."""

    def gram(self, t: int, power: int) -> Floats:
        """V for power 1, V~ for power 2."""
        rows = self.pairs(t)[0]
        weights = self.weights(t) ** power
        return np.array(self.policy.ridge * np.eye(self.problem.dim) + (weights[:, None] * rows).T @ rows)

    def weights(self, t: int) -> Floats:
        return np.array([self.policy.gamma ** (t - 1 - entry.t) for entry in self.known(t)])

    def estimate(self, t: int) -> tuple[Floats, Floats]:
        """Theta, and V^-1 V~ V^-1 or M^-1 V~ M^-1."""
        rows, rewards = self.pairs(t)
        gram = self.gram(t, 1)
        pending = sum(self.policy.gamma ** (t - 1 - s) * np.outer(x, x) for s, x in self.under_way(t).items())
        narrow = np.linalg.inv(gram + pending)
        return np.linalg.inv(gram) @ (rows.T @ (self.weights(t) * rewards)), narrow @ self.gram(t, 2) @ narrow


class DiscountedLinUCBTwin(DiscountedFeatureTwin):
    """The bound of the paper."""

    def radius(self, t: int) -> float:
        """The beta of the paper, its geometric series summed term by term."""
        policy, problem = self.policy, self.problem
        delta = policy.confidence or (1.0 / problem.horizon if problem.horizon else 0.01)
        total = math.fsum(policy.gamma ** (2 * s) for s in range(t))
        volume = problem.dim * math.log(1.0 + policy.reach**2 * total / (policy.ridge * problem.dim))
        spread = self.noise(t) * math.sqrt(2.0 * math.log(1.0 / delta) + volume)
        return float(math.sqrt(policy.ridge) * policy.norm * self.unit(t) + spread)

    def indices(self, t: int, context: Floats) -> Floats:
        theta, covariance = self.estimate(t)
        widths = np.sqrt(np.einsum("ai,ij,aj->a", context, covariance, context))
        return np.array(context @ theta + self.policy.scale * self.radius(t) * widths)
