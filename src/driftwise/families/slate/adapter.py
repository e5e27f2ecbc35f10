"""Several arms at once: a decision names them, and each has a reward."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.core.adapter import NOTHING, Adapter, Examples
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.family import check_fit
from driftwise.core.types import Problem
from driftwise.core.validation import whole
from driftwise.errors import ArmError, RewardError, StateError
from driftwise.families.slate.problem import Slate


class SlateAdapter(Adapter):
    """Between a program and policies that fill slates."""

    outcome_fields = ("rewards",)
    counts = False

    def __init__(self, policy: Any, problem: Problem, registry: ArmRegistry) -> None:
        super().__init__(policy, problem, registry)
        self.examples = Examples((), np.zeros(problem.slate, np.int64), (), np.zeros(problem.slate))

    @classmethod
    def of(cls, policy: Any, problem: Slate) -> "SlateAdapter":
        """The items of a problem."""
        registry = problem.arm_registry()
        size = whole("slate_size", problem.slate_size, high=len(registry))
        base = problem.base(registry)._replace(slate=size)
        check_fit(policy, base)
        return cls(policy, base, registry)

    def publish(self, place: Any, context: Any) -> tuple[Any, Any, Any]:
        """The names in the slate."""
        places = place.tolist()
        names, numbers = self.registry.names, self.registry.numbers
        return tuple(names[each] for each in places), tuple(numbers[each] for each in places), NOTHING

    def index_of(self, action: Any) -> Any:
        """Where the items of a slate are that was filled elsewhere."""
        size = self.problem.slate
        if not isinstance(action, tuple | list) or len(action) != size or len({*map(repr, action)}) != size:
            raise ArmError(f"{action!r} is not a slate of {size} different items")
        return np.array([self.registry.place(each) for each in action], np.int64)

    def locate(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """Where the items are now; a slate with an item that was retired teaches nothing."""
        places = [self.registry.places.get(each) for each in chosen]
        return None if None in places else (np.array(places, np.int64), NOTHING)

    def read_outcome(self, outcome: dict[str, Any]) -> Any:
        """The reward of each item, in the order of the slate."""
        if "reward" in outcome and "rewards" in outcome:
            raise RewardError("reward and rewards were both given: a slate has rewards, one per item")
        given: Any = outcome.pop("reward") if "reward" in outcome else outcome.get("rewards")
        self.check_fields(outcome)
        in_order: Any = None if isinstance(given, Mapping) else given  # a mapping says nothing of the order
        try:
            values = [self.reward(each) for each in in_order]
        except TypeError:
            raise RewardError(f"rewards={given!r} is not a list of {self.problem.slate}, one per item") from None
        if len(values) != self.problem.slate:
            raise RewardError(f"there are {len(values)} rewards for a slate of {self.problem.slate} items")
        return np.array(values)

    def check_key(self, t: int, chosen: Any) -> Any:
        """The items, as they came from paper."""
        if not isinstance(chosen, list) or len(chosen) != self.problem.slate:
            raise StateError(f"the saved decision {t} does not fit a slate of {self.problem.slate}")
        return tuple(chosen)
