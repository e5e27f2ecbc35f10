"""SC-MAB, the smoothly changing world of Combes & Proutiere (2014) and Trovo et al. (2020, section 5.2).

    mean_i(t) = (K - 1)/K - |w(t) - i|/K,    w(t) = 1 + (K - 1)(1 + sin(sigma t))/2,    i = 1..K, t = 1..T

A peak wanders up and down the arms; neighbours of the best arm are nearly as good. No mean moves more than sigma a
round.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Drift, Levels


@dataclass(frozen=True, kw_only=True)
class SCMAB(ArmedWorld):
    """A peak that wanders over the arms, sigma radians a round.

    Parameters
    ----------
    sigma : float
        Speed: the largest step of a mean is below it.
    """

    sigma: float = 0.001

    def __post_init__(self) -> None:
        super().__post_init__()
        number("sigma", self.sigma, above=0.0)

    def clock(self, rounds: Floats, horizon: int) -> Floats:
        """The time the wave is at in each round; here, the round itself."""
        return rounds

    def drift(self, horizon: int, seed: int) -> Drift:
        """Nothing is random but the rewards."""
        n_arms, arms = self.n_arms, np.arange(1, self.n_arms + 1)

        def levels(start: int, stop: int) -> Levels:
            time = self.clock(np.arange(start + 1, stop + 1, dtype=float), horizon)
            peak = 1.0 + (n_arms - 1) * (1.0 + np.sin(self.sigma * time)) / 2.0
            return Levels.of_each_round((n_arms - 1 - np.abs(peak[:, None] - arms)) / n_arms)

        return levels
