"""A bank of Kalman filters with nothing to set, from the first round on at every decision.

Every filter j is a law N(m, R^2 S) of (theta, b), b an offset: z = (x / l, 1), l the length of the first row that is
not zero, and rewards count from the first one.

    walk      k = (1 - rho_j / ceiling)^+: S <- A S A + N, with A = sqrt(k) and N = (1 - k) ceiling on the features, and
              1 and 1e-9 on b
    correct   s = z'Sz, v = 1 + age rho_j |x / l|^2:  m += S z e / (v + s),  S -= S z z' S / (v + s)
    reweigh   from reward d + 2 on, w <- w exp(-log(v + s) / 2 - min(e^2 / (R^2 (v + s)), 9) / 2) / sum, then
              (1 - h) w + h / 9, h = 1 / (n + 10) + 0.001 g^2, g = sum w min(10^6 rho, 1) with the weights before
    pool      g = 0.01 (sum w b - b):  m += g S[:, b] / S[b, b]
    noise     B = mean of sum w e^2 / (v + s) over the last 2000 or so, k = (n - d - 1)^+
              R^2 = (mean y^2 + k B) / (1 + k)
    ceiling   1e4; from reward 2 d + 3 on 16 |m*|^2 / (d R^2) + 1
    stray     a tenth filter whose pace is the largest rate of the variogram, over R^2; with one the covariance
              is 2/3 of the sum of the mixture's and of its own

The beliefs are about the round `clock`, as those of the twin of `kalman-mixture`. Rows under way count in the
covariance while they are of the present generation or of the one before: round t begins another when rewards have
come, D rounds late in the mean of the last 2000 or so, and the present one began more than 2 D rounds before t.
"""

from typing import Any

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.contextual.twins.kalman_mixture import KalmanMixtureTwin

PACES = 10.0 ** np.arange(-8.0, 1.0)


class Bank:
    """All that was learned from some rewards."""

    def __init__(self, dim: int) -> None:
        self.dim, self.clock, self.n, self.unit, self.first = dim, 0, 0, 0.0, 0.0
        self.squares, self.innovation, self.noise, self.ceiling = 0.0, 0.0, 1.0, 1e4
        self.paces, self.weights = np.append(PACES, 0.0), np.full(9, 1.0 / 9.0)
        self.means, self.covariances = np.zeros((10, dim + 1)), np.tile(1e4 * np.eye(dim + 1), (10, 1, 1))
        self.notes: dict[int, tuple[int, Floats, float, float]] = {}
        self.rates: dict[int, tuple[float, int]] = {}

    def row(self, x: Floats) -> Floats:
        return np.append(x / (self.unit or 1.0), 1.0)

    def widened(self, j: int, rounds: int) -> Floats:
        keep = max(0.0, 1.0 - self.paces[j] / self.ceiling) ** rounds
        parts = np.append(np.full(self.dim, np.sqrt(keep)), 1.0)
        more = np.append(np.full(self.dim, (1.0 - keep) * self.ceiling), rounds * 1e-9)
        return np.array(parts[:, None] * self.covariances[j] * parts + np.diag(more))

    def walk(self, until: int) -> None:
        for _ in range(self.clock, until):
            self.covariances = np.array([self.widened(j, 1) for j in range(10)])
        self.clock = max(self.clock, until)

    def mixture(self, ahead: int) -> tuple[Floats, Floats]:
        mean = self.weights @ self.means[:9]
        apart = self.means[:9] - mean
        wider = self.noise * np.array([self.widened(j, ahead) if ahead else self.covariances[j] for j in range(10)])
        covariance = np.einsum("j,jik->ik", self.weights, wider[:9]) + (self.weights * apart.T) @ apart
        return mean, covariance if self.paces[9] == 0.0 else 2.0 * (covariance + wider[9]) / 3.0

    def learn(self, x: Floats, reward: float, age: int) -> None:
        self.n += 1
        self.unit = self.unit or float(np.linalg.norm(x))
        self.first = reward if self.n == 1 else self.first
        z, y, seen = self.row(x), reward - self.first, self.n - self.dim - 1
        images = self.covariances @ z
        totals = 1.0 + age * self.paces * (z[:-1] @ z[:-1]) + images @ z
        errors = y - self.means @ z
        self.means = self.means + images * (errors / totals)[:, None]
        self.covariances = self.covariances - images[:, :, None] * images[:, None, :] / totals[:, None, None]
        normed = (errors**2 / totals)[:9]
        if seen > 0:
            self.innovation += (float(self.weights @ normed) - self.innovation) / min(seen, 2000)
            logs = np.log(self.weights) - 0.5 * (np.log(totals[:9]) + np.minimum(normed / self.noise, 9.0))
            share = 1.0 / (self.n + 10) + 1e-3 * self.drift_belief() ** 2
            likely = np.exp(logs - logs.max())
            self.weights = (1.0 - share) * likely / likely.sum() + share / 9.0
        gaps = 0.01 * (self.weights @ self.means[:9, -1] - self.means[:, -1])
        columns = self.covariances[:, :, -1]
        self.means = self.means + gaps[:, None] * columns / columns[:, -1:]
        self.squares += y * y
        self.noise = (self.squares / self.n + max(0, seen) * self.innovation) / (1 + max(0, seen)) + 1e-300
        if self.n > 2 * (self.dim + 1):
            theta = (self.weights @ self.means[:9])[:-1]
            self.ceiling = min(float(16.0 * theta @ theta / (self.dim * self.noise) + 1.0), 1e12)
        self.note(z)

    def drift_belief(self) -> float:
        return float(self.weights @ np.minimum(1e6 * PACES, 1.0))

    def note(self, z: Floats) -> None:
        """The variogram."""
        mean, covariance = self.mixture(0)
        for lag in (2**q for q in range(3, 17)):
            if lag in self.notes and self.clock - self.notes[lag][0] < lag:
                continue
            if lag in self.notes:
                then, old, before, doubt = self.notes[lag]
                square = float((old @ mean - before) ** 2)
                if square < 9.0 * (old @ covariance @ old + doubt):
                    square = 0.0
                average, count = self.rates.get(lag, (0.0, 0))
                count = min(count + 1, 64)
                rate = square / float(old @ old * (self.clock - then))
                self.rates[lag] = (average + (rate - average) / count, count)
            self.notes[lag] = (self.clock, z, float(z @ mean), float(z @ covariance @ z))
        self.paces[9] = max((rate * n / (n + 1) for rate, n in self.rates.values()), default=0.0) / self.noise


