"""Several arms at once: a decision names them, and each has a reward."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.core.adapter import NOTHING, Adapter, Examples, Nothing, no_rows
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.family import check_fit
from driftwise.core.problem import by_label
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Ints, Problem
from driftwise.core.validation import whole
from driftwise.display.text import agree, counted
from driftwise.errors import ArmError, RewardError, StateError
from driftwise.families.slate.problem import Slate


class SlateAdapter(Adapter[Nothing, Ints, tuple[int, ...], Nothing, Floats]):
    """Between a program and policies that fill slates."""

    outcome_fields = ("rewards",)
    counts = False
    context = NOTHING

    def __init__(self, policy: Policy, problem: Problem, registry: ArmRegistry) -> None:
        super().__init__(policy, problem, registry)
        self.examples = Examples((), np.zeros(problem.slate, np.int64), (), np.zeros(problem.slate))

    @classmethod
    def of(cls, policy: Policy, problem: Slate) -> "SlateAdapter":
        """The items of a problem."""
        registry = problem.arm_registry()
        size = whole("slate_size", problem.slate_size, high=len(registry))
        base = problem.base(registry)._replace(slate=size)
        check_fit(policy, base)
        return cls(policy, base, registry)

    def read_request(self, t: int, request: dict[str, Any]) -> Nothing:
        """A decision takes no arguments."""
        self.check_request(request)
        return NOTHING

    def publish(self, index: Ints, context: Nothing) -> tuple[object, tuple[int, ...], Nothing]:
        """The names and the uids in the slate."""
        indices, names, uids = index.tolist(), self.registry.names, self.registry.uids
        return tuple(names[each] for each in indices), tuple(uids[each] for each in indices), NOTHING

    def index_of(self, action: object) -> Ints:
        """The indices of a slate that was filled outside."""
        size = self.problem.slate
        if not isinstance(action, tuple | list) or len(action) != size or len({*map(repr, action)}) != size:
            raise ArmError(f"{action!r} is not a slate of {size} different items")
        return np.array([self.registry.index(each) for each in action], np.int64)

    def locate(self, key: tuple[int, ...], row: Nothing) -> tuple[Ints, Nothing] | None:
        """The indices of the items now; nothing is learned from a slate with an item that was retired."""
        indices = [self.registry.index_by_uid.get(uid) for uid in key]
        return None if None in indices else (np.array(indices, np.int64), NOTHING)

    def read_outcome(self, outcome: dict[str, Any]) -> Floats:
        """The reward of each item, in the order of the slate."""
        if "reward" in outcome and "rewards" in outcome:
            raise RewardError("reward and rewards were both given: a slate has rewards, one per item")
        rewards: Any = by_label(outcome.pop("reward") if "reward" in outcome else outcome.get("rewards"))
        self.check_fields(outcome)
        in_order: Any = None if isinstance(rewards, Mapping) else rewards  # a mapping has no order
        try:
            values = [self.reward(each) for each in in_order]
        except TypeError:
            raise RewardError(f"rewards={rewards!r} is not a list of {self.problem.slate}, one per item") from None
        if len(values) != self.problem.slate:
            rewards = f"{counted(len(values), 'reward')} {agree(len(values), 'is', 'are')} given"
            raise RewardError(f"{rewards} for a slate of {self.problem.slate} items")
        return np.array(values)

    def encode_rows(self, rows: list[Nothing]) -> list[Packed]:
        """Nothing is stored of a context."""
        return []

    def decode_rows(self, saved: list[Packed], count: int) -> list[Nothing]:
        """Nothing for each decision."""
        return no_rows(count)

    def check_key(self, t: int, key: int | list[int]) -> tuple[int, ...]:
        """The uids of the items."""
        if not isinstance(key, list) or len(key) != self.problem.slate:
            raise StateError(f"the saved decision {t} does not fit a slate of {self.problem.slate}")
        return tuple(key)
