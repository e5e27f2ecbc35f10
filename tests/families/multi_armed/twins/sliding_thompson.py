"""Sliding-window Thompson sampling. Trovo, Paladino, Restelli & Gatti 2020, algorithm 1.

    theta_i ~ Beta(S_i + a, T_i - S_i + b)

with a prior Beta(a, b), the successes and trials of arm i over the last tau rounds.
"""

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.thompson import ThompsonTwin
from tests.families.multi_armed.twins.window import WindowedTwin


class SlidingThompsonTwin(WindowedTwin, ThompsonTwin):
    """Thompson sampling over the window, with a prior."""

    def posteriors(self, t: int) -> Floats:
        prior: Floats = np.array([[self.policy.prior_a, self.policy.prior_b]])
        return super().posteriors(t) - 1.0 + prior
