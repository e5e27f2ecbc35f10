"""D-LinTS. Kim & Tewari, UAI 2020: theta ~ N(mean, (scale R)^2 V^-1 V~ V^-1), with mean, V and V~ as in D-LinUCB."""

from driftwise.core.types import Floats
from tests.families.contextual.twins.discounted_lin_ucb import DiscountedFeatureTwin
from tests.families.contextual.twins.lin_thompson import ThompsonFeatureTwin


class DiscountedLinThompsonTwin(DiscountedFeatureTwin, ThompsonFeatureTwin):
    """The weighted estimate, and how it spreads."""

    def posterior(self, t: int) -> tuple[Floats, Floats]:
        mean, covariance = self.estimate(t)
        return mean, (self.policy.scale * self.noise(t)) ** 2 * covariance
