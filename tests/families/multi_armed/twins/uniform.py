"""Every arm with the same chance."""

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.log import Twin


class UniformTwin(Twin):
    """P(arm k) = 1 / K."""

    def win_probabilities(self, t: int) -> Floats:
        return np.full(self.problem.n_arms, 1.0 / self.problem.n_arms)
