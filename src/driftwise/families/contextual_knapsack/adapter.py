"""Rows of features and budgets: what a contextual adapter and one with budgets do, in one.

The context of a decision is one matrix, a row per action: its features, and then, the same in every row, the rates at
which each resource may be spent until the horizon. A decision keeps the row of its action, so that `update` knows both.

`rows` (`contextual/rows.py`) knows where features come from, `purse` (`knapsack/adapter.py`) what there is to spend.
Actions without names share one account of what pending decisions may cost.

What a retired arm costs still moves prices, though nothing can be learned of it any more: such an outcome reaches the
policy as one of the null action. Policies that remember something of every arm learn nothing of it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from driftwise.core.adapter import Examples
from driftwise.core.arm_registry import ArmRegistry, registry_of
from driftwise.core.encoding import Facts, unpacked
from driftwise.core.family import check_fit, family_of
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Problem
from driftwise.core.verbs import appraise
from driftwise.errors import ParameterError, StateError
from driftwise.families.contextual.adapter import ContextualAdapter, rows_of
from driftwise.families.knapsack.adapter import NULL, KnapsackAdapter, Purse, purse_of
from driftwise.families.knapsack.problem import Budgets


class ContextualKnapsackAdapter(KnapsackAdapter):
    """Between a program and policies that choose by features and spend from budgets."""

    request_fields = ("actions", "context")
    arm_fields = ("features",)
    repeats = False  # a matrix for each decision would be much to keep

    def __init__(
        self, policy: Any, problem: Problem, registry: ArmRegistry, purse: Purse, featured: ContextualAdapter
    ) -> None:
        super().__init__(policy, problem, registry, purse)
        self.featured, self.rows = featured, featured.rows
        width = self.rows.dim + len(purse.names)
        self.examples = Examples(np.zeros((1, width)), 0, np.zeros(width), self.examples.outcome)

    @classmethod
    def of(cls, policy: Any, problem: Any) -> "ContextualKnapsackAdapter":
        """The rows and the budgets of a problem."""
        if family_of(policy) != problem.kind:
            raise ParameterError(
                f"{type(policy).__name__} does not choose by features within budgets: give it a problem without both"
            )
        registry = problem.arm_registry()
        rows = rows_of(policy, registry, problem.without_budgets())
        base = problem.base(registry)._replace(dim=rows.dim)
        purse = purse_of(policy, base, problem.without_features())
        base = base._replace(structure=Budgets(purse.amounts(base.horizon, 0)))
        check_fit(policy, base)
        return cls(policy, base, registry, purse, ContextualAdapter(policy, base, registry, rows))

    def attach(self, bind: Callable[..., Any], policy: Any, state: Any) -> None:
        """Whether the state remembers something of every arm; and be able to ask the policy for its prices."""
        self.featured.attach(bind, policy, state)
        example = policy, state, 0, self.examples.context, self.purse.spent
        nothing = np.zeros((1, self.rows.dim))
        self._appraise = lambda t, rates, prices: bind(appraise, *example)(
            policy, state, t, _beside(nothing, rates), prices
        )

    # ---- a decision ----

    def read_request(self, t: int, request: dict[str, Any]) -> Any:
        """The matrix to choose from, with the rates from round `t` to the end."""
        rates = super().read_request(t, request)
        return _beside(self.rows.matrix(request.get("actions"), request.get("context")), rates)

    def index_of(self, action: Any) -> Any:
        """The place of an arm or row, or of none."""
        return NULL if action is None else self.featured.index_of(action)

    def check_override(self, index: Any, context: Any) -> None:
        """A row from outside must be one of those offered."""
        self.featured.check_override(index, context)

    def publish(self, place: Any, context: Any) -> tuple[Any, Any, Any]:
        """The arm or row, whose cost is reserved; None for the null action, which costs nothing."""
        if place < 0:
            return None, NULL, context[place].copy()
        name, key, row = self.featured.publish(place, context[:, : self.rows.dim])
        self.purse.pending = self.purse.pending.hold(place if self.registry else 0)
        return name, key, np.append(row, context[place, self.rows.dim :])

    def expand(self, row: Any, index: Any) -> Any:
        """The whole row, where only a part is kept."""
        if index < 0:
            return row
        features, rates = self._parts(row)
        return np.append(self.rows.whole(features, index), rates)

    def context_of(self, row: Any) -> Any:
        """The features chosen."""
        return self.featured.context_of(self._parts(row)[0])

    def _parts(self, row: Floats) -> tuple[Floats, Floats]:
        """The features that are kept of a row, and its rates."""
        return row[: self.rows.kept_width], row[self.rows.kept_width :]

    # ---- its outcome ----

    def locate(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """Features go on teaching when their arm is gone; where arms have parameters of their own, costs alone do."""
        features, rates = self._parts(row)
        found = self.featured.locate(chosen, features)
        if found is not None:
            return found[0], np.append(found[1], rates)
        return None if self.featured.keeps_arms else (NULL, np.append(np.zeros(self.rows.dim), rates))

    def _account(self, chosen: Any) -> int | None:
        """Where the purse counts what is pending of an arm; None for one that has left."""
        return self.registry.places.get(chosen) if self.registry else 0

    def settle(self, t: int, chosen: Any, value: Any) -> None:
        """What was reserved is spent, or given back."""
        if chosen != NULL:
            costs, purse = None if value is None else value.costs, self.purse
            purse.pending = purse.pending.release(self._account(chosen), costs)
            purse.spent = purse.spent + (purse.most if costs is None else costs * purse.most)

    def cancel(self, chosen: Any) -> None:
        """A decision that never happened gives back what was reserved for it."""
        self.purse.pending = self.purse.pending.release(self._account(chosen))

    def translate(self, error: BaseException) -> BaseException:
        """Numbers that a kernel cannot work with are the fault of features."""
        return self.featured.translate(error)

    def describe(self) -> str:
        """The arms, or how many features an action has."""
        return self.featured.describe()

    # ---- arms that come and go, and a problem that changes ----

    def check_arm(self, name: Any, options: Mapping[str, Any]) -> None:
        """An arm must bring its features where the others did."""
        self.featured.check_arm(name, options)

    def regrouped(self, policy: Any, registry: ArmRegistry, options: Mapping[str, Any]) -> "ContextualKnapsackAdapter":
        """The rows of other arms, and the same purse for them."""
        featured = self.featured.regrouped(policy, registry, options)
        purse = super().regrouped(policy, registry, options).purse
        return ContextualKnapsackAdapter(policy, featured.problem, registry, purse, featured)

    def columns(self, kept: list[int]) -> list[int] | None:
        """In the disjoint model the features of an arm move with it."""
        return self.featured.columns(kept)

    def changed(self, t: int, changes: dict[str, Any]) -> "ContextualKnapsackAdapter":
        """The same with other budgets, or another horizon, from round `t` on."""
        plain = super().changed(t, changes)
        featured = ContextualAdapter(self.policy, plain.problem, self.registry, self.rows, self.featured.keeps_arms)
        return ContextualKnapsackAdapter(self.policy, plain.problem, self.registry, plain.purse, featured)

    # ---- bytes ----

    def encode(self) -> tuple[Facts, list[Packed]]:
        """Where rows come from, and the purse."""
        (facts, arrays), (more, own) = super().encode(), self.featured.encode()
        return facts | more, [*arrays, *own]

    @classmethod
    def decode(
        cls, policy: Any, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "ContextualKnapsackAdapter":
        """Rows and a purse that were written down."""
        featured = ContextualAdapter.decode(policy, problem, registry, facts, arrays)
        budgets = {name: array for name, array in arrays.items() if name != "own"}
        plain = KnapsackAdapter.decode(policy, problem, registry or registry_of(1), facts, budgets)
        return cls(policy, problem, registry, plain.purse, featured)

    def decode_rows(self, saved: list[Packed], count: int) -> list[Any]:
        """The features and rates of each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their rows of features")
        return list(unpacked(saved[0], (count, self.rows.kept_width + len(self.purse.names))))


def _beside(matrix: Floats, rates: Floats) -> Floats:
    """Every row with the rates after its features."""
    return np.hstack([matrix, np.broadcast_to(rates, (len(matrix), len(rates)))])
