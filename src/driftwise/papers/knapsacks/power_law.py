"""How something grows with T, V, m, 1/b or d: the power that fits best, a slope in a plot of both logarithms.

Regrets are steady ones: what was spent beyond its mean is given back at the prices of the best plan. Their mean is that
of the regret, and their luck is a fraction of it.

A power agrees with theory when the fitted line is off by less than a quarter between the ends of the range it is
fitted to: over a range of 16 that is 0.08, over 64 it is 0.05. The logarithms that theory leaves out add 0.02.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.study.claims import Evidence, Finding

LAST = 3  # points that a power is fitted to, where what comes before is a run's beginning
OFF = 1.25  # what a fitted line may be off by between its ends


def margin(sizes: Sequence[float]) -> float:
    """By how much a power that is fitted to these sizes may differ from that of theory.

    >>> round(margin([1_000, 4_000, 16_000]), 3)
    0.08
    """
    return math.log(OFF) / math.log(max(sizes) / min(sizes))


class PowerLaw(NamedTuple):
    """Values of every run (a row each) at each of `sizes`."""

    sizes: Floats
    values: Floats

    @property
    def means(self) -> Floats:
        """The mean at each size."""
        means: Floats = self.values.mean(axis=0)
        return means

    def last(self, points: int) -> "PowerLaw":
        """The largest sizes only; all for 0."""
        return PowerLaw(self.sizes[-points:], self.values[:, -points:])

    def fit(self) -> tuple[float, float]:
        """The power that fits the means best, and its standard error, which leaves out run after run.

        >>> sizes = np.array([1.0, 10.0, 100.0])
        >>> power, error = PowerLaw(sizes, np.array([1.0, 3.0])[:, None] * sizes**0.5).fit()
        >>> round(power, 6), round(error, 6)
        (0.5, 0.0)
        """
        return jackknife(self.values, lambda values: power_of(self.sizes, values.mean(axis=0)))

    def finding(self) -> Finding:
        """The power as what came out."""
        power, error = self.fit()
        if math.isnan(power):
            return Finding(math.nan, not_judged="Its mean is not above zero at every size: no power can be fitted.")
        first, last = self.means[0], self.means[-1]
        why = f"From {first:,.4g} to {last:,.4g}: a power of {power:.2f}."
        return Finding(power, error, why, runs=len(self.values))


def power_of(sizes: Floats, means: Floats) -> float:
    """The slope of the logarithms; nan where something is not above zero."""
    return float(np.polyfit(np.log(sizes), np.log(means), 1)[0]) if (means > 0.0).all() else math.nan


def jackknife(values: Floats, statistic: Callable[[Floats], float]) -> tuple[float, float]:
    """A statistic of runs (the rows of `values`), and its standard error; nan for a single run."""
    runs, whole = len(values), statistic(values)
    if runs < 2:
        return whole, math.nan
    others = np.array([statistic(np.delete(values, run, axis=0)) for run in range(runs)])
    return whole, float(np.sqrt((runs - 1) * others.var()))


def column(evidence: Evidence, study: str, policy: str, name: str = "steady_regret") -> Floats:
    """One outcome of all runs of a policy in a study."""
    source = evidence.studies[study]
    (world,) = source.worlds
    return evidence.results.column(source.cells_of(world, policy), name)


def grown(evidence: Evidence, series: str, policy: str, name: str = "steady_regret") -> PowerLaw:
    """How an outcome grows over the studies that are called `series/at=...`."""
    studies = played(evidence, series)
    values = [column(evidence, study, policy, name) for study in studies.values()]
    runs = min(map(len, values))
    return PowerLaw(np.array(list(studies)), np.stack([each[:runs] for each in values], axis=1))


def played(evidence: Evidence, series: str) -> dict[float, str]:
    """The studies of a series that were played, by their size."""
    start = f"{series}/at="
    return dict(sorted((float(name[len(start) :]), name) for name in evidence.studies if name.startswith(start)))
