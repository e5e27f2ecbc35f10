"""Sliding-window Thompson sampling with Gaussian beliefs: the posterior of the rewards in the window."""

from tests.families.multi_armed.twins.gaussian_thompson import GaussianThompsonTwin
from tests.families.multi_armed.twins.window import WindowedTwin


class SlidingGaussianThompsonTwin(WindowedTwin, GaussianThompsonTwin):
    """Gaussian Thompson sampling over the window."""
