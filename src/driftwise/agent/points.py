"""Points of a convex set: a decision is a point, and what is told of it are gradients.

    learn(decision, gradient=..., values=..., jacobian=..., loss=...)

`gradient` is that of the loss at the point chosen, `values` are the constraints there, at most 0 where they are kept,
and `jacobian` their gradients, a row each. Without constraints the last two are left out. The loss itself teaches
nothing, and may be left out as well.
"""

from typing import Any

import numpy as np

from driftwise.agent.manner import NOTHING, Manner
from driftwise.agent.roster import Roster
from driftwise.agent.saved import packed, unpacked
from driftwise.core.rules import finite, number
from driftwise.core.state import Packed
from driftwise.core.types import Floats, Problem, Slopes
from driftwise.errors import ParameterError, RewardError, StateError
from driftwise.kernels.projections import LARGEST


class Points(Manner):
    """The manner of policies that choose points."""

    tells = ("gradient", "values", "jacobian", "loss")

    def __init__(self, policy: Any, problem: Problem, roster: Roster) -> None:
        if roster:
            raise ParameterError(f"{type(policy).__name__} chooses points of a domain, not arms: leave out the arms")
        super().__init__(policy, problem, roster)
        dim, count = problem.dim, int(problem.setting.constraints[0])
        self.answers = np.zeros(dim), (), Slopes(0.0, np.zeros(dim), np.zeros(count), np.zeros((count, dim)))

    def choose(self, place: Any, shown: Any) -> tuple[Any, Any, Any]:
        """The point as plain numbers; a copy of it is kept."""
        return tuple(place.tolist()), 0, place.copy()

    def place_of(self, action: Any) -> Any:
        """The point itself, be it outside the domain."""
        point = finite("the point of held", action, self.answers[0].shape)
        if np.abs(point).max() > LARGEST:
            raise ParameterError(f"the point of held has a coordinate of {np.abs(point).max():g}, beyond {LARGEST:g}")
        return point

    def find(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """The point that was kept."""
        return row, NOTHING

    def read(self, told: dict[str, Any]) -> Slopes:
        """What is known of the loss and the constraints at the point."""
        self.only(told)
        _, _, asked = self.answers
        if "gradient" not in told:
            raise RewardError(f"gradient is missing: {self.name} learns from the gradient of the loss at its point")
        missing = [name for name in ("values", "jacobian") if name not in told]
        if missing and len(asked.values):
            raise RewardError(f"{missing[0]} is missing: there are {len(asked.values)} constraints to be told of")
        return Slopes(
            -self._loss(told.get("loss", 0.0)),
            self._numbers("gradient", told["gradient"], asked.gradient),
            self._numbers("values", told.get("values", asked.values), asked.values),
            self._numbers("jacobian", told.get("jacobian", asked.jacobian), asked.jacobian),
        )

    @staticmethod
    def _loss(loss: Any) -> float:
        try:
            return number("loss", loss)
        except ParameterError as error:
            raise RewardError(str(error)) from None

    @staticmethod
    def _numbers(name: str, given: Any, like: Floats) -> Floats:
        try:
            numbers = finite(name, given, like.shape)
        except ParameterError as error:
            raise RewardError(str(error)) from None
        if np.abs(numbers).max(initial=0.0) > LARGEST:
            raise RewardError(f"{name} holds {np.abs(numbers).max():g}: numbers beyond {LARGEST:g} teach nothing")
        return numbers

    def pack_rows(self, rows: list[Any]) -> list[Packed]:
        """The points of pending decisions, all in one matrix."""
        return [packed("points", np.array(rows))] if rows else []

    def unpack_rows(self, saved: list[Packed], count: int) -> list[Any]:
        """The point of each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their points")
        return list(unpacked(saved[0], (count, self.problem.dim)))
