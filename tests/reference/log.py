"""All a twin knows: the log of every reward it was told, in the order it was told."""

from typing import Any, NamedTuple

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

    def learn(self, t: int, arm: int, reward: float, arrival: int, rng: int = 0) -> None:
        """The reward of the decision of round `t` arrived in round `arrival`."""
        self.log.append(Entry(t, arm, reward, arrival, rng))

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
