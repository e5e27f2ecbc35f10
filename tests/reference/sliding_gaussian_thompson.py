"""Sliding-window Thompson sampling with Gaussian beliefs: the posterior of the rewards in the window."""

from tests.reference.gaussian_thompson import GaussianThompsonTwin
from tests.reference.window import WindowedTwin


class SlidingGaussianThompsonTwin(WindowedTwin, GaussianThompsonTwin):
    """Gaussian Thompson sampling over the window."""
