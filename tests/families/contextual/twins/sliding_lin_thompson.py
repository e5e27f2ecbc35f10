"""Thompson sampling for linear rewards over the last w rounds."""

from tests.families.contextual.twins.feature_log import WindowedFeatureTwin
from tests.families.contextual.twins.lin_thompson import LinThompsonTwin


class SlidingLinThompsonTwin(WindowedFeatureTwin, LinThompsonTwin):
    """The posterior of the pairs in the window."""
