"""Several arms at once: a decision names them, and each has a reward."""

from typing import Any

import numpy as np

from driftwise.core.adapter import NOTHING, Manner
from driftwise.core.arm_registry import Roster
from driftwise.core.types import Problem
from driftwise.errors import ArmError, RewardError, StateError


class Slates(Manner):
    """The manner of policies that fill slates."""

    tells = ("rewards",)

    def __init__(self, policy: Any, problem: Problem, roster: Roster) -> None:
        super().__init__(policy, problem, roster)
        self.answers = np.zeros(problem.slate, np.int64), (), np.zeros(problem.slate)

    def choose(self, place: Any, shown: Any) -> tuple[Any, Any, Any]:
        """The names in the slate."""
        places = place.tolist()
        names, numbers = self.roster.names, self.roster.numbers
        return tuple(names[each] for each in places), tuple(numbers[each] for each in places), NOTHING

    def place_of(self, action: Any) -> Any:
        """Where the items of a slate are that was filled elsewhere."""
        size = self.problem.slate
        if not isinstance(action, tuple | list) or len(action) != size or len({*map(repr, action)}) != size:
            raise ArmError(f"{action!r} is not a slate of {size} different items")
        return np.array([self.roster.place(each) for each in action], np.int64)

    def find(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """Where the items are now; a slate with an item that was retired teaches nothing."""
        places = [self.roster.places.get(each) for each in chosen]
        return None if None in places else (np.array(places, np.int64), NOTHING)

    def read(self, told: dict[str, Any]) -> Any:
        """The reward of each item, in the order of the slate."""
        if "reward" in told and "rewards" in told:
            raise RewardError("reward and rewards were both given: a slate has rewards, one per item")
        given: Any = told.pop("reward") if "reward" in told else told.get("rewards")
        self.only(told)
        try:
            values = [self.reward(each) for each in given]
        except TypeError:
            raise RewardError(f"rewards={given!r} is not a list of {self.problem.slate}, one per item") from None
        if len(values) != self.problem.slate:
            raise RewardError(f"there are {len(values)} rewards for a slate of {self.problem.slate} items")
        return np.array(values)

    def check_kept(self, t: int, chosen: Any) -> Any:
        """The items, as they came from paper."""
        if not isinstance(chosen, list) or len(chosen) != self.problem.slate:
            raise StateError(f"the saved decision {t} does not fit a slate of {self.problem.slate}")
        return tuple(chosen)
