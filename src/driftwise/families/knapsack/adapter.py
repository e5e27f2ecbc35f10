"""Budgets that must last: costs are reported with rewards, and nothing is spent that is not there.

Pending decisions have two costs (`reserve.py`): the *maximum*, the most that all of them can cost, and an
*estimate* of what they cost at most, but for a tiny chance.

The promise goes by the maximum. It is *reserved*: where less is left beside it than one more decision can cost at most,
the answer is None, the null arm: wait, or let the budget grow. At any time

    spent + max_cost x pending <= budget          so that spent <= budget, whatever comes, and in whatever order

for a decision adds `max_cost` to the left side only where there is room for it, an outcome replaces `max_cost` by a
cost that is not above it, and no change may bring the budget below the left side. A decision where there is no room
may, at worst, overspend: no rule that uses `max_cost` alone decides more often and keeps the promise. Who can bear a
tiny chance reserves the estimate (`reserve="estimate"`), who wants no promise nothing (`allow_overspend=True`).

Pacing goes by the estimate, always: what may be spent a round is what will be left once pending decisions have cost
that much. Paced by the maximum, a budget would seem to be nearly gone while outcomes are under way.

A decision whose cost is never reported keeps its reservation; `Agent.cancel` gives it back. One that is given up, as
the oldest of too many, counts as having cost the most: the budget is safe, the estimate of the cost is not fed. Choices
that were made outside (`override`) are paid for whatever is left.

Kernels read costs as shares of the most a decision can cost, and rates likewise.
"""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np

from driftwise.core.adapter import Adapter, Examples, single_key
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import Facts, packed, unpacked
from driftwise.core.family import check_fit, family_of
from driftwise.core.pinned import PinnedState
from driftwise.core.problem import by_label
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Problem, Spent
from driftwise.core.validation import to_float
from driftwise.core.verbs import appraise
from driftwise.errors import BudgetError, ParameterError, StateError
from driftwise.families.knapsack.budget_account import Amounts, BudgetAccount, account_of
from driftwise.families.knapsack.problem import Budgets, Knapsack
from driftwise.families.knapsack.reserve import RESERVES, Reserve

NULL = -1


