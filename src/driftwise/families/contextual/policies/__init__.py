"""The policies of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.contextual.policies.discounted_lin_thompson import (
    DiscountedLinThompson as DiscountedLinThompson,
)
from driftwise.families.contextual.policies.discounted_lin_ucb import DiscountedLinUCB as DiscountedLinUCB
from driftwise.families.contextual.policies.filter_bank_lin_ucb import FilterBankLinUCB as FilterBankLinUCB
from driftwise.families.contextual.policies.kalman_mixture import KalmanMixture as KalmanMixture
from driftwise.families.contextual.policies.lin_thompson import LinThompson as LinThompson
from driftwise.families.contextual.policies.lin_ucb import LinUCB as LinUCB
from driftwise.families.contextual.policies.sliding_glm_ucb import SlidingGLMUCB as SlidingGLMUCB
from driftwise.families.contextual.policies.sliding_gp_ucb import SlidingGPUCB as SlidingGPUCB
from driftwise.families.contextual.policies.sliding_lin_thompson import SlidingLinThompson as SlidingLinThompson
from driftwise.families.contextual.policies.sliding_lin_ucb import SlidingLinUCB as SlidingLinUCB
