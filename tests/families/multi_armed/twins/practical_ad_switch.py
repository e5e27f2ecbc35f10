"""The practical AdSwitch, after Auer, Gajane & Ortner 2019, algorithm 1.

The log is read round by round. For every reward the intervals are cut out of the list of all rewards of the episode,
and every interval is held against every other; nothing is kept up to date but the lists.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from tests.families.multi_armed.twins.log import Entry, Twin
from tests.fixtures.splitmix import branch, step


class Bad(NamedTuple):
    """What was noted when an arm was evicted."""

    mean: float
    gap: float


class Check(NamedTuple):
    """Plays that a bad arm is owed, and how many rewards it had when they were promised."""

    plays: int
    before: int


class Episode(NamedTuple):
    """One episode: of every arm all rewards with the round they arrived in, all bounds ever seen, and its checks."""

    start: int
    facts: list[list[tuple[int, float]]]
    bounds: list[list[tuple[float, float]]]
    bad: dict[int, Bad]
    checks: list[list[Check]]

    @classmethod
    def of(cls, start: int, n_arms: int) -> "Episode":
        return cls(start, [[] for _ in range(n_arms)], [[] for _ in range(n_arms)], {}, [[] for _ in range(n_arms)])

    def starts(self, now: int) -> list[int]:
        """Where the intervals that end now begin, the shortest interval first."""
        age = now - self.start
        return [self.start + 2**j * (age // 2**j - 1) for j in range(64) if 2**j <= age]

    def since(self, k: int, start: int) -> list[float]:
        """The rewards of arm k that arrived in round `start` or later."""
        return [reward for arrival, reward in self.facts[k] if arrival >= start]

    def owed(self, k: int) -> int:
        """Plays until the last check of arm k is done."""
        return max([0, *(check.plays - (len(self.facts[k]) - check.before) for check in self.checks[k])])


class PracticalAdSwitchTwin(Twin):
    """Told of every turn with `play` and of every reward with `learn`."""

    def __init__(self, policy: Any, problem: Any) -> None:
        super().__init__(policy, problem)
        self.last = [-1] * problem.n_arms
        self.alarms = self.stale = 0
        self.episode = Episode.of(0, problem.n_arms)

    def choose(self, t: int) -> int:
        """Of the good arms and those owed a check, the one whose turn is longest ago."""
        active = [k for k in range(self.problem.n_arms) if k not in self.episode.bad or self.episode.owed(k) > 0]
        return min(active, key=lambda k: (self.last[k], k))

    def play(self, t: int, arm: int) -> None:
        """It was the turn of `arm` in round `t`."""
        self.last[arm] = t

    def learn(self, t: int, arm: int, reward: float, arrival: int, rng: int = 0) -> None:
        super().learn(t, arm, reward, arrival, rng)
        if t < self.episode.start:
            self.stale += 1
            return
        low, high = self.problem.low, self.problem.high
        self.episode.facts[arm].append((arrival, (reward - low) / (high - low)))
        horizon = max(2, self.policy.horizon or self.problem.horizon or arrival + 1)
        if self.changed(arm, arrival, math.log(horizon)):
            self.alarms += 1
            self.episode = Episode.of(arrival + 1, self.problem.n_arms)
            return
        self.evict(arrival, math.log(horizon))
        self.owe(horizon, self.log[-1])

    def changed(self, arm: int, now: int, log: float) -> bool:
        """Whether an interval of this arm that ends now contradicts what else is known of it."""
        episode = self.episode
        fresh = []
        for start in episode.starts(now):
            rewards = episode.since(arm, start)
            if rewards:
                fresh.append((math.fsum(rewards) / len(rewards), math.sqrt(self.policy.width * log / len(rewards))))
        if arm in episode.bad:
            was = episode.bad[arm]
            return any(abs(mean - was.mean) > was.gap / 4.0 + radius for mean, radius in fresh)
        episode.bounds[arm].extend((mean - radius, mean + radius) for mean, radius in fresh)
        lows, highs = np.array(episode.bounds[arm]).reshape(-1, 2).T
        return any(((mean - radius > highs) | (mean + radius < lows)).any() for mean, radius in fresh)

    def evict(self, now: int, log: float) -> None:
        """Turn good arms bad that another good arm beats on an interval that ends now."""
        episode = self.episode
        for start in episode.starts(now):
            rewards = [episode.since(k, start) for k in range(self.problem.n_arms)]
            means = {k: math.fsum(y) / len(y) for k, y in enumerate(rewards) if y and k not in episode.bad}
            if not means:
                continue
            best = max(means, key=lambda k: means[k])
            for k, mean in means.items():
                n = min(len(rewards[k]) - 1, len(rewards[best]))
                if n >= 1 and means[best] - mean > math.sqrt(self.policy.scale * log / n):
                    episode.bad[k] = Bad(mean, means[best] - mean)

    def owe(self, horizon: int, entry: Entry) -> None:
        """Draw at most one check for every bad arm, of i = 1, 2, ... while 2^-i >= gap / reach."""
        n_arms = self.problem.n_arms
        rate = math.sqrt((self.alarms + 1) / (n_arms * horizon * math.log(horizon)))
        rng = branch(entry.rng)
        for k in sorted(self.episode.bad):
            word, rng = step(rng)
            u = (word >> 11) / 2**53
            i = 1
            while 2.0**-i >= self.episode.bad[k].gap / self.policy.reach:
                if rate * (1.0 - 2.0 ** -(i - 1)) <= u < rate * (1.0 - 2.0**-i):
                    plays = math.ceil(self.policy.width * math.log(horizon) * 4**i)
                    self.episode.checks[k].append(Check(plays, len(self.episode.facts[k])))
                i += 1
