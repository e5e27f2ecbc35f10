"""CombUCB1 on the last w rounds. Kveton et al. 2015, algorithm 1; radius and window of Cheung, Simchi-Levi & Zhu 2022.

    show the slate of m items that maximises  sum_i (mean_i + R sqrt(2 ln(2 d T^2) / N_i))

Mean and count of an item over the slates of rounds t - w .. t - 1; an item that was in none has an infinite index. All
slates there are are compared here, one by one.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.multi_armed.twins.log import tries


class SlateEntry(NamedTuple):
    """What each item of the slate of round t paid; it arrived at the end of round `arrival`."""

    t: int
    slate: tuple[int, ...]
    rewards: tuple[float, ...]
    arrival: int


class SlidingSlateUCBTwin:
    """A policy that remembers every slate and computes everything anew."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        self.policy = policy
        self.problem = problem
        self.log: list[SlateEntry] = []
        self.pending: dict[int, tuple[int, ...]] = {}
        self.middle = (problem.low + problem.high) / 2.0 if problem.bounded else math.nan

    def pend(self, t: int, slate: Any) -> None:
        """The rewards of the slate of round `t` are under way."""
        self.pending[t] = tuple(map(int, slate))
        paid = [reward for entry in self.known(t + 1) for reward in entry.rewards]
        if math.isnan(self.middle) and paid:
            self.middle = math.fsum(paid) / len(paid)

    def settle(self, t: int, now: int) -> None:
        """They are so no longer, since round `now`; what had left the window by then was a try all the same."""
        if t >= now + 1 - self.policy.window:
            del self.pending[t]

    def under_way(self, t: int) -> list[int]:
        """How many decisions of the window are under way, item by item."""
        slates = [slate for s, slate in self.pending.items() if s >= t - self.policy.window]
        return [sum(item in slate for slate in slates) for item in range(self.problem.n_arms)]

    def last_try(self, item: int) -> int:
        """The latest round in which an item was tried, of all that were so while in the window."""
        window = self.policy.window
        rewarded = [each.t for each in self.log if item in each.slate and each.t >= each.arrival + 1 - window]
        return max([*rewarded, *(s for s, slate in self.pending.items() if item in slate)], default=-1)

    def learn(self, t: int, slate: Any, rewards: Any, arrival: int) -> None:
        """What the items of the slate of round `t` paid, told in round `arrival`."""
        self.log.append(SlateEntry(t, tuple(map(int, slate)), tuple(map(float, rewards)), arrival))

    def known(self, t: int) -> list[SlateEntry]:
        """One entry for each answered round of the window: of one that was told twice, the first."""
        answered: dict[int, SlateEntry] = {}
        for entry in self.log:
            if t - self.policy.window <= entry.t <= t - 1 and entry.arrival < t:
                answered.setdefault(entry.t, entry)
        return list(answered.values())

    def stale(self) -> int:
        """Slates whose rewards came when their round had left the window."""
        return sum(entry.t < entry.arrival + 1 - self.policy.window for entry in self.log)

    def indices(self, t: int) -> Floats:
        paid: list[list[float]] = [[] for _ in range(self.problem.n_arms)]
        for entry in self.known(t):
            for item, reward in zip(entry.slate, entry.rewards, strict=True):
                paid[item].append(reward)
        rounds = self.problem.horizon or max(t, self.policy.window)
        noise = (self.problem.high - self.problem.low) / 2.0 if self.problem.bounded else self.problem.noise
        radius = self.policy.scale * noise * math.sqrt(2.0 * math.log(2.0 * self.problem.n_arms * rounds**2))
        return np.array([self._index(radius, *each) for each in zip(paid, self.under_way(t), strict=True)])

    def _index(self, radius: float, paid: list[float], number: int) -> float:
        if not paid and not number:
            return math.inf
        mean = math.fsum(paid) / len(paid) if paid else self.middle
        return -math.inf if math.isnan(mean) else mean + radius / math.sqrt(tries(len(paid), number, number))

    def choose(self, t: int) -> tuple[int, ...]:
        """The best slate of all: the most infinite indices, of items tried longest ago; then the largest sum."""
        indices = self.indices(t)
        numbers = self.under_way(t)

        def worth(slate: tuple[int, ...]) -> tuple[int, list[int], int, float]:
            finite = [float(indices[item]) for item in slate if math.isfinite(indices[item])]
            untried = sorted(-self.last_try(item) for item in slate if indices[item] == math.inf)
            blank = sum(numbers[item] for item in slate if indices[item] == -math.inf)
            return len(untried), untried, -blank, math.fsum(finite)

        return max(itertools.combinations(range(self.problem.n_arms), self.problem.slate), key=worth)
