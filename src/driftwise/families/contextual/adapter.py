"""Rows of features: a matrix is shown, one of its rows is chosen, and the decision keeps that row."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.core.adapter import Manner
from driftwise.core.arm_registry import Roster
from driftwise.core.encoding import Facts, packed, unpacked
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Problem
from driftwise.core.validation import whole
from driftwise.errors import ArmError, FeatureError, ParameterError, StateError
from driftwise.families.contextual.rows import Rows, reach_of


class Features(Manner):
    """The manner of policies that choose by features; `rows` knows where those come from."""

    takes = ("actions", "context")

    def __init__(self, policy: Any, problem: Problem, roster: Roster, rows: Rows, keeps_arms: bool = False) -> None:
        super().__init__(policy, problem, roster)
        self.rows, self.keeps_arms = rows, keeps_arms  # keeps_arms: its state remembers something of every arm
        self.shown = None if rows.given or rows.context else rows.own
        self.answers = 0, np.zeros(rows.dim), 0.0

    def show(self, t: int, asked: dict[str, Any]) -> Any:
        """The matrix to choose from."""
        self.refuse(asked)
        return self.rows.show(asked.get("actions"), asked.get("context"))

    def choose(self, place: Any, shown: Any) -> tuple[Any, Any, Any]:
        """The arm, or the number of the row where arms have no names."""
        row = self.rows.kept(shown, place)
        if not self.roster:
            return place, place, row
        return self.roster.names[place], self.roster.numbers[place], row

    def place_of(self, action: Any) -> Any:
        """The place of an arm; where arms have no names, the number of a row is its place."""
        if self.roster:
            return super().place_of(action)
        if isinstance(action, bool) or not isinstance(action, int | np.integer) or action < 0:
            raise ArmError(f"{action!r} is not the number of a row")
        return int(action)

    def told_row(self, row: Any) -> Any:
        """The features chosen."""
        return tuple(row.tolist())

    def find(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """Features go on teaching when their arm is gone, unless arms have parameters of their own."""
        place = self.roster.places.get(chosen) if self.roster else chosen
        if place is None and not self.rows.disjoint and not self.keeps_arms:
            place = 0  # the row alone teaches
        return None if place is None else (place, self.rows.whole(row, place))

    def check_features(self, name: Any, features: Any) -> None:
        """An arm must bring its features where the others did."""
        brings = self.rows.own is not None
        if (features is None) == brings:
            raise FeatureError(
                f"the arm {name!r} must bring its features, as the others did"
                if brings
                else f"the arm {name!r} cannot bring features: the others did not"
            )

    def regrouped(self, policy: Any, roster: Roster, features: Any) -> "Features":
        """The rows of other arms."""
        rows = self.rows.regrouped(roster.names, self.roster.kept(roster), features)
        problem = self.problem._replace(n_arms=len(roster), dim=rows.dim)
        return Features(policy, problem, roster, rows, self.keeps_arms)

    def columns(self, kept: list[int]) -> list[int] | None:
        """In the disjoint model the features of an arm move with it."""
        return self.rows.columns(kept)

    def paper(self) -> tuple[Facts, list[Packed]]:
        """Where rows come from, and those that arms brought."""
        own = [] if self.rows.own is None else [packed("own", self.rows.own)]
        return {"given": self.rows.given, "context": self.rows.context}, own

    @classmethod
    def from_paper(
        cls, policy: Any, problem: Problem, roster: Roster, facts: Facts, arrays: dict[str, Packed]
    ) -> "Features":
        """Rows that were written down; they must fit the problem."""
        own = unpacked(arrays["own"], (len(roster), None)) if "own" in arrays else None
        given, context = facts.get("given", 0), facts.get("context", 0)
        if not isinstance(given, int) or not isinstance(context, int):
            raise StateError("the saved agent does not say where its features come from")
        rows = Rows(roster.names, own, given, context, reach_of(policy))
        if rows.dim != problem.dim:
            raise StateError("the saved arms do not fit the saved problem")
        return cls(policy, problem, roster, rows)

    def pack_rows(self, rows: list[Any]) -> list[Packed]:
        """All in one matrix."""
        return [packed("rows", np.array(rows))] if rows else []

    def unpack_rows(self, saved: list[Packed], count: int) -> list[Any]:
        """A row for each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their rows of features")
        return list(unpacked(saved[0], (count, self.rows.kept_width)))


def rows_of(policy: Any, roster: Roster, arms: Any, features: int | None, context: int | None) -> Rows:
    """Where the rows of features come from, by what an agent was made with."""
    if not said_of(arms, features, context):
        raise ParameterError(
            f"{type(policy).__name__} chooses by features: give arms with their rows, features= or context="
        )
    width = 0 if features is None else whole("features", features, high=10**5)
    length = 0 if context is None else whole("context", context, high=10**5)
    own: Floats | None = None
    if isinstance(arms, Mapping):
        if width:
            raise ParameterError(f"features={width} is for rows that come with decisions: these arms brought theirs")
        own = Rows.brought(arms)
    return Rows(roster.names, own, width, length, reach_of(policy))


def said_of(arms: Any, features: int | None, context: int | None) -> list[str]:
    """What was said about features when an agent was made."""
    given = {
        "arms with features": isinstance(arms, Mapping) or None,
        f"features={features}": features,
        f"context={context}": context,
    }
    return [what for what, value in given.items() if value is not None]
