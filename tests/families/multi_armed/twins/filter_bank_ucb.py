"""Filter-bank UCB, from the text of its file: plain NumPy, all arms and all filters at once, every round.

The log is read once, in the order it was told: at the start of a round the arms are looked at, then the round passes,
then the rewards that arrived in it are learned. Decisions under way count while they are of the present generation or
of the one before: round t begins another when rewards have come, D rounds late in the mean of the last 2000 or so,
and the present one began more than 2 D rounds before t.
"""

import math
from typing import Any

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.multi_armed.twins.log import Entry, Twin

RHO = np.array([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0])
SCALES = range(3, 20)


class FilterBankUCBTwin(Twin):
    """Every number of the text by its name."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        k, models = problem.n_arms, len(RHO)
        self.round, self.learned, self.generations = 0, 0, [0, 0]
        self.m, self.p, self.w = np.zeros((k, models)), np.ones((k, models)), np.full(models, 1.0 / models)
        self.rewards: list[list[float]] = [[] for _ in range(k)]
        self.last = np.zeros(k)
        self.all: list[float] = []
        self.n_noise, self.h, self.r2 = 0, 0.0, 1e-300
        self.n_spread, self.g, self.v = 0, 0.0, 0.0
        self.alert, self.u, self.x = np.zeros(k), np.zeros(k), np.zeros(k)
        self.estimate, self.var = np.zeros(k), np.zeros(k)
        self.snapshots: dict[tuple[int, int], tuple[float, float]] = {}
        self.played: dict[tuple[int, int], bool] = {}
        self.n_q, self.e_q, self.d_q = dict.fromkeys(SCALES, 0), dict.fromkeys(SCALES, 0.0), dict.fromkeys(SCALES, 0.0)

    def pend(self, t: int, arm: int) -> None:
        self._begin(t)
        super().pend(t, arm)

    def _begin(self, t: int) -> None:
        """Round `t` may begin another generation."""
        mean, known = 0.0, self.known(t)
        for i, entry in enumerate(known):
            mean += (entry.arrival - entry.t - mean) / min(i + 1, 2000)
        if known and t - self.generations[-1] > 2.0 * mean:
            self.generations.append(t)

    def indices(self, t: int) -> Floats:
        """The index of every arm at decision `t`."""
        while self.round < t:
            self._look(self.round)
            self._pass(self.round)
            self.round += 1
            while self.learned < len(self.log) and self.log[self.learned].arrival < self.round:
                self._learn(self.log[self.learned])
                self.learned += 1
        self._look(t)
        self._begin(t)
        return np.array([self._index(arm, rounds) for arm, rounds in enumerate(self.under_way(t))])

    def choose(self, t: int) -> int:
        """The arm with the largest index."""
        return self.first_of_the_best(self.indices(t), t)

    def win_probabilities(self, t: int) -> Floats:
        """The floor is shared alike, the rest goes to the best."""
        chances = np.full(self.problem.n_arms, self.policy.floor / self.problem.n_arms)
        chances[self.choose(t)] += 1.0 - self.policy.floor
        return chances

    def _index(self, arm: int, pending: list[int]) -> float:
        if self.rewards[arm]:
            total, waiting = self.var[arm] + self.x[arm], sum(s >= self.generations[-2] for s in pending)
            return float(self.estimate[arm] + 2.0 * math.sqrt(total / (1.0 + waiting * total / self.r2)))
        if not pending:
            return math.inf
        if not self.all:
            return -math.inf
        return float(np.mean(self.all) + 2.0 * np.std(self.all) / (1.0 + len(pending)))

    def _variances(self, arm: int, t: int) -> Floats:
        """Of every filter at round `t`, in units of the noise."""
        grown = np.maximum(RHO * (t - self.last[arm]), self.alert[arm])
        return np.asarray(np.minimum(self.p[arm] + grown, 2.0 * self.v / self.r2 + 1.0))

    def _mixture(self, arm: int, t: int) -> tuple[float, float]:
        mean = self.w @ self.m[arm]
        return mean, self.w @ (self.r2 * self._variances(arm, t) + (self.m[arm] - mean) ** 2)

    def _straying(self, n: float) -> float:
        places = [0, *(2**q for q in SCALES)]
        return float(np.interp(n, places, [0.0, *self.d_q.values()]))

    def _look(self, t: int) -> None:
        for arm in self._seen():
            self.estimate[arm], self.var[arm] = self._mixture(arm, t)
            strayed = self.u[arm] + 2.0 * self._straying(t - self.last[arm]) - self.var[arm]
            self.x[arm] = np.clip(strayed, 0.0, 2.0 * self.v)

    def _pass(self, t: int) -> None:
        """Round `t` passes."""
        seen, k = self._seen(), self.problem.n_arms
        step = self.policy.alertness * math.sqrt(3.0 / k) * 16.0 * math.log((16_000.0 + t + 1) / (16_000.0 + t))
        for arm in seen:
            g = min((max(self.estimate[seen]) - self.estimate[arm]) ** 2 / (4.0 * self.r2), 1000.0)
            self.alert[arm] += step * g**2 / (1.0 + g)
        for q in SCALES:
            if (t + 1) % 2**q == 0:
                self._look_back(q)
        level = 0.0
        for q in SCALES:
            level = (2.0 * level + self.n_q[q] * self.e_q[q]) / (1.0 + self.n_q[q])
            self.d_q[q] = level

    def _look_back(self, q: int) -> None:
        for arm in range(self.problem.n_arms):
            if not self.played.pop((q, arm), False):
                self.snapshots.pop((q, arm), None)
                continue
            if (q, arm) in self.snapshots:
                mean, var = self.snapshots[q, arm]
                d = (self.estimate[arm] - mean) ** 2
                d = d if d >= 9.0 * (self.var[arm] + var) else 0.0
                self.n_q[q] = min(self.n_q[q] + 1, 64)
                self.e_q[q] += (d - self.e_q[q]) / self.n_q[q]
            self.snapshots[q, arm] = self.estimate[arm], self.var[arm]

    def _learn(self, entry: Entry) -> None:
        arm, y, now = entry.arm, entry.reward, entry.arrival
        self.all.append(y)
        if self.rewards[arm]:
            self.n_noise = min(self.n_noise + 1, 20_000)
            self.h += ((y - self.rewards[arm][-1]) ** 2 / 2.0 - self.h) / self.n_noise
        self.r2 = (float(np.var(self.all)) + self.n_noise * self.h) / (1 + self.n_noise) + 1e-300
        if self.rewards[arm]:
            self._correct(arm, y, now, now - entry.t)
        else:
            self.m[arm], self.p[arm] = y, 1.0
        self.rewards[arm].append(y)
        self.last[arm], self.alert[arm], self.x[arm] = now + 1, 0.0, 0.0
        self.played |= {(q, arm): True for q in SCALES}
        self.estimate[arm], self.var[arm] = self._mixture(arm, now + 1)
        self.u[arm] = self.var[arm]
        self._spread()

    def _correct(self, arm: int, y: float, now: int, lag: int) -> None:
        errors = y - self.m[arm]
        p = self._variances(arm, now + 1) + self.x[arm] / self.r2
        w = self.w * np.exp(-(errors**2 - (errors**2).min()) / (4.0 * self.r2))
        w /= w.sum()
        gain = p / (p + 1.0 + RHO * lag)
        m, p = self.m[arm] + gain * errors, (1.0 - gain) * p
        mean = w @ m
        var = w @ (p + (m - mean) ** 2 / self.r2)
        phi = w / (w + 1e-4 / len(RHO))
        self.m[arm] = phi * m + (1.0 - phi) * mean
        own = phi * (p + (m - self.m[arm]) ** 2 / self.r2)
        self.p[arm] = own + (1.0 - phi) * (var + (mean - self.m[arm]) ** 2 / self.r2)
        share = 0.1 / (now + 10.0)
        self.w = (1.0 - share) * w + share / len(RHO)

    def _spread(self) -> None:
        seen = self._seen()
        if self.n_spread == 0:
            self.n_spread = int(len(seen) == self.problem.n_arms)
            self.g, self.v = float(np.mean(self.all)), float(np.var(self.all))
            return
        apart = self.estimate[seen] - self.g
        self.n_spread = min(self.n_spread + 1, 10_000)
        self.g += float(apart.mean()) / (self.n_spread + 1)
        self.v += (float((apart**2).mean()) - self.v) / (self.n_spread + 1)

    def _seen(self) -> list[int]:
        return [arm for arm, rewards in enumerate(self.rewards) if rewards]
