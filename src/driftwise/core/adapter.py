"""Between a program and the compiled verbs: an adapter per family.

An agent holds the round, the policy's state and pending decisions. Its adapter turns the requests and outcomes of a
program into what kernels read, and choices of kernels into actions a program knows. `Adapter` is the base of all; its
type parameters are the context, the choice, the key, the row and the outcome of the family.

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
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import Facts
from driftwise.core.pinned import PinnedState
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed
from driftwise.core.types import Problem
from driftwise.core.validation import number, to_float, whole
from driftwise.errors import FeatureError, ParameterError, RewardError, StateError

Nothing = tuple[()]
NOTHING: Nothing = ()

ContextT = TypeVar("ContextT")  # what `select` reads
ChoiceT = TypeVar("ChoiceT")  # what `select` chooses: an index, indices, a point
KeyT = TypeVar("KeyT")  # what identifies the choice while its outcome is pending: a uid, or several
RowT = TypeVar("RowT")  # what is stored of the context while the outcome is pending
ValueT = TypeVar("ValueT")  # an outcome, validated


class Examples(NamedTuple):
    """Values of the types that kernels are compiled for: a context, an index, a row, and an outcome."""

    context: Any = ()
    index: Any = 0
    row: Any = ()
    outcome: Any = 0.0


class Adapter(ABC, Generic[ContextT, ChoiceT, KeyT, RowT, ValueT]):
    """What every family's adapter does; a family overrides what it does otherwise.

    `context` is what `select` reads where that never changes, and None where every decision brings its own. `bare` says
    that one arm is chosen and nothing else can fail, so that an agent may skip copies of the state. `quick` says that
    a round takes microseconds; `repeats` that a choice can be repeated from its context, which is not overwritten.
    `plain_rewards` are the bounds of the floats that are an outcome as they are, all of them finite: none where an
    outcome is more than a reward. `name` is what errors call the policy: see `display_name` in `core/family.py`.
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
    context: ContextT | None = None
    examples: Examples = Examples()
    plain_rewards: tuple[float, float] = (math.inf, -math.inf)

    def __init__(self, policy: Policy, problem: Problem, registry: ArmRegistry) -> None:
        self.policy, self.problem, self.registry = policy, problem, registry
        self.name = type(policy).__name__

    @classmethod
    @abstractmethod
    def of(cls, policy: Policy, problem: Any) -> "AnyAdapter":
        """An adapter for a problem value of the family; refuses what does not fit together."""

    def attach(self, bind: Callable[..., Callable[..., Any]], policy: Policy, pinned: PinnedState) -> None:
        """Take what the adapter needs of a policy's state and of its compiled code, before it is used."""

    @property
    def cost_units(self) -> dict[str, float]:
        """The resources that decisions cost, and the amount of each that kernels take for 1."""
        return {}

    # ---- a decision ----

    @abstractmethod
    def read_request(self, t: int, request: dict[str, Any]) -> ContextT:
        """The context of round `t`."""

    def check_request(self, request: Mapping[str, Any]) -> None:
        """Refuse arguments that `decide` does not take."""
        for name in request:
            if name not in self.request_fields:
                fields = " and ".join(f"`{each}`" for each in self.request_fields) or "nothing"
                raise FeatureError(f"{self.name} does not accept `{name}`: decide() takes {fields}")

    def read_override(self, override: object) -> tuple[ChoiceT, float]:
        """The index and the propensity of an action that was chosen outside; nan where the latter is unknown."""
        try:
            pair: tuple[object, object] = tuple(override)  # type: ignore[arg-type, assignment]  # refused below
            action, propensity = pair
        except (TypeError, ValueError):
            raise ParameterError(f"override={override!r} is not a pair of an action and its propensity") from None
        index = self.index_of(action)
        if isinstance(propensity, numbers.Real) and propensity != propensity:
            return index, math.nan
        return index, number("the propensity of override", propensity, above=0.0, below=1.0, closed="]")

    def check_override(self, index: ChoiceT, context: ContextT) -> None:
        """Refuse an action from outside that is not in this context."""

    @abstractmethod
    def index_of(self, action: object) -> ChoiceT:
        """What kernels call an action that a program names."""

    def refine(
        self, index: ChoiceT, propensity: float, context: ContextT, t: int, rng: np.uint64, outside: bool
    ) -> tuple[ChoiceT, float]:
        """The final choice, where it is not the policy's own; one from `outside` stays."""
        return index, propensity

    @abstractmethod
    def publish(self, index: ChoiceT, context: ContextT) -> tuple[object, KeyT, RowT]:
        """The action as a program knows it, its key, which lasts, and its row."""

    def expand(self, row: RowT, index: ChoiceT) -> object:
        """The row as kernels read it."""
        return row

    def context_of(self, row: RowT) -> tuple[Any, ...]:
        """The row as a program reads it in its decision."""
        return NOTHING

    def null_outcome(self) -> object:
        """What the policy learns at once when nothing is chosen; None where it learns nothing."""
        return None

    # ---- its outcome ----

    @abstractmethod
    def locate(self, key: KeyT, row: RowT) -> tuple[ChoiceT, object] | None:
        """The index and the row of a decision, as they are now; None where nothing can be learned from it any more."""

    @abstractmethod
    def read_outcome(self, outcome: dict[str, Any]) -> ValueT:
        """What `update` reads, as far as that does not depend on the decision."""

    def read_reward(self, outcome: dict[str, Any]) -> float:
        """The outcome, where it is one reward."""
        self.check_fields(outcome)
        return self.reward(outcome.get("reward"))

    def check_fields(self, outcome: Mapping[str, Any]) -> None:
        """Refuse arguments that `learn` does not take."""
        for name in outcome:
            if name not in self.outcome_fields:
                fields = ", ".join(f"{each}=..." for each in self.outcome_fields)
                raise RewardError(f"{self.name} does not accept `{name}`: call learn(decision, {fields})")

    def complete(self, value: ValueT, key: KeyT, row: RowT) -> object:
        """What `update` reads, where that depends on the decision."""
        return value

    def settle(self, t: int, key: KeyT, value: ValueT | None) -> None:
        """The decision of round `t` is over, with this outcome; None where it was given up."""

    def cancel(self, key: KeyT) -> None:
        """A decision never happened."""

    def checkpoint(self) -> Any:
        """What decisions and outcomes change in the adapter: values that are replaced, never written into."""
        return None

    def rollback(self, checkpoint: Any) -> None:
        """Restore the adapter as it was at a checkpoint."""

    def translate(self, error: BaseException) -> BaseException:
        """The error that a program gets for one that a kernel raised."""
        return error

    def reward(self, reward: object) -> float:
        """A reward that kernels can trust."""
        try:
            value = to_float(reward)
        except (TypeError, ValueError, OverflowError):
            raise RewardError(f"reward={reward!r} is not a number") from None
        if not math.isfinite(value):
            raise RewardError(f"reward={value} is not finite")
        if not self.problem.low <= value <= self.problem.high:
            low, high = self.problem.low, self.problem.high
            raise RewardError(
                f"reward={value:g} is outside [{low:g}, {high:g}]: declare another range with reward_range"
            )
        return value

    # ---- arms that come and go ----

    def check_arm(self, name: object, options: Mapping[str, Any]) -> None:
        """Refuse an arm with options that the others do not have, or without those that they have."""
        for option in options:
            if option not in self.arm_fields:
                raise FeatureError(f"the arm {name!r} cannot bring `{option}`: the others did not")

    def regrouped(self, policy: Policy, registry: ArmRegistry, options: Mapping[str, Any]) -> "AnyAdapter":
        """An adapter for other arms; one that joined has these options."""
        return type(self)(policy, self.problem._replace(n_arms=len(registry)), registry)

    def columns(self, old_indices: list[int]) -> list[int] | None:
        """Where the features of each arm were before; None where they do not move."""
        return None

    # ---- a problem that changes ----

    def changed(self, t: int, changes: dict[str, Any]) -> "AnyAdapter":
        """An adapter for a changed problem, before round `t`: a copy, so that a change that fails changes nothing."""
        for name in changes:
            if name not in self.change_fields:
                fields = ", ".join(self.change_fields)
                raise ParameterError(f"`{name}` of this problem cannot be changed; allowed: {fields}")
        adapter = copy(self)
        if "horizon" in changes:
            adapter.problem = self.problem._replace(horizon=later_horizon(changes["horizon"], t))
        return adapter

    # ---- what only some families have ----

    def views(self) -> Mapping[str, Callable[[int], Any]]:
        """Attributes that only agents of this family have, by `view_names`: functions of the round to come."""
        return {}

    def describe(self) -> str:
        """What is decided between, for `repr`."""
        return f"arms={self.registry.names}" if len(self.registry) <= 8 else f"{len(self.registry)} arms"

    # ---- bytes ----

    def encode(self) -> tuple[Facts, list[Packed]]:
        """What must be saved of this adapter."""
        return {}, []

    @classmethod
    def decode(
        cls, policy: Policy, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "AnyAdapter":
        """The adapter that `encode` describes; it must fit the problem."""
        return cls(policy, problem, registry)

    @abstractmethod
    def encode_rows(self, rows: list[RowT]) -> list[Packed]:
        """The rows of pending decisions."""

    @abstractmethod
    def decode_rows(self, saved: list[Packed], count: int) -> list[RowT]:
        """The rows of `count` pending decisions."""

    @abstractmethod
    def check_key(self, t: int, key: int | list[int]) -> KeyT:
        """The key of a pending decision, as it was decoded."""


AnyAdapter = Adapter[Any, Any, Any, Any, Any]


def single_key(t: int, key: int | list[int]) -> int:
    """The key of a pending decision where one thing was chosen."""
    if not isinstance(key, int):
        raise StateError(f"the saved decision {t} does not fit a single choice")
    return key


def finite_range(problem: Problem) -> tuple[float, float]:
    """The bounds of rewards, finite even where the problem has none."""
    return max(problem.low, -sys.float_info.max), min(problem.high, sys.float_info.max)


def no_rows(count: int) -> list[Nothing]:
    """The rows of `count` pending decisions, where nothing is stored of a context."""
    return [NOTHING] * count


def later_horizon(horizon: object, t: int) -> int:
    """A horizon that lies ahead of round `t`."""
    rounds = whole("horizon", horizon)
    if rounds <= t:
        raise ParameterError(f"horizon={rounds} has passed: the next round is {t}")
    return rounds
