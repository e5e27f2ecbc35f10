"""M-UCB. Cao, Wen, Kveton & Xie 2019, algorithms 1 and 2.

    A = (t - tau) mod floor(K / gamma); if it names an arm, play it; else argmax_k  mean_k + sqrt(2 ln(t - tau) / n_k)
    if n_k >= w and | sum of the last w/2 rewards of the arm - sum of the w/2 before them | > b, restart every arm

The paper's rounds and arms count from 1 and its tau is the last round before the restart; here both count from 0 and
tau is the first round after it, so A counts from 0 as arms do. The 2 is the parameter xi.
"""

import math

import numpy as np

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.restarts import RestartingTwin


class MUCBTwin(RestartingTwin):
    """One restart for all arms."""

    def restarts_all(self) -> bool:
        return True

    def indices(self, t: int) -> Floats:
        """The index of every arm; in a round that belongs to an arm, infinite for that arm and nought for the rest."""
        reading = self.read(t)
        age = t - reading.starts[0]
        if self.policy.gamma > 0.0 or age < self.problem.n_arms:
            turn = age % math.floor(self.problem.n_arms / self.policy.gamma) if self.policy.gamma > 0.0 else age
            if turn < self.problem.n_arms:
                return np.where(np.arange(self.problem.n_arms) == turn, math.inf, 0.0)
        return self.bounds(t, math.sqrt(self.policy.xi * math.log(max(1, age))))

    def choose(self, t: int) -> int:
        return self.first_of_the_best(self.indices(t), t)

    def alarm(self, rewards: list[float]) -> bool:
        w = self.policy.window
        newer, older = rewards[-w // 2 :], rewards[-w : -w // 2]
        return bool(len(rewards) >= w and abs(math.fsum(newer) - math.fsum(older)) > self.policy.b)
