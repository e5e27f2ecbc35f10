"""One bare arm, one reward."""

from typing import Any

from driftwise.core.adapter import NOTHING, Adapter, Nothing, finite_range, no_rows, single_key
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.family import check_fit
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed
from driftwise.core.types import Problem
from driftwise.families.multi_armed.problem import MultiArmed


class MultiArmedAdapter(Adapter[Nothing, int, int, Nothing, float]):
    """Between a program and policies that choose one arm."""

    bare = True
    context = NOTHING

    def __init__(self, policy: Policy, problem: Problem, registry: ArmRegistry) -> None:
        super().__init__(policy, problem, registry)
        self.plain_rewards = finite_range(problem)

    @classmethod
    def of(cls, policy: Policy, problem: MultiArmed) -> "MultiArmedAdapter":
        """The arms of a problem."""
        registry = problem.arm_registry()
        base = problem.base(registry)
        check_fit(policy, base)
        return cls(policy, base, registry)

    def read_request(self, t: int, request: dict[str, Any]) -> Nothing:
        """A decision takes no arguments."""
        self.check_request(request)
        return NOTHING

    def index_of(self, action: object) -> int:
        """The index of an arm."""
        return self.registry.index(action)

    def publish(self, index: int, context: Nothing) -> tuple[object, int, Nothing]:
        """The name and the uid of an arm."""
        return self.registry.names[index], self.registry.uids[index], NOTHING

    def locate(self, key: int, row: Nothing) -> tuple[int, Nothing] | None:
        """The index of an arm now; None for an arm that was retired."""
        index = self.registry.index_by_uid.get(key)
        return None if index is None else (index, NOTHING)

    def read_outcome(self, outcome: dict[str, Any]) -> float:
        """The reward."""
        return self.read_reward(outcome)

    def encode_rows(self, rows: list[Nothing]) -> list[Packed]:
        """Nothing is stored of a context."""
        return []

    def decode_rows(self, saved: list[Packed], count: int) -> list[Nothing]:
        """Nothing for each decision."""
        return no_rows(count)

    def check_key(self, t: int, key: int | list[int]) -> int:
        """The uid of an arm."""
        return single_key(t, key)
