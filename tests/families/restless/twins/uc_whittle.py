"""UCWhittle, Wang, Xu, Taneja & Tambe 2023: nothing known, nothing forgotten, every arm by itself.

d(s, a) = sqrt(2 S ln(4 S N T / eta) / C);  the charge is the M-th largest index in the last slot of an episode
"""

import math
from typing import Any

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.restless.twins.index_plan import IndexTwin, hopeful


class UCWhittleTwin(IndexTwin):
    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        self.groups = np.arange(problem.n_arms)

    def plan(self, start: int) -> Floats:
        return np.array([self._row(start, arm, self.charge(start)) for arm in range(self.problem.n_arms)])

    def _row(self, start: int, arm: int, charge: float) -> Floats:
        counts, own = self.lately(start, arm, 0), int(self.structure.classes[arm])
        size = counts.shape[1]
        episodes = self.problem.horizon // self.period or max(2, start // self.period + 1)
        inside = 2.0 * size * math.log(4.0 * size * self.problem.n_arms * episodes / self.policy.eta)
        seen = counts.sum(axis=-1)
        centre = np.where(seen[..., None] > 0, counts / np.maximum(seen, 1.0)[..., None], 1.0 / size)
        radii = np.where(seen > 0, np.sqrt((self.policy.size or inside) / np.maximum(seen, 1.0)), 2.0)
        discount = float(self.structure.discount[0])
        kernel = hopeful(centre, radii, np.ones_like(centre), self.rewards(own), discount, charge)
        return self.indices_under(own, kernel)
