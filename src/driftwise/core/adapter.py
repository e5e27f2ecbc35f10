"""Between a program and the compiled verbs: an adapter per family.

An agent keeps rounds, the policy's state and pending decisions. Its adapter turns the requests and outcomes of a
program into what kernels read, and choices of kernels into actions a program knows. `Adapter` is the base of all: one
arm is chosen, and one number comes back. What a family does otherwise, its own adapter says.

A decision:
    read_request(t, request)        the context that `select` reads, from the arguments of `decide`
    read_override(override)         the index and propensity of an action that was chosen outside
    refine(index, ...)              the choice that is made, from the choice of the policy
    publish(index, context)         the action as a program knows it; its key, which lasts; and its row
Its outcome:
    read_outcome(outcome)           what `update` reads, from the arguments of `learn`, as far as that needs no decision
    complete(value, key, row)       the rest of it
    locate(key, row)                the index and row of a decision now; None where nothing can be learned from it
    settle(...), cancel(...)        a decision is over, or never happened
Later:
    regrouped(...), changed(...)    an adapter for other arms, or for a changed problem: never the same one changed
    checkpoint(), rollback(...)     undo what a call that failed has changed in the adapter
    encode(), decode(...)           plain facts and arrays, and back
"""

import math
import numbers
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar, NamedTuple

from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import Facts
from driftwise.core.serialization import Packed
from driftwise.core.types import Problem
from driftwise.core.validation import number, whole
from driftwise.errors import FeatureError, ParameterError, RewardError, StateError

NOTHING: Any = ()


class Examples(NamedTuple):
    """Values of the types that kernels are compiled for: a context, an index, a row, and an outcome."""

    context: Any = ()
    index: Any = 0
    row: Any = ()
    outcome: Any = 0.0


