"""Policies that restart on an alarm, read from the log: what each arm has since its last restart.

A reward counts from when it comes. One whose decision is older than the last restart of its arm is stale. When the
rewards of an arm since its restart give an alarm, the arm (or every arm) restarts with the round after the one that
brought it.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.multi_armed.twins.log import Twin, tries


class Reading(NamedTuple):
    """What the log comes to: for every arm its rewards on [0, 1] since its restart, and the first round since then."""

    rewards: list[list[float]]
    starts: list[int]
    alarms: int
    stale: int


class RestartingTwin(Twin, ABC):
    """Reads the whole log for every answer; only the verdict on each reward is kept from one reading to the next."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        self.verdicts: dict[int, bool] = {}

    def restarts_all(self) -> bool:
        """Whether an alarm restarts every arm."""
        return False

    @abstractmethod
    def alarm(self, rewards: list[float]) -> bool:
        """Whether the last of these rewards of one arm gives an alarm; the earlier ones did not."""

    def place(self, reward: float) -> float:
        """A reward on [0, 1]; without a range, divided by twice the noise."""
        if math.isfinite(self.problem.low) and math.isfinite(self.problem.high):
            return (reward - self.problem.low) / (self.problem.high - self.problem.low)
        return reward / (2.0 * self.problem.noise)

    def weighed(self, t: int) -> list[list[tuple[float, float]]]:
        return [[(1.0, reward) for reward in arm] for arm in self.read(t).rewards]

    def tries(self, t: int) -> list[tuple[float, float]]:
        """Of every arm the mean reward since its restart, and how many rewards give its bonus: none without a try."""
        reading = self.read(t)
        numbers = [
            sum(s >= start for s in rounds) for rounds, start in zip(self.under_way(t), reading.starts, strict=True)
        ]
        return [
            (self.mean(rewards) if rewards or number else math.inf, tries(len(rewards), number, number))
            for rewards, number in zip(reading.rewards, numbers, strict=True)
        ]

    def bounds(self, t: int, scale: float) -> Floats:
        """Mean + scale / sqrt(tries); infinite without a try, and minus infinite with nothing to go by."""
        return np.array(
            [
                math.inf if count == 0 else -math.inf if math.isnan(mean) else mean + scale / math.sqrt(count)
                for mean, count in self.tries(t)
            ]
        )

    def read(self, t: int) -> Reading:
        """What counts at decision `t`."""
        n_arms = self.problem.n_arms
        rewards: list[list[float]] = [[] for _ in range(n_arms)]
        starts = [0] * n_arms
        alarms = stale = 0
        for i, entry in enumerate(self.known(t)):
            if entry.t < starts[entry.arm]:
                stale += 1
                continue
            rewards[entry.arm].append(self.place(entry.reward))
            if i not in self.verdicts:
                self.verdicts[i] = self.alarm(rewards[entry.arm])
            if self.verdicts[i]:
                alarms += 1
                for k in range(n_arms) if self.restarts_all() else [entry.arm]:
                    rewards[k], starts[k] = [], entry.arrival + 1
        return Reading(rewards, starts, alarms, stale)
