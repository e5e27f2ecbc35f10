"""LinUCB. Abbasi-Yadkori, Pal & Szepesvari, NeurIPS 2011, theorem 2; delta = 1/T as Cheung, Simchi-Levi & Zhu have it.

    V = lambda I + sum x x'        theta = V^-1 sum x y
    play the row that maximises  <x, theta> + beta |x|_{V^-1}
    beta = R sqrt(d ln((1 + n L^2 / lambda) / delta)) + sqrt(lambda) S        S in units of the rewards

The round to be decided is n = 1, 2, ...; with a window of w rounds n = w. While rows x are under way, V^-1 in |x| is
M^-1 V M^-1 with M = V + sum x x' over those.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.contextual.twins.feature_log import FeatureTwin


class RidgeTwin(FeatureTwin):
    """Least squares anew at every decision."""

    def estimate(self, t: int) -> tuple[Floats, Floats]:
        """Theta, and V^-1 or M^-1 V M^-1."""
        rows, rewards = self.pairs(t)
        gram = self.policy.ridge * np.eye(self.problem.dim) + rows.T @ rows
        narrow = np.linalg.inv(gram + sum(np.outer(x, x) for x in self.under_way(t).values()))
        return np.linalg.inv(gram) @ (rows.T @ rewards), narrow @ gram @ narrow


class LinUCBTwin(RidgeTwin):
    """The estimate, and the bound of the theorem."""

    def rounds(self, t: int) -> int:
        """The n of beta."""
        return t + 1

    def radius(self, t: int) -> float:
        """The beta of the theorem."""
        policy, problem = self.policy, self.problem
        delta = policy.confidence or (1.0 / problem.horizon if problem.horizon else 0.01)
        volume = math.log((1.0 + self.rounds(t) * policy.reach**2 / policy.ridge) / delta)
        longest = policy.norm * self.unit(t)
        return float(self.noise(t) * math.sqrt(problem.dim * volume) + math.sqrt(policy.ridge) * longest)

    def indices(self, t: int, context: Floats) -> Floats:
        theta, inverse = self.estimate(t)
        widths = np.sqrt(np.einsum("ai,ij,aj->a", context, inverse, context))
        return np.array(context @ theta + self.policy.scale * self.radius(t) * widths)
