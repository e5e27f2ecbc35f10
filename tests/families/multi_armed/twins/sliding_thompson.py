"""Sliding-window Thompson sampling. Trovo, Paladino, Restelli & Gatti 2020, algorithm 1.

    theta_i ~ Beta(S_i + 1, T_i - S_i + 1)

with the successes and trials of arm i over the last tau rounds.
"""

from tests.families.multi_armed.twins.thompson import ThompsonTwin
from tests.families.multi_armed.twins.window import WindowedTwin


class SlidingThompsonTwin(WindowedTwin, ThompsonTwin):
    """Thompson sampling over the window."""
