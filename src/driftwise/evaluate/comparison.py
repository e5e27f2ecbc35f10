"""Differences between policies on the same rows, with intervals.

Contributions to both estimates come from the same rows, so that much of their error is common: the interval of the
difference is that of the mean difference by row, and is narrower than the two intervals suggest.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from driftwise.core.types import Floats, Ints
from driftwise.evaluate.intervals import Interval, mean_interval

LOGGED = "logged"


class Comparison(NamedTuple):
    """How much more a policy earns per decision than another."""

    policy: str
    against: str
    difference: Interval

    def as_dict(self) -> dict[str, object]:
        """As JSON."""
        return {"policy": self.policy, "against": self.against, "difference": self.difference.as_dict()}


def compare(
    contributions: Mapping[str, Floats | None], sizes: Mapping[str, float], units: Ints | None
) -> tuple[Comparison, ...]:
    """Every policy against what was earned, and against every other one; policies without a value are left out."""
    names = [name for name, each in contributions.items() if each is not None and name != LOGGED]
    pairs = [*((name, LOGGED) for name in names), *((b, a) for a, b in combinations(names, 2))]
    found = []
    for policy, against in pairs:
        one, other = contributions[policy], contributions[against]
        assert one is not None and other is not None
        size = min(sizes.get(name, float(len(one))) for name in (policy, against))
        found.append(Comparison(policy, against, mean_interval(one - other, size=size, units=units)))
    return tuple(found)
