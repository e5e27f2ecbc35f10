"""How regret grows with T: the slope in a plot of both logarithms."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.measure.summary import Estimate, estimate
from driftwise.study.claims import Evidence


class Growth(NamedTuple):
    """The regret of every run (a row each) at each of `horizons`."""

    horizons: Floats
    regrets: Floats

    @property
    def means(self) -> Floats:
        """Mean regret at each horizon."""
        means: Floats = self.regrets.mean(axis=0)
        return means

    @property
    def slope(self) -> Estimate:
        """The power of T that fits best; its interval is that of the runs' own slopes."""
        fitted = float(np.polyfit(np.log(self.horizons), np.log(self.means), 1)[0])
        own = np.polyfit(np.log(self.horizons), np.log(self.regrets.T), 1)[0]
        return Estimate(fitted, estimate(own).ci95)

    def over(self, other: "Growth") -> Estimate:
        """The ratio of mean regrets, averaged over horizons; its interval is that of the runs' own ratios."""
        ratio = float((self.means / other.means).mean())
        return Estimate(ratio, estimate((self.regrets / other.regrets).mean(axis=1)).ci95)


def growth(evidence: Evidence, studies: Sequence[str], policy: str) -> Growth:
    """The regret of a policy in studies that differ in their horizon."""
    horizons = np.array([evidence.studies[study].horizon for study in studies], float)
    return Growth(horizons, np.stack([evidence.regrets(study, policy) for study in studies], axis=1))
