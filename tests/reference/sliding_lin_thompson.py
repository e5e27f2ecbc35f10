"""Thompson sampling for linear rewards over the last w rounds."""

from tests.reference.feature_log import WindowedFeatureTwin
from tests.reference.lin_thompson import LinThompsonTwin


class SlidingLinThompsonTwin(WindowedFeatureTwin, LinThompsonTwin):
    """The posterior of the pairs in the window."""
