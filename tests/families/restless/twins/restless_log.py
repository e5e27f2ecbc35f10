"""All a twin for arms that move on their own knows: every slot it was told of, in the order it was told."""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints, Problem
from driftwise.families.restless.structure import RestlessStructure

TIE = 1e-7


class Slot(NamedTuple):
    """The states before, the arms activated, the states after and what each arm earned; it was told in `arrival`."""

    t: int
    states: tuple[int, ...]
    active: tuple[int, ...]
    after: tuple[int, ...]
    rewards: tuple[float, ...]
    arrival: int


class Passage(NamedTuple):
    """One arm in one slot: where it was, what was done, where it went, and what it earned."""

    t: int
    arm: int
    state: int
    action: int
    after: int
    reward: float


class RestlessTwin:
    """A policy that remembers everything and computes everything anew.

    `indices(t, states)` are those it goes by, or None; `choose(t, states)` the arms it takes when it does not explore,
    and `chances(t, states)` those of every set, where it does.
    """

    def __init__(self, policy: Any, problem: Problem) -> None:
        self.policy = policy
        self.problem = problem
        self.structure: RestlessStructure = problem.structure
        self.log: list[Slot] = []
        self.rng: Any = 0  # the stream that those of slots are taken from, for who draws

    def learn(self, t: int, states: Any, active: Any, outcome: Any, arrival: int) -> None:
        """What came of slot `t`, told in slot `arrival`."""
        self.log.append(
            Slot(
                t,
                tuple(map(int, states)),
                tuple(map(int, active)),
                tuple(map(int, outcome.states)),
                tuple(map(float, outcome.rewards)),
                arrival,
            )
        )

    def passages(self, t: int) -> list[Passage]:
        """What was seen of all arms by slot `t`, as it was told; a state below 0 was not seen."""
        return [
            Passage(slot.t, arm, slot.states[arm], int(arm in slot.active), slot.after[arm], slot.rewards[arm])
            for slot in self.log
            if slot.arrival < t
            for arm in range(self.problem.n_arms)
            if slot.states[arm] >= 0 and slot.after[arm] >= 0
        ]

    def indices(self, t: int, states: Ints) -> Floats | None:
        """None where the policy goes by no index."""
        return None

    def chances(self, t: int, states: Ints) -> dict[tuple[int, ...], float] | None:
        """The chance of every set of arms; None where nothing is drawn."""
        return None

    def choose(self, t: int, states: Ints) -> list[int]:
        """The arms with the largest indices, of those within 1e-7 of each other the lowest numbers.

        Where at most so many are to be activated, those with an index below 0 are not.
        """
        indices = self.indices(t, states)
        assert indices is not None
        level = np.sort(indices)[-self.problem.slate]
        sure = [arm for arm in range(len(indices)) if indices[arm] > level + TIE]
        tied = [arm for arm in range(len(indices)) if abs(indices[arm] - level) <= TIE]
        chosen = sorted([*sure, *tied[: self.problem.slate - len(sure)]])
        return [arm for arm in chosen if indices[arm] >= -TIE] if self.structure.at_most[0] else chosen
