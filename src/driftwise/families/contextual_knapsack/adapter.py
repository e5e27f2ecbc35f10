"""Rows of features and budgets: what a contextual adapter and one with budgets do, in one.

The context of a decision is one matrix, a row per action: its features, and then, the same in every row, the rates at
which each resource may be spent until the horizon. A decision keeps the row of its action, so that `update` reads both.

`rows` (`contextual/rows.py`) holds where features come from, `account` (`knapsack/budget_account.py`) what there is to
spend. Actions without names share one account of what pending decisions may cost.

What a retired arm costs still moves prices, though nothing can be learned of it any more: such an outcome reaches the
policy as one of the null action. Policies that remember something of every arm learn nothing of it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from driftwise.core.adapter import Examples
from driftwise.core.arm_registry import ArmRegistry, registry_of
from driftwise.core.encoding import Facts, unpacked
from driftwise.core.family import check_fit, family_of, misfit
from driftwise.core.pinned import PinnedState
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Problem, Spent
from driftwise.core.verbs import appraise
from driftwise.errors import StateError
from driftwise.families.contextual.adapter import ContextualAdapter, rows_of
from driftwise.families.knapsack.adapter import NULL, KnapsackAdapter
from driftwise.families.knapsack.budget_account import BudgetAccount, account_of
from driftwise.families.knapsack.problem import Budgets


class ContextualKnapsackAdapter(KnapsackAdapter):
    """Between a program and policies that choose by features and spend from budgets."""

    request_fields = ("actions", "context")
    arm_fields = ("features",)
    repeats = False  # a matrix for each decision would be much to keep

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        registry: ArmRegistry,
        account: BudgetAccount,
        featured: ContextualAdapter,
    ) -> None:
        super().__init__(policy, problem, registry, account)
        self.featured, self.rows = featured, featured.rows
        width = self.rows.dim + len(account.names)
        self.examples = Examples(np.zeros((1, width)), 0, np.zeros(width), self.examples.outcome)

    @classmethod
    def of(cls, policy: Policy, problem: Any) -> "ContextualKnapsackAdapter":
        """The rows and the budgets of a problem."""
        if family_of(policy) != problem.kind:
            raise misfit(policy, problem.kind)
        registry = problem.arm_registry()
        rows = rows_of(policy, registry, problem.without_budgets())
        base = problem.base(registry)._replace(dim=rows.dim)
        account = account_of(policy, base, problem.without_features())
        base = base._replace(structure=Budgets(account.amounts(base.horizon, 0)))
        check_fit(policy, base)
        return cls(policy, base, registry, account, ContextualAdapter(policy, base, registry, rows))

    def attach(self, bind: Callable[..., Callable[..., Any]], policy: Policy, pinned: PinnedState) -> None:
        """Whether the state remembers something of every arm; and be able to ask the policy for its prices."""
        self.featured.attach(bind, policy, pinned)
        example = policy, pinned, 0, self.examples.context, self.account.spent
        nothing = np.zeros((1, self.rows.dim))
        self._appraise = lambda t, rates, prices: bind(appraise, *example)(
            policy, pinned.address, t, _beside(nothing, rates), prices
        )

    # ---- a decision ----

    def read_request(self, t: int, request: dict[str, Any]) -> Floats:
        """The matrix to choose from, with the rates from round `t` to the end."""
        rates = super().read_request(t, request)
        return _beside(self.rows.matrix(request.get("actions"), request.get("context")), rates)

    def index_of(self, action: object) -> int:
        """The index of an arm or row, or of none."""
        return NULL if action is None else self.featured.index_of(action)

    def check_override(self, index: int, context: Floats) -> None:
        """A row from outside must be one of those offered."""
        self.featured.check_override(index, context)

    def publish(self, index: int, context: Floats) -> tuple[object, int, Floats]:
        """The arm or row, whose cost is reserved; None for the null action, which costs nothing."""
        if index < 0:
            return None, NULL, context[index].copy()
        name, key, row = self.featured.publish(index, context[:, : self.rows.dim])
        self.account.pending = self.account.pending.hold(index if self.registry else 0)
        return name, key, np.append(row, context[index, self.rows.dim :])

    def expand(self, row: Floats, index: int) -> Floats:
        """The whole row, where only a part is stored."""
        if index < 0:
            return row
        features, rates = self._parts(row)
        return np.append(self.rows.whole(features, index), rates)

    def context_of(self, row: Floats) -> tuple[float, ...]:
        """The features chosen."""
        return self.featured.context_of(self._parts(row)[0])

    def _parts(self, row: Floats) -> tuple[Floats, Floats]:
        """The features that are stored of a row, and its rates."""
        return row[: self.rows.stored_width], row[self.rows.stored_width :]

    # ---- its outcome ----

    def locate(self, key: int, row: Floats) -> tuple[int, Floats] | None:
        """The row of a retired arm is still learned from; where arms have parameters of their own, only its costs."""
        features, rates = self._parts(row)
        place = self.featured.locate(key, features)
        if place is not None:
            return place[0], np.append(place[1], rates)
        return None if self.featured.keeps_arms else (NULL, np.append(np.zeros(self.rows.dim), rates))

    def _account_index(self, key: int) -> int | None:
        """The index under which the account counts what is pending of an arm; None for one that was retired."""
        return self.registry.index_by_uid.get(key) if self.registry else 0

    def settle(self, t: int, key: int, value: Spent | None) -> None:
        """What was reserved is spent, or given back."""
        if key != NULL:
            costs, account = None if value is None else value.costs, self.account
            account.pending = account.pending.release(self._account_index(key), costs)
            account.spent = account.spent + (account.max_cost if costs is None else costs * account.max_cost)

    def cancel(self, key: int) -> None:
        """A decision that never happened gives back what was reserved for it."""
        self.account.pending = self.account.pending.release(self._account_index(key))

    def translate(self, error: BaseException) -> BaseException:
        """Numbers that a kernel cannot work with are the fault of features."""
        return self.featured.translate(error)

    def describe(self) -> str:
        """The arms, or how many features an action has."""
        return self.featured.describe()

    # ---- arms that come and go, and a problem that changes ----

    def check_arm(self, name: object, options: Mapping[str, Any]) -> None:
        """An arm must bring its features where the others did."""
        self.featured.check_arm(name, options)

    def regrouped(
        self, policy: Policy, registry: ArmRegistry, options: Mapping[str, Any]
    ) -> "ContextualKnapsackAdapter":
        """The rows of other arms, and the same account for them."""
        featured = self.featured.regrouped(policy, registry, options)
        account = super().regrouped(policy, registry, options).account
        return ContextualKnapsackAdapter(policy, featured.problem, registry, account, featured)

    def columns(self, old_indices: list[int]) -> list[int] | None:
        """In the disjoint model the features of an arm move with it."""
        return self.featured.columns(old_indices)

    def changed(self, t: int, changes: dict[str, Any]) -> "ContextualKnapsackAdapter":
        """The same with other budgets, or another horizon, from round `t` on."""
        plain = super().changed(t, changes)
        featured = ContextualAdapter(self.policy, plain.problem, self.registry, self.rows, self.featured.keeps_arms)
        return ContextualKnapsackAdapter(self.policy, plain.problem, self.registry, plain.account, featured)

    # ---- bytes ----

    def encode(self) -> tuple[Facts, list[Packed]]:
        """Where rows come from, and the account."""
        (facts, arrays), (more, own) = super().encode(), self.featured.encode()
        return facts | more, [*arrays, *own]

    @classmethod
    def decode(
        cls, policy: Policy, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "ContextualKnapsackAdapter":
        """The rows and the account that `encode` describes."""
        featured = ContextualAdapter.decode(policy, problem, registry, facts, arrays)
        budgets = {name: array for name, array in arrays.items() if name != "own"}
        plain = KnapsackAdapter.decode(policy, problem, registry or registry_of(1), facts, budgets)
        return cls(policy, problem, registry, plain.account, featured)

    def decode_rows(self, saved: list[Packed], count: int) -> list[Floats]:
        """The features and rates of each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their rows of features")
        return list(unpacked(saved[0], (count, self.rows.stored_width + len(self.account.names))))


def _beside(matrix: Floats, rates: Floats) -> Floats:
    """Every row with the rates after its features."""
    return np.hstack([matrix, np.broadcast_to(rates, (len(matrix), len(rates)))])
