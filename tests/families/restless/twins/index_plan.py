"""What twins that go by Whittle indices share: counting moves over episodes, the most hopeful transitions, and indices.

A plan rests on what was told before its slot. Counts are recounted from the log; transitions are found by value
iteration and indices by trying every policy.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.core.types import Floats, Ints, Problem
from driftwise.families.restless.whittle.advantage_lines import RestlessArm
from tests.families.restless.twins.restless_log import Passage, RestlessTwin
from tests.families.restless.twins.whittle import brute_force


class IndexTwin(RestlessTwin, ABC):
    """Goes by a table of indices, a row per group, that is made anew at every plan."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        self.period = int(self.structure.episode[0]) or policy.every
        self.groups: Ints = self.structure.classes
        self._tables: dict[int, Floats] = {}

    def plan_of(self, t: int) -> int:
        """The slot of the plan that is in force in slot `t`."""
        return t - t % self.period

    @abstractmethod
    def plan(self, start: int) -> Floats:
        """The indices of every group and state by what was known before slot `start`."""

    def table(self, t: int) -> Floats:
        """The indices in force in slot `t`."""
        start = self.plan_of(t)
        if start not in self._tables:
            self._tables[start] = self.plan(start)
        return self._tables[start]

    def indices(self, t: int, states: Ints) -> Floats:
        table, discount = self.table(t), self.structure.discount[0]
        return np.array([table[self.groups[n], s] - discount * self.structure.costs[n] for n, s in enumerate(states)])

    def count(self, before: int, which: Callable[[Passage], bool]) -> Floats:
        """Moves told before a slot, by action, state and next state, of the passages that `which` lets through."""
        size = self.structure.rewards.shape[1]
        counts = np.zeros((2, size, size))
        for each in self.passages(before):
            if which(each):
                counts[each.action, each.state, each.after] += 1
        return counts

    def lately(self, before: int, group: int, window: int) -> Floats:
        """The moves of a group in the last `window` episodes that had ended by a slot; 0: in all of them."""
        now = before // self.period

        def recent(each: Passage) -> bool:
            age = now - each.t // self.period
            return self.groups[each.arm] == group and age >= 1 and (window == 0 or age <= window)

        return self.count(before, recent)

    def ongoing(self, before: int, group: int, episode: int) -> Floats:
        """The moves of a group in one episode, as far as they were told before a slot."""

        def its(each: Passage) -> bool:
            return bool(self.groups[each.arm] == group and each.t // self.period == episode)

        return self.count(before, its)

    def indices_under(self, own: int, kernel: Floats) -> Floats:
        """Whittle's indices of a class under transitions."""
        idle, busy = self.rewards(own)
        return brute_force(RestlessArm(kernel[0], kernel[1], idle, busy, float(self.structure.discount[0])))[0]

    def rewards(self, own: int) -> Floats:
        """What a class earns by action and state, one discount early: r(s), and r(s) + discount x(s) when active."""
        rewards = self.structure.rewards[own]
        return np.stack([rewards, rewards + self.structure.discount[0] * self.structure.activation_rewards[own]])

    def charge(self, start: int) -> float:
        """By the last slot of an episode that was told before `start`, with the indices in force when it was told."""
        ends = [slot for slot in self.log if slot.arrival < start and (slot.t + 1) % self.period == 0]
        if not ends:
            return 0.0
        indices = self.indices(ends[-1].arrival, np.array(ends[-1].states))
        return max(0.0, float(np.sort(indices)[-self.problem.slate]))


def hopeful(centre: Floats, radii: Floats, allowed: Floats, rewards: Floats, discount: float, charge: float) -> Floats:
    """The transitions of a ball that are worth most: value iteration, every row leaning to the best state it may reach.

    `rewards` are by action and state.
    """
    values, kernel = np.zeros(rewards.shape[1]), centre
    for _ in range(10_000):
        kernel = np.zeros(centre.shape)
        for a, s in np.ndindex(*radii.shape):
            kernel[a, s] = _lean(centre[a, s], allowed[a, s], float(radii[a, s]), values)
        passive, active = (rewards[a] + discount * kernel[a] @ values for a in range(2))
        better = np.maximum(passive, active - charge)
        if np.abs(better - values).max() < 1e-13:
            return kernel
        values = better
    raise AssertionError("value iteration did not settle")


def _lean(row: Floats, allowed: Floats, radius: float, values: Floats) -> Floats:
    """Half the radius goes to the best state that is allowed, from the worst ones."""
    order = sorted(range(len(row)), key=lambda s: (values[s], -s))
    best = max((s for s in order if allowed[s]), key=order.index)
    leaning, moved = row.copy(), min(1.0 - row[best], radius / 2.0)
    for worst in order:
        if worst != best:
            taken = min(leaning[worst], moved)
            leaning[worst] -= taken
            leaning[best] += taken
            moved -= taken
    return leaning
