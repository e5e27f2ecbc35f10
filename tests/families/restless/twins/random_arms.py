"""Any M arms of N: every set has the same chance, one over their number."""

import itertools

from driftwise.core.types import Ints
from tests.families.restless.twins.restless_log import RestlessTwin


class RandomArmsTwin(RestlessTwin):
    def chances(self, t: int, states: Ints) -> dict[tuple[int, ...], float]:
        """The chance of every set."""
        sets = list(itertools.combinations(range(self.problem.n_arms), self.problem.slate))
        return dict.fromkeys(sets, 1.0 / len(sets))
