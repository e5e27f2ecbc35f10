"""SW-UCB for linear rewards. Cheung, Simchi-Levi & Zhu 2022, algorithm 1: LinUCB on the last w rounds, beta for w."""

from tests.families.contextual.twins.feature_log import WindowedFeatureTwin
from tests.families.contextual.twins.lin_ucb import LinUCBTwin


class SlidingLinUCBTwin(WindowedFeatureTwin, LinUCBTwin):
    """Least squares over the window."""

    def rounds(self, t: int) -> int:
        return int(self.policy.window)
