"""WIQL, Biswas et al. 2021: Q-learning of every arm by itself, passage after passage in the order they were told.

Q(s, a) <- (1 - alpha) Q(s, a) + alpha (r + discount max_b Q(s', b)),     index = Q(s, 1) - Q(s, 0)
"""

import itertools

import numpy as np

from driftwise.core.types import Floats, Ints
from tests.families.restless.twins.restless_log import RestlessTwin


class WIQLTwin(RestlessTwin):
    def values(self, t: int) -> Floats:
        """Q by arm, state and action."""
        q = np.zeros((self.problem.n_arms, self.structure.rewards.shape[1], 2))
        seen = np.zeros(q.shape)
        for each in self.passages(t):
            pair = each.arm, each.state, each.action
            seen[pair] += 1
            alpha = self.policy.step or 1.0 / (1.0 + seen[pair])
            net = each.reward - self.structure.costs[each.arm] * each.action
            q[pair] = (1.0 - alpha) * q[pair] + alpha * (
                net + self.structure.discount[0] * q[each.arm, each.after].max()
            )
        return q

    def indices(self, t: int, states: Ints) -> Floats:
        q = self.values(t)
        return np.array([q[arm, state, 1] - q[arm, state, 0] for arm, state in enumerate(states)])

    def explores(self, t: int) -> float:
        """The chance that arms are chosen at random."""
        length = self.structure.episode[0]
        episode = t + 1 if self.policy.by_slot or not length else t // length + 1
        return float(self.problem.n_arms / (self.problem.n_arms + episode))

    def chances(self, t: int, states: Ints) -> dict[tuple[int, ...], float]:
        """The chance of every set."""
        sets = list(itertools.combinations(range(self.problem.n_arms), self.problem.slate))
        eps, best = self.explores(t), tuple(self.choose(t, states))
        chances = {each: eps / len(sets) + (1.0 - eps) * (each == best) for each in sets}
        return {best: 1.0 - eps, **chances}
