"""How regret grows with T, V, m or 1/b: the power that fits best, a slope in a plot of both logarithms.

Regrets are steady ones: what was spent beyond its mean is given back at the prices of the best plan. Their mean is that
of the regret, and their luck is a fraction of it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.measure.summary import Estimate
from driftwise.study.claims import Evidence

LAST = 3  # points that a slope is fitted to, where what comes before is a run's beginning


class Power(NamedTuple):
    """Regrets of every run (a row each) at each of `sizes`."""

    sizes: Floats
    regrets: Floats

    @property
    def means(self) -> Floats:
        """Mean regret at each size."""
        means: Floats = self.regrets.mean(axis=0)
        return means

    def slope(self, last: int = 0) -> Estimate:
        """The power that fits the means best, at the last sizes or at all; its interval leaves out run after run.

        >>> sizes = np.array([1.0, 10.0, 100.0])
        >>> mean, half = Power(sizes, np.array([1.0, 3.0])[:, None] * sizes**0.5).slope()
        >>> round(mean, 6), round(half, 6)
        (0.5, 0.0)
        """
        sizes, regrets = np.log(self.sizes[-last:]), self.regrets[:, -last:]
        runs = len(regrets)
        fitted = _fit(sizes, regrets.mean(axis=0))
        if runs < 2:
            return Estimate(fitted, float("nan"))
        others = np.array([_fit(sizes, np.delete(regrets, run, axis=0).mean(axis=0)) for run in range(runs)])
        error = np.sqrt((runs - 1) * others.var())
        return Estimate(fitted, float(1.96 * error))


def _fit(logs: Floats, means: Floats) -> float:
    return float(np.polyfit(logs, np.log(means), 1)[0]) if (means > 0.0).all() else float("nan")


def column(evidence: Evidence, study: str, policy: str, name: str = "steady_regret") -> Floats:
    """One outcome of all runs of a policy in a study."""
    chosen = evidence.studies[study]
    (world,) = chosen.worlds
    return evidence.results.column(chosen.cells_of(world, policy), name)


def power(
    evidence: Evidence,
    studies: Sequence[Sequence[str]],
    sizes: Sequence[float],
    policy: str,
    name: str = "steady_regret",
) -> Power:
    """How an outcome grows from size to size; at each size all runs of several studies count."""
    at_each = [np.concatenate([column(evidence, study, policy, name) for study in several]) for several in studies]
    return Power(np.array(sizes, float), np.stack(at_each, axis=1))
