"""Points of a convex set: a decision is a point, and gradients are its outcome.

    learn(decision, gradient=..., values=..., jacobian=..., loss=...)

`gradient` is that of the loss at the point chosen, `values` are the constraints there, at most 0 where they are kept,
and `jacobian` their gradients, a row each. Without constraints the last two are left out. The loss itself teaches
nothing, and may be left out as well.
"""

import math
from typing import Any

import numpy as np

from driftwise.core.adapter import NOTHING, Adapter, Examples, Nothing, single_key
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import packed, unpacked
from driftwise.core.family import check_fit
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Problem, Slopes
from driftwise.core.validation import finite, number, whole
from driftwise.errors import ParameterError, RewardError, StateError
from driftwise.families.convex.problem import Convex
from driftwise.families.convex.projections import LARGEST, convex


class ConvexAdapter(Adapter[Nothing, Floats, int, Floats, Slopes]):
    """Between a program and policies that choose points."""

    outcome_fields = ("gradient", "values", "jacobian", "loss")
    counts = False
    context = NOTHING

    def __init__(self, policy: Policy, problem: Problem, registry: ArmRegistry) -> None:
        super().__init__(policy, problem, registry)
        dim, count = problem.dim, int(problem.structure.constraints[0])
        slopes = Slopes(0.0, np.zeros(dim), np.zeros(count), np.zeros((count, dim)))
        self.examples = Examples((), np.zeros(dim), (), slopes)

    @classmethod
    def of(cls, policy: Policy, problem: Convex) -> "ConvexAdapter":
        """The points of a problem."""
        structure = convex(problem.whole_domain(), problem.n_constraints, problem.initial_point)
        base = Problem(1, -math.inf, math.inf, horizon=whole("horizon", problem.horizon, low=0), family=problem.kind)
        base = base._replace(dim=structure.domain.dim, structure=structure)
        check_fit(policy, base)
        return cls(policy, base, problem.arm_registry())

    def describe(self) -> str:
        """How many coordinates points have."""
        return f"points of {self.problem.dim} coordinates"

    def read_request(self, t: int, request: dict[str, Any]) -> Nothing:
        """A decision takes no arguments."""
        self.check_request(request)
        return NOTHING

    def publish(self, index: Floats, context: Nothing) -> tuple[object, int, Floats]:
        """The point as plain numbers; a copy of it is stored."""
        return tuple(index.tolist()), 0, index.copy()

    def index_of(self, action: object) -> Floats:
        """The point itself, even outside the domain."""
        point = finite("the point of override", action, self.examples.index.shape)
        if np.abs(point).max() > LARGEST:
            raise ParameterError(
                f"the point of override has a coordinate of {np.abs(point).max():g}, beyond {LARGEST:g}"
            )
        return point

    def locate(self, key: int, row: Floats) -> tuple[Floats, Nothing] | None:
        """The point that was stored."""
        return row, NOTHING

    def read_outcome(self, outcome: dict[str, Any]) -> Slopes:
        """What is known of the loss and the constraints at the point."""
        self.check_fields(outcome)
        like = self.examples.outcome
        if "gradient" not in outcome:
            raise RewardError(f"gradient is missing: {self.name} learns from the gradient of the loss at its point")
        missing = [name for name in ("values", "jacobian") if name not in outcome]
        if missing and len(like.values):
            raise RewardError(f"{missing[0]} is missing: this problem has {len(like.values)} constraints")
        return Slopes(
            -self._loss(outcome.get("loss", 0.0)),
            self._numbers("gradient", outcome["gradient"], like.gradient),
            self._numbers("values", outcome.get("values", like.values), like.values),
            self._numbers("jacobian", outcome.get("jacobian", like.jacobian), like.jacobian),
        )

    @staticmethod
    def _loss(loss: object) -> float:
        try:
            return number("loss", loss)
        except ParameterError as error:
            raise RewardError(str(error)) from None

    @staticmethod
    def _numbers(name: str, values: object, like: Floats) -> Floats:
        try:
            numbers = finite(name, values, like.shape)
        except ParameterError as error:
            raise RewardError(str(error)) from None
        if np.abs(numbers).max(initial=0.0) > LARGEST:
            raise RewardError(f"{name} holds {np.abs(numbers).max():g}: numbers beyond {LARGEST:g} teach nothing")
        return numbers

    def encode_rows(self, rows: list[Floats]) -> list[Packed]:
        """The points of pending decisions, all in one matrix."""
        return [packed("points", np.array(rows))] if rows else []

    def decode_rows(self, saved: list[Packed], count: int) -> list[Floats]:
        """The point of each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their points")
        return list(unpacked(saved[0], (count, self.problem.dim)))

    def check_key(self, t: int, key: int | list[int]) -> int:
        """Points have no keys: it is 0."""
        return single_key(t, key)