class FilterBankLinUCBTwin(KalmanMixtureTwin):
    """Everything from the start, one round and one reward after another."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        self.dim = problem.dim
        self.generations = [0, 0]

    def pend(self, t: int, x: Floats) -> None:
        self.begin(t)
        super().pend(t, x)

    def begin(self, t: int) -> None:
        """Rows of generations before the last are dropped: at the beginning of round `t` they are not under way."""
        mean, known = 0.0, self.known(t)
        for i, entry in enumerate(known):
            mean += (entry.arrival - entry.t - mean) / min(i + 1, 2000)
        if known and t - self.generations[-1] > 2.0 * mean:
            self.generations.append(t)
            for s in [s for s in self.pending if s < self.generations[-2]]:
                self.settle(s)
                self.until[s] = t - 1

    def settle(self, t: int) -> None:
        """What was dropped before is not under way any more."""
        if t in self.pending:
            super().settle(t)

    def bank(self, t: int) -> Bank:
        """What is believed at decision `t`."""
        bank = Bank(self.dim)
        for entry in self.known(t):
            bank.walk(max(self.quiet_round(bank.clock, entry.arrival), entry.t))
            bank.learn(entry.x, entry.y, bank.clock - entry.t)
        bank.walk(self.quiet_round(bank.clock, t))
        return bank

    def beliefs_at(self, t: int) -> tuple[Bank, Floats, Floats]:
        """The bank, and mean and covariance of the mixture while rows are under way."""
        self.begin(t)
        bank = self.bank(t)
        mean, covariance = bank.mixture(t - bank.clock)
        if under_way := self.under_way(t):
            rows = [np.append(x / (bank.unit or 1.0), 0.0) for x in under_way.values()]
            told = sum(np.outer(row, row) for row in rows) / bank.noise
            covariance = np.linalg.inv(np.linalg.inv(covariance) + told)
        return bank, mean, np.array(covariance)

    def estimate(self, t: int) -> tuple[Floats, Floats]:
        """Mean and covariance of the parameter and the offset."""
        return self.beliefs_at(t)[1:]

    def indices(self, t: int, context: Floats) -> Floats:
        bank, mean, covariance = self.beliefs_at(t)
        rows = np.array([bank.row(x) for x in context])
        spreads = np.sqrt(np.maximum(0.0, np.einsum("ai,ij,aj->a", rows, covariance, rows)))
        return np.array(rows @ mean + 1.8 * spreads)
