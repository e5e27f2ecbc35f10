"""All a twin knows: the log of every reward it was told, in the order it was told, and the decisions under way."""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Problem


class Entry(NamedTuple):
    """A reward: of which decision round and arm, and in which round it arrived (at the end of that round).

    `rng` is the stream that belongs to the decision, for what is drawn when its reward comes.
    """

    t: int
    arm: int
    reward: float
    arrival: int
    rng: int


class Twin:
    """A policy that remembers everything and computes everything anew."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        self.policy = policy
        self.problem = problem
        self.log: list[Entry] = []
        self.pending: dict[int, int] = {}
        bounded = math.isfinite(problem.low) and math.isfinite(problem.high)
        self.middle = self.place((problem.low + problem.high) / 2.0) if bounded else math.nan

    def learn(self, t: int, arm: int, reward: float, arrival: int, rng: int = 0) -> None:
        """The reward of the decision of round `t` arrived in round `arrival`."""
        self.log.append(Entry(t, arm, reward, arrival, rng))

    def pend(self, t: int, arm: int) -> None:
        """The reward of the decision of round `t` is under way."""
        self.pending[t] = arm
        if math.isnan(self.middle) and (weighed := [pair for arm in self.weighed(t + 1) for pair in arm]):
            self.middle = math.fsum(w * r for w, r in weighed) / math.fsum(w for w, _ in weighed)

    def settle(self, t: int, now: int) -> None:
        """It is so no longer, since round `now`."""
        self.pending.pop(t, None)

    def place(self, reward: float) -> float:
        """A reward as the index has it."""
        return reward

    def weighed(self, t: int) -> list[list[tuple[float, float]]]:
        """What counts at decision `t`, arm by arm: each reward as the index has it, after its weight."""
        return [[(1.0, self.place(entry.reward)) for entry in arm] for arm in self.by_arm(t)]

    def under_way(self, t: int) -> list[list[int]]:
        """The rounds whose rewards are under way at decision `t`, arm by arm."""
        rounds: list[list[int]] = [[] for _ in range(self.problem.n_arms)]
        for s, arm in self.pending.items():
            rounds[arm].append(s)
        return rounds

    def mean(self, rewards: list[float]) -> float:
        """Of the rewards of an arm of which something is known or under way."""
        return math.fsum(rewards) / len(rewards) if rewards else self.middle

    def first_of_the_best(self, indices: Any, t: int) -> int:
        """The lowest arm with the largest index.

        Of several that are infinite the one tried longest ago; of several that are minus infinite, with nothing to go
        by, the one with the fewest decisions under way.
        """
        top = max(indices)
        best = [arm for arm, index in enumerate(indices) if index == top]
        if top == math.inf:
            return min(best, key=lambda arm: (self.last_try(arm, t), arm))
        if top == -math.inf:
            return min(best, key=lambda arm: (len(self.under_way(t)[arm]), arm))
        return best[0]

    def last_try(self, arm: int, t: int) -> int:
        """The latest round whose decision for this arm was a try; -1 where there is none."""
        return -1

    def known(self, t: int) -> list[Entry]:
        """What counts at decision `t`: without a window, every reward told before it.

        A policy without a window cannot know a duplicate from a new reward: told twice, it counts twice. Whoever
        hands it rewards (the agent) joins them by decision.
        """
        return [entry for entry in self.log if entry.arrival < t]

    def by_arm(self, t: int) -> list[list[Entry]]:
        """What counts at decision `t`, arm by arm."""
        arms: list[list[Entry]] = [[] for _ in range(self.problem.n_arms)]
        for entry in self.known(t):
            arms[entry.arm].append(entry)
        return arms


def readable(bounds: Any) -> Any:
    """Compiled bounds as twins have them: what is only there to rank arms without a reward is infinite."""
    return np.where(np.abs(bounds) > 1e200, np.copysign(np.inf, bounds), bounds)


def tries(rewards: float, pending: float, number: int) -> float:
    """How many rewards give the bonus of an arm with so many rewards and decisions under way.

    With bonus c / sqrt(n), and none for what is under way, the average over both is n / (n + p) c / sqrt(n).
    """
    if pending == 0:
        return rewards
    if rewards == 0:
        return pending * (1 + number)
    return min((rewards + pending) ** 2 / rewards, (rewards + pending) * (1 + number))
