"""Differences between policies on the same rows, with intervals.

Contributions to both estimates come from the same rows, so that much of their error is common: the interval of the
difference is that of the mean difference by row, and is narrower than the two intervals suggest.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from driftwise.core.types import Floats, Ints
from driftwise.evaluate.paths import Paths
from driftwise.measure.intervals import Interval, mean_interval

LOGGED = "logged"


class Comparison(NamedTuple):
    """How much more a policy earns per decision than another."""

    policy: str
    against: str
    difference: Interval

    def as_dict(self) -> dict[str, object]:
        """As JSON."""
        return {"policy": self.policy, "against": self.against, "difference": self.difference.as_dict()}


class Contender(NamedTuple):
    """What rows contribute to the value of a policy, its paths, and its effective sample size."""

    contributions: Floats
    paths: Paths | None
    size: float


def compare(logged: Contender, policies: Mapping[str, Contender], units: Ints | None) -> tuple[Comparison, ...]:
    """Every policy against what was earned, and against every other one."""
    pairs = [*((name, LOGGED) for name in policies), *((b, a) for a, b in combinations(policies, 2))]
    comparisons = []
    for policy, against in pairs:
        one, other = policies[policy], logged if against == LOGGED else policies[against]
        luck = 0.0
        if one.paths is not None and other.paths is not None:
            luck = one.paths.minus(other.paths).variance()
        difference = one.contributions - other.contributions
        interval = mean_interval(difference, size=min(one.size, other.size), units=units, variance=luck)
        comparisons.append(Comparison(policy, against, interval))
    return tuple(comparisons)
