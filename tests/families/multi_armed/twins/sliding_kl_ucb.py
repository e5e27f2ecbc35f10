"""Sliding-window KL-UCB, as run by Trovo, Paladino, Restelli & Gatti 2020.

    play the arm that maximises  max{q : N_i d(mean_i, q) <= ln(min(t, tau)) + c ln ln(min(t, tau))}

with mean and count over the last tau rounds; an arm that is not among them is played at once.
"""

from tests.families.multi_armed.twins.kl_ucb import KLUCBTwin
from tests.families.multi_armed.twins.window import WindowedTwin


class SlidingKLUCBTwin(WindowedTwin, KLUCBTwin):
    """KL-UCB's index over the window, whose level stands still once the window is full."""

    def plays(self, t: int) -> int:
        return int(min(t, self.policy.window))