class KnapsackAdapter(Adapter[Floats, int, int, Floats, Spent]):
    """Between a program and policies with budgets. The context of a decision are the rates that are left."""

    outcome_fields = ("reward", "costs")
    change_fields = ("horizon", "budgets")
    view_names = ("remaining", "reserved", "can_pay", "prices")
    _appraise: Callable[..., None]
    context = None

    def __init__(self, policy: Policy, problem: Problem, registry: ArmRegistry, account: BudgetAccount) -> None:
        if problem.low != 0.0:
            raise ParameterError(
                f"reward_range=({problem.low:g}, {problem.high:g}) does not start at 0: "
                "with budgets, to choose nothing is always possible, and pays 0"
            )
        super().__init__(policy, problem, registry)
        self.account = account
        rates = np.zeros(len(account.names))
        self.examples = Examples(rates, 0, rates, Spent(0.0, np.zeros(len(account.names))))
        self._own = family_of(policy) == problem.family

    @classmethod
    def of(cls, policy: Policy, problem: Knapsack) -> "KnapsackAdapter":
        """The arms and the budgets of a problem."""
        registry = problem.arm_registry()
        base = problem.base(registry)
        account = account_of(policy, base, problem)
        base = base._replace(structure=Budgets(account.amounts(base.horizon, 0)))
        check_fit(policy, base)
        return cls(policy, base, registry, account)

    def attach(self, bind: Callable[..., Callable[..., Any]], policy: Policy, pinned: PinnedState) -> None:
        """Be able to ask the policy for its prices."""
        example = policy, pinned, 0, self.examples.row, self.examples.row
        self._appraise = lambda t, rates, prices: bind(appraise, *example)(policy, pinned.address, t, rates, prices)

    def views(self) -> Mapping[str, Callable[[int], Any]]:
        """What is left of each resource, what of that is reserved, whether one more can be paid for, and prices."""
        account = self.account
        return {
            "remaining": lambda t: account.by_name(account.remaining),
            "reserved": lambda t: account.by_name(account.reserved),
            "can_pay": lambda t: account.lasts(),
            "prices": self._prices,
        }

    def _prices(self, t: int) -> Amounts:
        """What one more unit of each resource would earn, by the policy's reckoning; nan where it reckons none."""
        rates = self.account.rates(self.problem.horizon - t)
        prices = np.zeros(len(rates))
        self._appraise(t, rates, prices)
        return self.account.by_name(prices / self.account.max_cost)

    def refine(
        self, index: int, propensity: float, context: Floats, t: int, rng: np.uint64, outside: bool
    ) -> tuple[int, float]:
        """Nothing, where one more decision could not be paid for; what was chosen outside is paid for all the same."""
        return (index, propensity) if outside or self.account.lasts() else (NULL, 1.0)

    def null_outcome(self) -> object:
        """Choosing nothing pays and costs nothing; policies without budgets do not know of it."""
        return self.examples.outcome if self._own else None

    @property
    def cost_units(self) -> dict[str, float]:
        """The most a decision can cost of each resource."""
        return self.account.by_name(self.account.max_cost)

    def read_request(self, t: int, request: dict[str, Any]) -> Floats:
        """The rates from round `t` to the end."""
        self.check_request(request)
        left = self.problem.horizon - t
        if left <= 0:
            raise BudgetError(
                f"all {self.problem.horizon} rounds of the horizon are over: change(horizon=...) makes it longer"
            )
        return self.account.rates(left)

    def publish(self, index: int, context: Floats) -> tuple[object, int, Floats]:
        """The arm, whose cost is reserved; None for the null arm, which costs nothing."""
        if index < 0:
            return None, NULL, context
        self.account.pending = self.account.pending.hold(index)
        return self.registry.names[index], self.registry.uids[index], context

    def index_of(self, action: object) -> int:
        """The index of an arm, or of none."""
        return NULL if action is None else self.registry.index(action)

    def locate(self, key: int, row: Floats) -> tuple[int, Floats] | None:
        """The index of an arm, and the rates of its round."""
        index = self.registry.index_by_uid.get(key)
        return None if index is None else (index, row)

    def read_outcome(self, outcome: dict[str, Any]) -> Spent:
        """The reward, and the costs as shares of the most."""
        self.check_fields(outcome)
        reward = self.reward(outcome.get("reward"))
        return Spent(reward, self._costs(outcome.get("costs")) / self.account.max_cost)

    def settle(self, t: int, key: int, value: Spent | None) -> None:
        """What was reserved is spent, or given back."""
        if key != NULL:
            costs, account = None if value is None else value.costs, self.account
            account.pending = account.pending.release(self.registry.index_by_uid.get(key), costs)
            account.spent = account.spent + (account.max_cost if costs is None else costs * account.max_cost)

    def checkpoint(self) -> tuple[Floats, Reserve]:
        """What is spent, and what is pending."""
        return self.account.spent, self.account.pending

    def rollback(self, checkpoint: tuple[Floats, Reserve]) -> None:
        """What was spent and pending then."""
        self.account.spent, self.account.pending = checkpoint

    def cancel(self, key: int) -> None:
        """A decision that never happened gives back what was reserved for it."""
        self.account.pending = self.account.pending.release(self.registry.index_by_uid.get(key))

    def _costs(self, costs: object) -> Floats:
        """Costs in the order of resources; every one must be there, and lie in its range."""
        names, costs = self.account.names, by_label(costs)
        if not isinstance(costs, Mapping):
            if len(names) > 1 or costs is None:
                wrong = "costs are missing" if costs is None else f"costs={costs!r} does not name the resources"
                example = ", ".join(f'"{name}": ...' for name in names)
                raise BudgetError(f"{wrong}: give an amount for each resource, {{{example}}}")
            costs = {names[0]: costs}
        for name in costs:
            self.account.index(name)
        values = np.zeros(len(names))
        for i, name in enumerate(names):
            if name not in costs:
                raise BudgetError(f"costs lacks {name!r}: report 0 for what cost nothing")
            values[i] = self._cost(name, costs[name], self.account.max_cost[i])
        return values

    @staticmethod
    def _cost(name: str, cost: object, most: float) -> float:
        try:
            value = to_float(cost)
        except (TypeError, ValueError, OverflowError):
            raise BudgetError(f"costs[{name!r}]={cost!r} is not a number") from None
        if value < 0.0:
            raise BudgetError(f"costs[{name!r}]={value:g} is below 0: costs are at least 0")
        if not value <= most:
            raise BudgetError(
                f"costs[{name!r}]={value:g} is outside [0, {most:g}], the most a decision can cost: "
                f"declare it with max_cost={{{name!r}: ...}}"
            )
        return value

    def regrouped(self, policy: Policy, registry: ArmRegistry, options: Mapping[str, Any]) -> "KnapsackAdapter":
        """The same account for other arms."""
        account = copy(self.account)
        account.pending = account.pending.moved(self.registry.old_indices(registry))
        return KnapsackAdapter(policy, self.problem._replace(n_arms=len(registry)), registry, account)

    def changed(self, t: int, changes: dict[str, Any]) -> "KnapsackAdapter":
        """The same with other budgets, or another horizon, from round `t` on."""
        changes = {"horizon": self.problem.horizon} | changes
        account = self.account.changed(changes.pop("budgets", {}))
        horizon = super().changed(t, changes).problem.horizon
        problem = self.problem._replace(horizon=horizon, structure=Budgets(account.amounts(horizon, t)))
        return KnapsackAdapter(self.policy, problem, self.registry, account)

    # ---- bytes ----

    def encode(self) -> tuple[Facts, list[Packed]]:
        """The account."""
        account = self.account
        arrays = {
            "totals": account.totals,
            "most": account.max_cost,
            "spent": account.spent,
        } | account.pending._asdict()
        facts: Facts = {"resources": list(account.names), "overspend": account.overspend, "reserve": account.how}
        return facts, [packed(name, array) for name, array in arrays.items()]

    @classmethod
    def decode(
        cls, policy: Policy, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "KnapsackAdapter":
        """The account and the arms that `encode` describes."""
        names = facts.get("resources")
        if not isinstance(names, list) or len(names) != len(problem.structure.amounts):
            raise StateError("the saved budgets do not fit the saved problem")
        how, n_arms, amounts = facts.get("reserve"), (len(registry),), (len(names),)
        shapes: dict[str, tuple[int, ...]] = {"totals": amounts, "most": amounts, "spent": amounts}
        shapes |= {"pending": n_arms, "weights": n_arms, "costs": n_arms + amounts, "left": (1,)}
        if sorted(arrays) != sorted(shapes) or how not in RESERVES:
            raise StateError("the saved budgets are not complete")
        values = {name: unpacked(arrays[name], shape) for name, shape in shapes.items()}
        totals, most = (dict(zip(names, values[name].tolist(), strict=True)) for name in ("totals", "most"))
        pending = Reserve(*(values[name] for name in Reserve._fields))
        account = BudgetAccount(totals, most, pending, str(how), bool(facts.get("overspend")))
        account.spent = values["spent"]
        return cls(policy, problem, registry, account)

    def encode_rows(self, rows: list[Floats]) -> list[Packed]:
        """The rates of pending decisions, all in one matrix."""
        return [packed("rates", np.array(rows))] if rows else []

    def decode_rows(self, saved: list[Packed], count: int) -> list[Floats]:
        """The rates of each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their rates")
        return list(unpacked(saved[0], (count, len(self.account.names))))

    def check_key(self, t: int, key: int | list[int]) -> int:
        """The uid of an arm."""
        return single_key(t, key)
