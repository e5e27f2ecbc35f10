"""A compiled policy beside its slow twin."""

from typing import Any, NamedTuple

from driftwise.core.seeding import at
from driftwise.core.types import Problem, Trace
from driftwise.core.validation import cast
from driftwise.families import POLICIES
from driftwise.families.composite.worlds.delayed import LOST, Delayed, DelayedTape
from tests.fixtures.twins import TWINS


class Pair(NamedTuple):
    """A policy with its state, and its twin."""

    name: str
    policy: Any
    state: Any
    twin: Any

    @classmethod
    def of(cls, name: str, problem: Problem, **parameters: Any) -> "Pair":
        policy = cast(POLICIES[name](**parameters))
        return cls(name, policy, policy.init(problem), TWINS[name](policy, problem))

    def end_round(self, world: Delayed, tape: DelayedTape, trace: Trace, rng: Any, t: int) -> None:
        """Tell the twin how round `t` of a run in a delayed world ended: what pends, what came, and what is lost."""
        self.twin.pend(t, int(trace.actions[t]))
        for s in range(t + 1):
            lost = tape.delays[s] == LOST
            if s + (world.longest if lost else tape.delays[s]) == t:
                self.twin.settle(s, t)
                if not lost:
                    self.twin.learn(s, int(trace.actions[s]), float(trace.rewards[s]), t, int(at(rng, s)))
