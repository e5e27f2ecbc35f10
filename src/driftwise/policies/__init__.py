"""Every policy by name. A new one is a file in this folder and a line in this table."""

from typing import Any

from driftwise.policies.gaussian_thompson import GaussianThompson
from driftwise.policies.sliding_gaussian_thompson import SlidingGaussianThompson
from driftwise.policies.sliding_thompson import SlidingThompson
from driftwise.policies.sliding_ucb import SlidingUCB
from driftwise.policies.thompson import Thompson
from driftwise.policies.ucb1 import UCB1
from driftwise.policies.uniform import Uniform

POLICIES: dict[str, Any] = {
    "uniform": Uniform,
    "ucb1": UCB1,
    "thompson": Thompson,
    "gaussian-thompson": GaussianThompson,
    "sliding-ucb": SlidingUCB,
    "sliding-thompson": SlidingThompson,
    "sliding-gaussian-thompson": SlidingGaussianThompson,
}
