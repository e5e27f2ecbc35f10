"""SW-GP-UCB. Srinivas et al. 2010, algorithm 1, on the last w rounds; radius of Chowdhury & Gopalan 2017, theorem 2.

mean(x) = k(x)' (K + rho I)^-1 y        spread(x)^2 = k(x, x) - k(x)' (K + rho I)^-1 k(x)
play the row that maximises  mean(x) + beta spread(x)
beta = B + (R / sqrt(rho)) sqrt(2 (1/2 ln det(I + K / rho) + 1 + ln(1 / delta)))
with rewards and R in units of the rewards

While rows are under way the spread is that of a window that has them too. Of more than 64 different ones the newest
count.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.contextual.twins.feature_log import WindowedFeatureTwin


class SlidingGPUCBTwin(WindowedFeatureTwin):
    """The posterior anew at every decision."""

    def rho(self) -> float:
        return float(self.policy.ridge or (self.problem.spread / self.problem.size) ** 2)

    def kernel(self, one: Floats, other: Floats) -> Floats:
        """Covariance of every row of one with every row of the other."""
        distances = np.linalg.norm(one[:, None, :] - other[None, :, :], axis=2)
        return np.array(self.policy.variance * np.exp(-(distances**2) / (2.0 * self.policy.length**2)))

    def posterior(self, t: int, context: Floats) -> tuple[Floats, Floats]:
        """Mean and spread of every row."""
        rows, rewards = self.pairs(t)
        inverse = np.linalg.inv(self.kernel(rows, rows) + self.rho() * np.eye(len(rows)))
        across = self.kernel(context, rows)
        seen = np.concatenate([rows, self.counted(t)])
        beside = self.kernel(context, seen)
        narrow = np.linalg.inv(self.kernel(seen, seen) + self.rho() * np.eye(len(seen)))
        squares = self.policy.variance - np.sum((beside @ narrow) * beside, axis=1)
        return across @ inverse @ rewards, np.sqrt(np.maximum(squares, 0.0))

    def counted(self, t: int) -> Floats:
        """The rows under way that count: all copies of the 64 newest different ones."""
        rows = [x for _, x in sorted(self.under_way(t).items(), reverse=True)]
        newest = list(dict.fromkeys(x.tobytes() for x in rows))[:64]
        return np.array([x for x in rows if x.tobytes() in newest]).reshape(-1, self.problem.dim)

    def radius(self, t: int) -> float:
        rows, _ = self.pairs(t)
        gain = 0.5 * np.linalg.slogdet(np.eye(len(rows)) + self.kernel(rows, rows) / self.rho())[1]
        delta = self.policy.confidence or (1.0 / self.problem.horizon if self.problem.horizon else 0.01)
        width = math.sqrt(2.0 * (gain + 1.0 + math.log(1.0 / delta)))
        return float(self.policy.norm + self.noise(t) / self.unit(t) / math.sqrt(self.rho()) * width)

    def indices(self, t: int, context: Floats) -> Floats:
        means, spreads = self.posterior(t, context)
        return np.array(means + self.unit(t) * self.policy.scale * self.radius(t) * spreads)
