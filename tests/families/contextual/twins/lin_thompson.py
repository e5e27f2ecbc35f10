"""Thompson sampling for linear rewards. Agrawal & Goyal, ICML 2013, algorithm 1.

B = lambda I + sum x x'        mu = B^-1 sum x y        theta ~ N(mu, v^2 B^-1)
play the row with the largest <x, theta>
v = R, or in the theorem (arXiv 1209.3352) R sqrt(9 d ln(t / delta)), t = 1, 2, ...
"""

import math
from abc import abstractmethod

import numpy as np
from scipy import stats

from driftwise.core.types import Floats
from tests.families.contextual.twins.feature_log import FeatureTwin
from tests.families.contextual.twins.lin_ucb import RidgeTwin


class ThompsonFeatureTwin(FeatureTwin):
    """A twin that draws its parameter from a normal law: subclasses say which."""

    @abstractmethod
    def posterior(self, t: int) -> tuple[Floats, Floats]:
        """Mean and covariance of the draw at decision `t`."""

    def win_probabilities(self, t: int, context: Floats) -> Floats:
        """The chance of each row to be the best for the draw: all it gains on the others must be positive."""
        mean, covariance = self.posterior(t)
        chances = []
        for row in range(len(context)):
            gains = context[row] - np.delete(context, row, axis=0)
            law = stats.multivariate_normal(-gains @ mean, gains @ covariance @ gains.T, seed=0)
            chances.append(law.cdf(np.zeros(len(gains))))
        return np.array(chances)

    def indices(self, t: int, context: Floats) -> Floats:
        """Rows are compared by their chance of being the best."""
        return self.win_probabilities(t, context)


class LinThompsonTwin(RidgeTwin, ThompsonFeatureTwin):
    """The estimate, and a draw around it."""

    def spread(self, t: int) -> float:
        """The v of the draw."""
        delta, dim = getattr(self.policy, "confidence", 0.0), self.problem.dim
        wider = math.sqrt(9.0 * dim * math.log((t + 1) / delta)) if delta else 1.0
        return float(self.policy.scale * self.noise(t) * wider)

    def posterior(self, t: int) -> tuple[Floats, Floats]:
        theta, inverse = self.estimate(t)
        return theta, self.spread(t) ** 2 * inverse
