"""How regret grows with the size of an experiment, and how it compares with another's at all sizes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.study.claims import Evidence, Finding
from driftwise.study.findings import ratio_of, slope_of


class Growth(NamedTuple):
    """The regret of every run (a row each) at each of `sizes`."""

    sizes: Floats
    regrets: Floats

    @property
    def means(self) -> Floats:
        """Mean regret at each size."""
        means: Floats = self.regrets.mean(axis=0)
        return means

    @property
    def slope(self) -> Finding:
        """The power of the size that fits best."""
        return slope_of(self.sizes.tolist(), list(self.regrets.T))

    def over(self, other: "Growth") -> Finding:
        """The ratio of mean regrets, averaged over sizes."""
        pairs = zip(self.regrets.T, other.regrets.T, strict=True)
        ratios = [ratio_of(ours, theirs) for ours, theirs in pairs]
        error = math.sqrt(sum(each.error**2 for each in ratios)) / len(ratios)
        return Finding(float(np.mean([each.ours for each in ratios])), error, runs=len(self.regrets))


def growth(evidence: Evidence, studies: Sequence[str], policy: str, sizes: Sequence[float] | None = None) -> Growth:
    """The regret of a policy in studies that differ in size, by default in their horizon."""
    if sizes is None:
        sizes = [evidence.studies[study].horizon for study in studies]
    regrets = np.stack([evidence.regrets(study, policy) for study in studies], axis=1)
    return Growth(np.array(sizes, float), regrets)