class Adapter:
    """One arm of several, and one reward.

    `context` is what `select` reads where that never changes, and None where every decision brings its own. `bare` says
    that nothing but one arm is chosen and nothing can fail, so that an agent may take the short way. `quick` says that
    a round takes microseconds; `repeats` that a choice can be made again from its context, which is not overwritten.
    """

    request_fields: ClassVar[tuple[str, ...]] = ()  # what `decide` takes
    outcome_fields: ClassVar[tuple[str, ...]] = ("reward",)  # what `learn` takes
    arm_fields: ClassVar[tuple[str, ...]] = ()  # what `add_arm` takes beside a name
    change_fields: ClassVar[tuple[str, ...]] = ("horizon",)  # what `change` takes
    view_names: ClassVar[tuple[str, ...]] = ()  # attributes that only agents of this family have: see `views`
    bare: ClassVar[bool] = False
    quick: ClassVar[bool] = True
    repeats: ClassVar[bool] = True
    counts: ClassVar[bool] = True  # one arm is chosen, so that its propensity can be counted
    context: Any = ()
    examples: Examples = Examples()

    def __init__(self, policy: Any, problem: Problem, registry: ArmRegistry) -> None:
        self.policy, self.problem, self.registry = policy, problem, registry
        self.name = type(policy).__name__

    @classmethod
    def of(cls, policy: Any, problem: Any) -> "Adapter":
        """An adapter for a problem value of the family; refuses what does not fit together."""
        raise NotImplementedError

    def attach(self, bind: Callable[..., Any], policy: Any, state: Any) -> None:
        """Take what the adapter needs of a policy's state and of its compiled code, before it is used."""

    @property
    def cost_units(self) -> dict[str, float]:
        """The resources that decisions cost, and the amount of each that kernels take for 1."""
        return {}

    # ---- a decision ----

    def read_request(self, t: int, request: dict[str, Any]) -> Any:
        """The context of round `t`."""
        self.check_request(request)
        return self.context

    def check_request(self, request: Mapping[str, Any]) -> None:
        """Refuse arguments that `decide` does not take."""
        for name in request:
            if name not in self.request_fields:
                fields = " and ".join(f"`{each}`" for each in self.request_fields) or "nothing"
                raise FeatureError(f"{self.name} does not accept `{name}`: decide() takes {fields}")

    def read_override(self, override: Any) -> tuple[Any, float]:
        """The index and the propensity of an action that was chosen outside; nan where nobody knows the latter."""
        try:
            action, propensity = override
        except (TypeError, ValueError):
            raise ParameterError(f"override={override!r} is not a pair of an action and its propensity") from None
        index = self.index_of(action)
        if isinstance(propensity, numbers.Real) and propensity != propensity:
            return index, math.nan
        return index, number("the propensity of override", propensity, above=0.0, below=1.0, closed="]")

    def check_override(self, index: Any, context: Any) -> None:
        """Refuse an action from outside that is not in this context."""

    def index_of(self, action: Any) -> Any:
        """The index of an action."""
        return self.registry.place(action)

    def refine(self, index: Any, propensity: float, context: Any, t: int, rng: Any, outside: bool) -> tuple[Any, float]:
        """The choice that is made, where it is not the policy's own; one from `outside` stays."""
        return index, propensity

    def publish(self, index: Any, context: Any) -> tuple[Any, Any, Any]:
        """The action as a program knows it, its lasting key, and its row."""
        return self.registry.names[index], self.registry.numbers[index], NOTHING

    def expand(self, row: Any, index: Any) -> Any:
        """The row as kernels read it."""
        return row

    def context_of(self, row: Any) -> Any:
        """What a program learns of the row of its decision."""
        return NOTHING

    def null_outcome(self) -> Any:
        """What the policy learns at once when nothing is chosen; None where it learns nothing."""
        return None

    # ---- its outcome ----

    def locate(self, key: Any, row: Any) -> tuple[Any, Any] | None:
        """The index and the row of a decision, as they are now; None where nothing can be learned from it any more."""
        index = self.registry.places.get(key)
        return None if index is None else (index, NOTHING)

    def read_outcome(self, outcome: dict[str, Any]) -> Any:
        """What `update` reads."""
        self.check_fields(outcome)
        return self.reward(outcome.get("reward"))

    def check_fields(self, outcome: Mapping[str, Any]) -> None:
        """Refuse arguments that `learn` does not take."""
        for name in outcome:
            if name not in self.outcome_fields:
                fields = ", ".join(f"{each}=..." for each in self.outcome_fields)
                raise RewardError(f"{self.name} does not accept `{name}`: call learn(decision, {fields})")

    def complete(self, value: Any, key: Any, row: Any) -> Any:
        """What `update` reads, where that depends on the decision."""
        return value

    def settle(self, t: int, key: Any, value: Any) -> None:
        """The decision of round `t` is over, with this outcome; None where it was given up."""

    def cancel(self, key: Any) -> None:
        """A decision never happened."""

    def checkpoint(self) -> Any:
        """What decisions and outcomes change in the adapter: values that are replaced, never written into."""
        return None

    def rollback(self, checkpoint: Any) -> None:
        """Make the adapter what it was at a checkpoint."""

    def translate(self, error: BaseException) -> BaseException:
        """The error that a program gets for one that a kernel raised."""
        return error

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

    def check_arm(self, name: Any, options: Mapping[str, Any]) -> None:
        """Refuse an arm with options that the others do not have, or without those that they have."""
        for option in options:
            if option not in self.arm_fields:
                raise FeatureError(f"the arm {name!r} cannot bring `{option}`: the others did not")

    def regrouped(self, policy: Any, registry: ArmRegistry, options: Mapping[str, Any]) -> "Adapter":
        """An adapter for other arms; one that joined has these options."""
        return type(self)(policy, self.problem._replace(n_arms=len(registry)), registry)

    def columns(self, kept: list[int]) -> list[int] | None:
        """Where the features of each arm were before; None where they do not move."""
        return None

    # ---- a problem that changes ----

    def changed(self, t: int, changes: dict[str, Any]) -> "Adapter":
        """An adapter for a changed problem, before round `t`: a copy, so that a change that fails changes nothing."""
        for name in changes:
            if name not in self.change_fields:
                fields = ", ".join(self.change_fields)
                raise ParameterError(f"`{name}` of this problem cannot be changed; allowed: {fields}")
        adapter = copy(self)
        if "horizon" in changes:
            adapter.problem = self.problem._replace(horizon=later_horizon(changes["horizon"], t))
        return adapter

    # ---- what a program may ask of some families only ----

    def views(self) -> Mapping[str, Callable[[int], Any]]:
        """Attributes that only agents of this family have, by `view_names`: functions of the round to come."""
        return {}

    def describe(self) -> str:
        """What is decided between, for `repr`."""
        return f"arms={self.registry.names}"

    # ---- bytes ----

    def encode(self) -> tuple[Facts, list[Packed]]:
        """What must be kept of this adapter."""
        return {}, []

    @classmethod
    def decode(
        cls, policy: Any, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "Adapter":
        """The adapter that `encode` describes; it must fit the problem."""
        return cls(policy, problem, registry)

    def encode_rows(self, rows: list[Any]) -> list[Packed]:
        """The rows of pending decisions."""
        return []

    def decode_rows(self, packed: list[Packed], count: int) -> list[Any]:
        """The rows of `count` pending decisions."""
        return [NOTHING] * count

    def check_key(self, t: int, key: Any) -> Any:
        """The key of a pending decision, as it was decoded."""
        if not isinstance(key, int):
            raise StateError(f"the saved decision {t} does not fit a single choice")
        return key


def later_horizon(horizon: Any, t: int) -> int:
    """A horizon that lies ahead of round `t`."""
    rounds = whole("horizon", horizon)
    if rounds <= t:
        raise ParameterError(f"horizon={rounds} has passed: {t} rounds have been decided already")
    return rounds
