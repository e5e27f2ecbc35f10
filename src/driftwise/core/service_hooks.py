"""What a decision service asks of a family: fields in JSON, limits, defaults, statistics, explanations.

The base class answers for one arm and one reward; a family overrides what it does otherwise.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from driftwise.core.adapter import AnyAdapter
from driftwise.core.problem import ProblemValue
from driftwise.core.protocols import Policy
from driftwise.core.schemas import ChangeFields, Fields, RewardFields
from driftwise.errors import ParameterError

MAX_NUMBERS = 10**7  # in a window of features, or in a matrix of pairs of features
MAX_WINDOW = 10**6
MAX_SAMPLED = 10**6  # arms looked at to count one propensity


class Track(NamedTuple):
    """Numbers that a family records over time, with their labels.

    Of two bins of time, the `last` numbers or the `sum` stands for both. A `mean` records values one by one.
    """

    name: str
    join: Literal["last", "sum", "mean"]
    labels: list[str]


class ServiceHooks:
    """Of problems in which one arm is chosen and one reward comes back."""

    request: ClassVar[type[Fields]] = Fields
    outcome: ClassVar[type[Fields]] = RewardFields
    answer: ClassVar[type[Fields]] = Fields
    arm: ClassVar[type[Fields]] = Fields  # what an arm that is added brings
    changes: ClassVar[type[Fields]] = ChangeFields  # what can change of the problem
    sticky: ClassVar[bool] = True  # a unit can keep its arm
    one_arm: ClassVar[bool] = True  # a decision earns what one arm earns
    samples: ClassVar[int] = 1000  # choices that an explanation counts
    no_estimate: ClassVar[str | None] = None  # why logged decisions cannot tell what another policy would earn

    # ---- limits and defaults ----

    def check_limits(self, policy: Policy, problem: ProblemValue, propensity_samples: int) -> None:
        """Refuse what needs more memory or time than a service gives to one deployment."""
        n_arms, dim = len(problem.arm_registry()) or 1, self.dim(problem)
        if propensity_samples * n_arms > MAX_SAMPLED:
            raise ParameterError(
                f"propensity_samples={propensity_samples} of {n_arms} arms exceed the limit of {MAX_SAMPLED // n_arms}"
            )
        window = getattr(policy, "window", 1)
        if isinstance(window, int | float) and (window > MAX_WINDOW or window * dim > MAX_NUMBERS):
            raise ParameterError(f"window={window} of {dim} features exceeds the limit of {MAX_NUMBERS // dim}")
        if dim * dim > MAX_NUMBERS:
            raise ParameterError(f"{dim} features, arms and context multiplied, exceed the limit of 3162")

    def dim(self, problem: ProblemValue) -> int:
        """How many numbers describe an action."""
        return 1

    def default_outcome(self, problem: ProblemValue) -> dict[str, Any] | None:
        """The outcome of a decision whose reward does not come in time; None where there can be none."""
        return {"reward": 0.0}

    def check_window(self, *, in_seconds: bool) -> None:
        """Refuse a window that cannot be: one in seconds, or one in rounds."""

    def affords(self, adapter: AnyAdapter) -> bool:
        """Whether one more decision can be made without asking the policy."""
        return True

    # ---- what is answered ----

    def status(self, adapter: AnyAdapter, t: int) -> dict[str, Any]:
        """The part of a deployment's status that only this family has."""
        return {}

    def answer_of(self, adapter: AnyAdapter, t: int) -> dict[str, Any]:
        """What is answered with a decision beside the action."""
        return {}

    def explain(self, adapter: AnyAdapter, t: int, arms: Sequence[dict[str, Any]]) -> None:
        """Add to what is said of every arm at the latest decision."""

    def window(self, adapter: AnyAdapter, t: int) -> dict[str, Any] | None:
        """Which rounds the policy looked at before round `t`; None where it looks at all."""
        size = getattr(adapter.policy, "window", None)
        if not isinstance(size, int):
            return None
        return {"rounds": size, "from_round": max(0, t - size), "to_round": t - 1}

    def same_outcome(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether two outcomes are the same."""
        return one == other

    # ---- statistics ----

    def tracks(self, problem: ProblemValue) -> list[Track]:
        """What is recorded over time beside choices and rewards."""
        return []

    def rewards(self, action: object, outcome: Mapping[str, Any]) -> tuple[list[Any], list[float]] | None:
        """The arms of a decision and what each earned; None where rewards are not those of single arms."""
        items = list(action) if isinstance(action, list | tuple) else [action]
        rewards = outcome.get("rewards")
        return items, [outcome.get("reward", 0.0)] * len(items) if rewards is None else list(rewards)

    def earned(self, outcome: Mapping[str, Any], value: Any) -> float | None:
        """What a decision earned where that is no arm's reward; `value` is what the policy reads of the outcome."""
        return None

    def uniform_share(self, n_arms: int, request: Mapping[str, Any]) -> float | None:
        """The propensity that uniform choice would give each action; None where it is no fair alternative."""
        return 1.0 / n_arms if n_arms else None

    def at_outcome(self, earned: float | None) -> dict[str, list[float]]:
        """Numbers to record when an outcome comes, by the name of a track."""
        return {}

    def at_decision(self, adapter: AnyAdapter, t: int, request: Mapping[str, Any]) -> dict[str, list[float]]:
        """Numbers to record when a decision is made, by the name of a track."""
        return {}

    def at_event(self, adapter: AnyAdapter, t: int) -> dict[str, list[float]]:
        """Numbers to record after whatever happened, by the name of a track."""
        return {}
