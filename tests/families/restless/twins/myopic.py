"""The myopic rule: what activating gains in the next slot, from faded means over all arms of a class.

A row that is known has its mean; of the others the prior, one reward at the mean over all states that can follow,
counts beside the rewards seen, each faded by the slots since its decision unless the row is known to stay as it is.
"""

import numpy as np

from driftwise.core.types import Floats, Ints
from tests.families.restless.twins.restless_log import RestlessTwin

KNOWN, STATIONARY = 0, 1


class MyopicTwin(RestlessTwin):
    def mean(self, t: int, own: int, action: int, state: int) -> float:
        structure = self.structure
        rewards, kind = structure.rewards[own], structure.kinds[own, action, state]
        besides = float(action * structure.activation_rewards[own, state])
        if kind == KNOWN:
            return float(structure.known[own, action, state] @ rewards) + besides
        total, weight = float(rewards[structure.support[own, action, state]].mean()) + besides, 1.0
        for each in self.passages(t):
            if (structure.classes[each.arm], each.action, each.state) == (own, action, state):
                left = 1.0 if kind == STATIONARY else self.policy.fade ** (t - each.t)
                total += left * each.reward
                weight += left
        return total / weight

    def indices(self, t: int, states: Ints) -> Floats:
        owns = self.structure.classes
        gains = [self.mean(t, owns[arm], 1, s) - self.mean(t, owns[arm], 0, s) for arm, s in enumerate(states)]
        return np.array(gains) - self.structure.costs
