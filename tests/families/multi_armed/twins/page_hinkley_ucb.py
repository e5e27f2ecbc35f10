"""Page-Hinkley UCB. Liu, Lee & Shroff 2018, algorithms 1 and 3: CUSUM-UCB with another baseline.

Reward y_k is held against the mean of y_1 .. y_k. The walks wait for the first `warmup` rewards (none in the paper).
"""

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.cusum_ucb import CusumUCBTwin


class PageHinkleyUCBTwin(CusumUCBTwin):
    """The index and chances of CUSUM-UCB."""

    def surplus(self, rewards: list[float]) -> Floats:
        means = [sum(rewards[: k + 1]) / (k + 1) for k in range(len(rewards))]
        return (np.array(rewards) - means)[self.policy.warmup :]
