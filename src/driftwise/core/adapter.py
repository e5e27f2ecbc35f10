"""How an agent is asked and answered: what it is shown, what it answers with, what it is told. A manner per family.

The agent keeps rounds, the state and pending decisions; its manner turns what a program says into what kernels read,
and back. `Manner` itself is that of bare arms: nothing is shown, one arm is chosen, one number is told. The others say
what they do otherwise.

    show(t, asked)           what `select` is shown, from what was given to `decide`
    choose(place, shown)     the action as the program knows it, what to keep of it by lasting numbers, and its row
    place_of(action)         what `choose` was given for an action that is known
    override(held)           the place and the propensity of a choice that was made elsewhere
    find(chosen, row)        where what was kept is now; None when nothing can be learned of it any more
    read(told)               what `update` is told, from what was given to `learn`
    complete(value, ...)     the same, where it takes the decision to know
    settle(...)              a decision is over: answered, given up, or called off
    checkpoint()             what `choose` and `settle` change of the manner itself; `rollback` brings it back
"""

import math
import numbers
from typing import Any

from driftwise.core.arm_registry import Roster
from driftwise.core.encoding import Facts
from driftwise.core.serialization import Packed
from driftwise.core.types import Problem
from driftwise.core.validation import number
from driftwise.errors import FeatureError, ParameterError, RewardError, StateError

NOTHING: Any = ()


class Manner:
    """Bare arms. `shown` is what never changes of what `select` is shown; None where something must be given."""

    takes: tuple[str, ...] = ()  # what `decide` may be given
    tells: tuple[str, ...] = ("reward",)  # what `learn` may be given
    shown: Any = ()
    answers: tuple[Any, Any, Any] = (0, (), 0.0)  # an example of a place, a row, and what `update` is told

    @property
    def cost_units(self) -> dict[str, float]:
        """The resources that decisions cost, and the amount of each that kernels take for 1."""
        return {}

    def __init__(self, policy: Any, problem: Problem, roster: Roster) -> None:
        self.name, self.problem, self.roster = type(policy).__name__, problem, roster

    # ---- a decision ----

    def show(self, t: int, asked: dict[str, Any]) -> Any:
        """What is shown to choose from in round `t`."""
        self.refuse(asked)
        return self.shown

    def refuse(self, asked: dict[str, Any]) -> None:
        """Refuse what `decide` cannot be given."""
        for name in asked:
            if name not in self.takes:
                rest = f"decide() takes {' and '.join(self.takes) or 'none'}"
                raise FeatureError(f"{self.name} looks at no {_WORDS[name]}: {rest}")

    def choose(self, place: Any, shown: Any) -> tuple[Any, Any, Any]:
        """The action as it is told, what is kept of it, and its row."""
        return self.roster.names[place], self.roster.numbers[place], NOTHING

    def place_of(self, action: Any) -> Any:
        """Where an action is that was settled elsewhere: what `choose` would have been given for it."""
        return self.roster.place(action)

    def override(self, held: Any) -> tuple[Any, float]:
        """The place and the propensity of a choice that was made elsewhere."""
        try:
            action, propensity = held
        except (TypeError, ValueError):
            raise ParameterError(f"held={held!r} is not a pair of an action and its propensity") from None
        if isinstance(propensity, numbers.Real) and propensity != propensity:
            return self.place_of(action), math.nan  # nobody knows
        return self.place_of(action), number("the propensity of held", propensity, above=0.0, below=1.0, closed="]")

    def told_row(self, row: Any) -> Any:
        """What a program is told of the row of its decision."""
        return NOTHING

    # ---- its outcome ----

    def find(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """The place and row of what was kept, as they are now."""
        place = self.roster.places.get(chosen)
        return None if place is None else (place, NOTHING)

    def read(self, told: dict[str, Any]) -> Any:
        """What `update` is told."""
        self.only(told)
        return self.reward(told.get("reward"))

    def only(self, told: dict[str, Any]) -> None:
        """Refuse what `learn` cannot be given."""
        for name in told:
            if name not in self.tells:
                known = ", ".join(f"{each}=..." for each in self.tells)
                raise RewardError(f"{name} means nothing to {self.name}: it is told learn(decision, {known})")

    def complete(self, value: Any, chosen: Any, row: Any) -> Any:
        """What `update` is told, where that depends on the decision."""
        return value

    def settle(self, t: int, chosen: Any, value: Any) -> None:
        """The decision of round `t` is over, with this outcome; None when it was given up."""

    def checkpoint(self) -> Any:
        """What decisions and outcomes change of this manner: values that are replaced, never written into."""
        return None

    def rollback(self, checkpoint: Any) -> None:
        """Make it what it was at a checkpoint."""

    def reward(self, reward: Any) -> float:
        """A reward that kernels can trust."""
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            raise RewardError(f"reward={reward!r} is not a number") from None
        if not math.isfinite(value):
            raise RewardError(f"reward={value} is not finite")
        if not self.problem.low <= value <= self.problem.high:
            raise RewardError(f"reward={value:g} is outside [{self.problem.low:g}, {self.problem.high:g}]")
        return value

    # ---- arms that come and go ----

    def check_features(self, name: Any, features: Any) -> None:
        """Refuse an arm that brings what the others did not, or does not bring what they did."""
        if features is not None:
            raise FeatureError(f"the arm {name!r} cannot bring features: the others did not")

    def regrouped(self, policy: Any, roster: Roster, features: Any) -> "Manner":
        """The same with other arms."""
        return type(self)(policy, self.problem._replace(n_arms=len(roster)), roster)

    def columns(self, kept: list[int]) -> list[int] | None:
        """Where the features of each arm were before; None when they do not move."""
        return None

    # ---- on paper ----

    def paper(self) -> tuple[Facts, list[Packed]]:
        """What must be written down of this manner."""
        return {}, []

    @classmethod
    def from_paper(
        cls, policy: Any, problem: Problem, roster: Roster, facts: Facts, arrays: dict[str, Packed]
    ) -> "Manner":
        """A manner that was written down."""
        return cls(policy, problem, roster)

    def pack_rows(self, rows: list[Any]) -> list[Packed]:
        """The rows of pending decisions, ready to travel."""
        return []

    def unpack_rows(self, saved: list[Packed], count: int) -> list[Any]:
        """The rows of `count` pending decisions that have travelled."""
        return [NOTHING] * count

    def check_kept(self, t: int, chosen: Any) -> Any:
        """What was kept of a decision, as it came from paper."""
        if not isinstance(chosen, int):
            raise StateError(f"the saved decision {t} does not fit a single choice")
        return chosen


_WORDS = {"actions": "features", "context": "features", "states": "states"}


def no_features(policy: Any, said: list[str]) -> None:
    """Refuse features for a policy that looks at none."""
    if said:
        raise ParameterError(f"{type(policy).__name__} looks at no features: leave out {' and '.join(said)}")
