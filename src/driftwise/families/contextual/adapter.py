"""Rows of features: a decision chooses one row of a matrix, and keeps that row."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from driftwise.core.adapter import Adapter, Examples, finite_range, single_key
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import Facts, packed, unpacked
from driftwise.core.family import check_fit, family_of, misfit
from driftwise.core.pinned import PinnedState
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed, arrays
from driftwise.core.types import ArmIds, Floats, PerArm, Problem, Scratch
from driftwise.core.validation import whole
from driftwise.core.verbs import ABOUT
from driftwise.errors import ArmError, FeatureError, ParameterError, StateError
from driftwise.families.contextual.problem import Contextual, Disjoint
from driftwise.families.contextual.rows import Rows, reach_of


class ContextualAdapter(Adapter[Floats, int, int, Floats, float]):
    """Between a program and policies that choose by features; `rows` knows where those come from."""

    request_fields = ("actions", "context")
    arm_fields = ("features",)
    repeats = False  # the matrix belongs to the caller

    def __init__(
        self, policy: Policy, problem: Problem, registry: ArmRegistry, rows: Rows, keeps_arms: bool = False
    ) -> None:
        structure = Disjoint() if rows.per_arm else () if isinstance(problem.structure, Disjoint) else problem.structure
        super().__init__(policy, problem._replace(structure=structure), registry)
        self.rows, self.keeps_arms = rows, keeps_arms  # keeps_arms: its state remembers something of every arm
        self.context = None if rows.n_features or rows.context else rows.own
        self.examples = Examples(np.zeros((1, rows.width)), 0, np.zeros(rows.width), 0.0)
        self.plain_rewards = finite_range(problem)

    @classmethod
    def of(cls, policy: Policy, problem: Contextual) -> "ContextualAdapter":
        """The rows of a problem."""
        if family_of(policy) != problem.kind:
            raise misfit(policy, problem.kind)
        registry = problem.arm_registry()
        rows = rows_of(policy, registry, problem, per_arm=has_arm_regressions(policy))
        base = problem.base(registry)._replace(dim=rows.dim)
        check_fit(policy, base)
        return cls(policy, base, registry, rows)

    def attach(self, bind: Callable[..., Callable[..., Any]], policy: Policy, pinned: PinnedState) -> None:
        """Whether the state remembers something of every arm: then arms must have names."""
        shared = [path for path, _ in arrays(pinned.state, but=(Scratch, PerArm, ArmIds))]
        self.keeps_arms = len(list(arrays(pinned.state))) > len(shared)
        if self.keeps_arms and not self.registry:
            raise ParameterError(f"{self.name} remembers something of every arm: name the arms")

    def read_request(self, t: int, request: dict[str, Any]) -> Floats:
        """The matrix to choose from."""
        self.check_request(request)
        return self.rows.matrix(request.get("actions"), request.get("context"))

    def publish(self, index: int, context: Floats) -> tuple[object, int, Floats]:
        """The arm, or the index of the row where arms have no names."""
        row = self.rows.stored_row(context, index)
        if not self.registry:
            return index, index, row
        return self.registry.names[index], self.registry.uids[index], row

    def index_of(self, action: object) -> int:
        """The index of an arm, or of a row where arms have no names."""
        if self.registry:
            return self.registry.index(action)
        if isinstance(action, bool) or not isinstance(action, int | np.integer) or action < 0:
            raise ArmError(f"{action!r} is not the number of a row")
        return int(action)

    def check_override(self, index: int, context: Floats) -> None:
        """A row from outside must be one of those offered."""
        if index >= len(context):
            raise ArmError(f"there is no row {index}: the request has {len(context)}")

    def expand(self, row: Floats, index: int) -> Floats:
        """The whole row, where only a part is stored."""
        return self.rows.whole(row, index)

    def translate(self, error: BaseException) -> BaseException:
        """Numbers that a kernel cannot work with are the fault of features."""
        return FeatureError(str(error)) if isinstance(error, FloatingPointError) else error

    def describe(self) -> str:
        """The arms, or how many features an action has."""
        return super().describe() if self.registry else f"n_features={self.problem.dim}"

    def context_of(self, row: Floats) -> tuple[float, ...]:
        """The features chosen."""
        return tuple(row.tolist())

    def locate(self, key: int, row: Floats) -> tuple[int, Floats] | None:
        """The row of a retired arm is still learned from, unless arms have parameters of their own."""
        index = self.registry.index_by_uid.get(key) if self.registry else key
        if index is None and not self.rows.disjoint and not self.keeps_arms:
            index = 0  # only the row is read
        return None if index is None else (index, self.rows.whole(row, index))

    def read_outcome(self, outcome: dict[str, Any]) -> float:
        """The reward."""
        return self.read_reward(outcome)

    def check_arm(self, name: object, options: Mapping[str, Any]) -> None:
        """An arm must bring its features where the others did."""
        super().check_arm(name, options)
        brings = self.rows.own is not None
        if ("features" in options) != brings:
            raise FeatureError(
                f"the arm {name!r} must bring its features, as the others did"
                if brings
                else f"the arm {name!r} cannot bring features: the others did not"
            )

    def regrouped(self, policy: Policy, registry: ArmRegistry, options: Mapping[str, Any]) -> "ContextualAdapter":
        """The rows of other arms."""
        rows = self.rows.regrouped(registry.names, self.registry.old_indices(registry), options.get("features"))
        problem = self.problem._replace(n_arms=len(registry), dim=rows.dim)
        return ContextualAdapter(policy, problem, registry, rows, self.keeps_arms)

    def columns(self, old_indices: list[int]) -> list[int] | None:
        """In the disjoint model the features of an arm move with it."""
        return self.rows.columns(old_indices)

    def encode(self) -> tuple[Facts, list[Packed]]:
        """Where rows come from, and those that arms brought."""
        own = [] if self.rows.own is None else [packed("own", self.rows.own)]
        return {"given": self.rows.n_features, "context": self.rows.context}, own

    @classmethod
    def decode(
        cls, policy: Policy, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "ContextualAdapter":
        """Rows that were written down; they must fit the problem."""
        own = unpacked(arrays["own"], (len(registry), None)) if "own" in arrays else None
        n_features, context = facts.get("given", 0), facts.get("context", 0)
        if not isinstance(n_features, int) or not isinstance(context, int):
            raise StateError("the saved agent does not say where its features come from")
        rows = Rows(registry.names, own, n_features, context, reach_of(policy), has_arm_regressions(policy))
        if rows.dim != problem.dim:
            raise StateError("the saved arms do not fit the saved problem")
        return cls(policy, problem, registry, rows)

    def encode_rows(self, rows: list[Floats]) -> list[Packed]:
        """All in one matrix."""
        return [packed("rows", np.array(rows))] if rows else []

    def decode_rows(self, saved: list[Packed], count: int) -> list[Floats]:
        """A row for each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their rows of features")
        return list(unpacked(saved[0], (count, self.rows.stored_width)))

    def check_key(self, t: int, key: int | list[int]) -> int:
        """The uid of an arm, or the index of a row."""
        return single_key(t, key)


def has_arm_regressions(policy: Policy) -> bool:
    """Whether a policy keeps a regression per arm where every arm has a parameter of its own."""
    about = ABOUT.get(type(policy))
    return about is not None and about.disjoint


def rows_of(policy: Policy, registry: ArmRegistry, problem: Contextual, per_arm: bool = False) -> Rows:
    """Where the rows of features come from."""
    own: Floats | None = None
    if problem.n_features is None and problem.context_dim is None and not isinstance(problem.arms, Mapping):
        raise ParameterError(
            f"{type(policy).__name__} chooses by features: give arms with their rows, n_features= or context_dim="
        )
    width = 0 if problem.n_features is None else whole("n_features", problem.n_features, high=10**5)
    length = 0 if problem.context_dim is None else whole("context_dim", problem.context_dim, high=10**5)
    if isinstance(problem.arms, Mapping):
        if width:
            raise ParameterError(f"n_features={width} is for rows that come with decisions: these arms brought theirs")
        own = Rows.of_arms(problem.arms)
    elif not registry and not width:
        raise ParameterError("arms are missing: give a count or names; or n_features, where rows come with decisions")
    return Rows(registry.names, own, width, length, reach_of(policy), per_arm)
