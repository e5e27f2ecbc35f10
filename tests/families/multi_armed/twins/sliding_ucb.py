"""Sliding-window UCB. Garivier & Moulines 2011, section 3.

    play the arm that maximises  mean_t(tau, i) + B sqrt(xi ln(min(t, tau)) / N_t(tau, i))

with mean and count over the last tau rounds; an arm that is not among them is played at once.
"""

from tests.families.multi_armed.twins.ucb1 import UCB1Twin
from tests.families.multi_armed.twins.window import WindowedTwin


class SlidingUCBTwin(WindowedTwin, UCB1Twin):
    """UCB1's index over the window, whose logarithm stands still once the window is full."""

    def plays(self, t: int) -> int:
        return int(min(t, self.policy.window))
