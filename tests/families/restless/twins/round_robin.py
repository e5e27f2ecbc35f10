"""All arms in turn: deal the arms round after round, and give each slot the next M."""

import itertools

from driftwise.core.types import Ints
from tests.families.restless.twins.restless_log import RestlessTwin


class RoundRobinTwin(RestlessTwin):
    def choose(self, t: int, states: Ints) -> list[int]:
        size = self.problem.slate
        dealt = itertools.islice(itertools.cycle(range(self.problem.n_arms)), t * size, (t + 1) * size)
        return sorted(dealt)
