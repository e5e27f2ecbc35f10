"""The sliding-window online Whittle policy, Shisher et al. 2025, Algorithm 1: every ball counted anew at every episode.

d(s, a) = sqrt(2 S ln(2 S N T / eta) / C) for rows that stand still, and w eps more for rows that drift
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

    def plan(self, start: int) -> Floats:
        groups = range(len(self.structure.rewards) if self.policy.pooled else self.problem.n_arms)
        return np.array([self._row(start, group) for group in groups])

    def _row(self, start: int, group: int) -> Floats:
        own = group if self.policy.pooled else int(self.structure.classes[group])
        ever, lately = self.lately(start, group, 0), self.lately(start, group, self.policy.window)
        size = self.structure.rewards.shape[1]
        centre, radii = np.zeros((2, size, size)), np.zeros((2, size))
        for action in range(2):
            for state in range(size):
                kind = self.structure.kinds[own, action, state]
                counts = (lately if kind == DRIFTING else ever)[action, state]
                if kind == KNOWN:
                    centre[action, state] = self.structure.known[own, action, state]
                elif counts.sum() == 0.0:
                    allowed = self.structure.support[own, action, state]
                    centre[action, state] = allowed / allowed.sum()
                    radii[action, state] = self._radius(start, 0.0, drifts=True)
                else:
                    centre[action, state] = counts / counts.sum()
                    radii[action, state] = self._radius(start, counts.sum(), drifts=kind == DRIFTING)
        support = self.structure.support[own].astype(float)
        kernel = hopeful(centre, radii, support, self.structure.rewards[own], float(self.structure.discount[0]), 0.0)
        return self.indices_under(own, kernel)

    def _radius(self, start: int, seen: float, *, drifts: bool) -> float:
        policy, size = self.policy, self.structure.rewards.shape[1]
        if policy.conf == "certain":
            return 0.0
        if policy.conf == "calibrated":
            return math.sqrt(policy.scale / max(seen, 1.0))
        if seen == 0.0:
            return 2.0
        episodes = self.problem.horizon // self.period or max(2, start // self.period + 1)
        inside = 2.0 * size * math.log(2.0 * size * self.problem.n_arms * episodes / policy.eta)
        return math.sqrt(inside / seen) + (policy.window * policy.epsilon if drifts else 0.0)
