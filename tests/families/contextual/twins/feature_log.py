"""What a twin of a policy with features knows: every pair (x, y) it was told, and when.

    class MyTwin(FeatureTwin):                   # or WindowedFeatureTwin, for a policy with a window
        def indices(self, t, context): ...       # a number per row of `context`, from self.pairs(t)

A Thompson twin answers with the law of its draw instead: see `lin_thompson.py`.

`noise` and `unit` are R and what bounds on means are multiples of: declared in the problem, or half the range and the
largest reward in it, whatever its sign; without a range the standard deviation of all rewards so far and of one that
is 0, and the largest of them.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Problem


class FeatureEntry(NamedTuple):
    """The reward y of the row x chosen in round t; it arrived at the end of round `arrival`.

    `rng` is the stream that belongs to the decision, for what is drawn when its reward comes.
    """

    t: int
    x: Floats
    y: float
    arrival: int
    rng: int


class FeatureTwin(ABC):
    """A policy that remembers every pair and computes everything anew."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        self.policy = policy
        self.problem = problem
        self.log: list[FeatureEntry] = []
        self.pending: dict[int, Floats] = {}

    def learn(self, t: int, x: Floats, y: float, arrival: int | None = None, rng: int = 0) -> None:
        """The reward of the row `x` chosen in round `t`; it arrives at once unless told otherwise."""
        self.log.append(FeatureEntry(t, np.array(x, float), float(y), t if arrival is None else arrival, rng))

    def pend(self, t: int, x: Floats) -> None:
        """The reward of the row `x` chosen in round `t` is under way."""
        self.pending[t] = np.array(x, float)

    def settle(self, t: int) -> None:
        """It is so no longer."""
        self.pending.pop(t, None)

    def under_way(self, t: int) -> dict[int, Floats]:
        """The rows whose rewards are under way at decision `t`, by their rounds."""
        return self.pending

    def known(self, t: int) -> list[FeatureEntry]:
        """What counts at decision `t`: without a window all that was told before it, twice what was told twice."""
        return [entry for entry in self.log if entry.arrival < t]

    def pairs(self, t: int) -> tuple[Floats, Floats]:
        """The same as a matrix of rows x and a vector of rewards y."""
        known = self.known(t)
        rows = np.array([entry.x for entry in known]).reshape(len(known), self.problem.dim)
        return rows, np.array([entry.y for entry in known])

    def measured(self, t: int) -> list[float]:
        """All rewards that were learned from before decision `t`, those since forgotten included."""
        return [entry.y for entry in self.known(t)]

    def unit(self, t: int) -> float:
        """How large a mean can be, at decision `t`."""
        return self.unit_after(self.measured(t))

    def noise(self, t: int) -> float:
        """How far a reward lies from its mean, at decision `t`."""
        return self.noise_after(self.measured(t))

    def unit_after(self, rewards: list[float]) -> float:
        """The same after these rewards."""
        low, high = self.problem.low, self.problem.high
        if self.problem.unit:
            return float(self.problem.unit)
        if math.isfinite(low) and math.isfinite(high):
            return float(max(abs(low), abs(high)))
        return max(map(abs, rewards), default=0.0) or float(2.0 * self.problem.noise) or 1.0

    def noise_after(self, rewards: list[float]) -> float:
        """The same after these rewards."""
        low, high = self.problem.low, self.problem.high
        if self.problem.noise:
            return float(self.problem.noise)
        if math.isfinite(low) and math.isfinite(high):
            return float(high - low) / 2.0
        return float(np.std([0.0, *rewards])) or 0.5 * self.unit_after(rewards)

    @abstractmethod
    def indices(self, t: int, context: Floats) -> Floats:
        """What the policy compares at decision `t`: one number per row of `context`."""

    def choose(self, t: int, context: Floats) -> int:
        """The first row with the largest index."""
        return int(np.argmax(self.indices(t, context)))


class WindowedFeatureTwin(FeatureTwin):
    """A twin that forgets: at decision t only the decisions of rounds t - w .. t - 1 count.

    A reward enters by the round of its decision, once it has arrived: one that arrives after its round has left the
    window is never counted, and of one that arrives twice the first counts.
    """

    def known(self, t: int) -> list[FeatureEntry]:
        """One entry for each answered round of the window."""
        answered: dict[int, FeatureEntry] = {}
        for entry in self.log:
            in_window = t - self.policy.window <= entry.t <= t - 1
            if in_window and entry.arrival < t and entry.t not in answered:
                answered[entry.t] = entry
        return list(answered.values())

    def under_way(self, t: int) -> dict[int, Floats]:
        """Those of the window."""
        return {s: x for s, x in self.pending.items() if s >= t - self.policy.window}

    def measured(self, t: int) -> list[float]:
        """Those that came in time, one for each round."""
        first: dict[int, float] = {}
        for entry in self.log:
            if entry.arrival < t and entry.t >= entry.arrival + 1 - self.policy.window:
                first.setdefault(entry.t, entry.y)
        return list(first.values())

    def stale(self) -> int:
        """Rewards that came too late: at the next decision after their arrival their round had left the window."""
        return sum(entry.t < entry.arrival + 1 - self.policy.window for entry in self.log)
