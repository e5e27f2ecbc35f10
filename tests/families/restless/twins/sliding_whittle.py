"""The sliding-window online Whittle policy, Shisher et al. 2025, Algorithm 1: every ball counted anew at every plan.

literal       d_1 = sqrt(2 S ln(2 |Z_1| N T / eta_1) / C),    d_2 = sqrt(2 S ln(2 |Z_2| N T / eta_2) / C) + w_n eps_n
lambda        the M-th largest index in slot H of the episode before (line 11), with which (15) is solved (line 4)
"""

import math
from typing import Any

import numpy as np

from driftwise.core.types import Floats, Problem
from driftwise.families.restless.structure import DRIFTING, KNOWN
from tests.families.restless.twins.index_plan import IndexTwin, hopeful


class SlidingWhittleTwin(IndexTwin):
    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        if not policy.pooled:
            self.groups = np.arange(problem.n_arms)

    def plan_of(self, t: int) -> int:
        every = self.policy.every or self.period
        return max(t - t % self.period, t - t % every)

    def plan(self, start: int) -> Floats:
        groups = range(len(self.structure.rewards) if self.policy.pooled else self.problem.n_arms)
        return np.array([self._row(start, group, self.charge(start)) for group in groups])

    def _row(self, start: int, group: int, charge: float) -> Floats:
        own = group if self.policy.pooled else int(self.structure.classes[group])
        now = self.ongoing(start, group, start // self.period)
        ever, lately = self.lately(start, group, 0) + now, self.lately(start, group, self._window(own)) + now
        size = self.structure.rewards.shape[1]
        centre, radii = np.zeros((2, size, size)), np.zeros((2, size))
        for action in range(2):
            for state in range(size):
                kind = self.structure.kinds[own, action, state]
                counts = (lately if kind == DRIFTING else ever)[action, state]
                if kind == KNOWN:
                    centre[action, state] = self.structure.known[own, action, state]
                    continue
                allowed = self.structure.support[own, action, state]
                centre[action, state] = counts / counts.sum() if counts.sum() else allowed / allowed.sum()
                radii[action, state] = self._radius(start, own, kind, counts.sum())
        support, discount = self.structure.support[own].astype(float), float(self.structure.discount[0])
        return self.indices_under(own, hopeful(centre, radii, support, self.rewards(own), discount, charge))

    def _epsilon(self, own: int) -> float:
        drift = float(self.structure.drift[own])
        return drift if drift >= 0.0 else float(self.policy.epsilon)

    def _window(self, own: int) -> int:
        """As it is set, or by Theorem 2: T^q with eps = T^-k and q = min(2k/3, 1)."""
        if self.policy.window:
            return int(self.policy.window)
        episodes = self.problem.horizon // self.period
        k = math.log(1.0 / self._epsilon(own)) / math.log(episodes)
        return max(1, int(episodes ** min(2.0 * k / 3.0, 1.0)))

    def _radius(self, start: int, own: int, kind: int, seen: float) -> float:
        policy, structure = self.policy, self.structure
        if policy.conf == "certain":
            return 0.0
        if policy.conf == "calibrated":
            return math.sqrt(policy.scale / max(seen, 1.0))
        if seen == 0.0:
            return 2.0
        episodes = self.problem.horizon // self.period or max(2, start // self.period + 1)
        pairs = sum(int(each == kind) for each in structure.kinds[own].ravel())
        eta = policy.eta2 if kind == DRIFTING else policy.eta1
        inside = 2.0 * structure.rewards.shape[1] * math.log(2.0 * pairs * self.problem.n_arms * episodes / eta)
        slack = self._window(own) * self._epsilon(own) if kind == DRIFTING else 0.0
        return math.sqrt(inside / seen) + slack
