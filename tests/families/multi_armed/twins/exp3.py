"""EXP3. Auer, Cesa-Bianchi, Freund & Schapire 2002, figure 1 and corollary 3.2.

    p_i = (1 - gamma) w_i / (w_1 + ... + w_K) + gamma / K
    w_i = exp(gamma / K  sum of x / p)        over the rewards x of arm i, each with the p of its own decision

gamma = min(1, sqrt(K ln K / ((e - 1) g))) where g = T bounds what any arm can earn.
"""

import math
from typing import Any

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.multi_armed.twins.log import Entry, Twin


class EXP3Twin(Twin):
    """Over all history. The chances of a past decision stay what they were, so they are written down once."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        self._written: dict[int, Floats] = {}

    def horizon(self) -> int:
        return int(self.policy.horizon or self.problem.horizon)

    def gamma(self) -> float:
        n_arms = self.problem.n_arms
        return float(
            self.policy.gamma or min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1.0) * self.horizon())))
        )

    def probabilities(self, t: int) -> Floats:
        """The chance of every arm at decision `t`."""
        if t not in self._written:
            self._written[t] = self._mixed(self.weights(t))
        return self._written[t]

    def weights(self, t: int) -> Floats:
        """The w_i at decision `t`, up to a common factor."""
        totals = [math.fsum(self.exponent(entry) for entry in entries) for entries in self.by_arm(t)]
        return np.exp(np.array(totals) - max(totals))

    def exponent(self, entry: Entry) -> float:
        """What one reward adds to the logarithm of its arm's weight."""
        return self.gamma() / self.problem.n_arms * self.gain(entry) / self.propensity(entry)

    def gain(self, entry: Entry) -> float:
        """The reward, from 0 to 1."""
        return (entry.reward - self.problem.low) / (self.problem.high - self.problem.low)

    def propensity(self, entry: Entry) -> float:
        return float(self.probabilities(entry.t)[entry.arm])

    def _mixed(self, weights: Floats) -> Floats:
        return np.array((1.0 - self.gamma()) * weights / weights.sum() + self.gamma() / self.problem.n_arms)
