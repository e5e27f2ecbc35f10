"""Budgets that must last: costs are reported with rewards, and nothing is spent that is not there.

A decision is made as if it would cost the most it can: that much is *reserved* until its cost is told. Where less is
left than a decision may cost, the answer is None, the null arm: wait, or let the budget grow. So pending decisions
never overspend, unless the agent was made with `overspend=True`, which reserves nothing.

A decision whose cost is never told keeps its reservation; `Agent.cancel` gives it back. One that is given up, as the
oldest of too many, counts as having cost the most: the budget is safe, the estimate of the cost is not fed.

Kernels are told costs as shares of the most a decision can cost, and rates likewise.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.core.adapter import Manner
from driftwise.core.arm_registry import Roster
from driftwise.core.encoding import Facts, packed, unpacked
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Problem, Spent
from driftwise.errors import BudgetError, ParameterError, StateError
from driftwise.families.knapsack.problem import Budgets

Amounts = dict[str, float]
SLACK = 1e-9  # of a budget: 0.1 + 0.1 + 0.1 fits into 0.3
NULL = -1


class Purse:
    """What there is of each resource, what was spent, and what is reserved."""

    def __init__(self, totals: Amounts, most: Amounts, overspend: bool) -> None:
        self.names = tuple(totals)
        self.totals = np.array([totals[name] for name in self.names])
        self.most = np.array([most[name] for name in self.names])
        self.overspend = overspend
        self.spent, self.reserved = np.zeros(len(self.names)), np.zeros(len(self.names))

    @property
    def remaining(self) -> Floats:
        """What has not been spent."""
        remaining: Floats = self.totals - self.spent
        return remaining

    @property
    def free(self) -> Floats:
        """What is neither spent nor reserved."""
        return self.remaining if self.overspend else self.remaining - self.reserved

    @property
    def scaled(self) -> Floats:
        """The budgets as shares of the most a decision can cost."""
        scaled: Floats = self.totals / self.most
        return scaled

    def lasts(self) -> bool:
        """Whether one more decision can be paid for, whatever it costs."""
        need = np.zeros_like(self.most) if self.overspend else self.most
        return bool((self.free >= need - SLACK * np.maximum(1.0, self.totals)).all())

    def rates(self, rounds: int) -> Floats:
        """What may be spent a round if it is to last for `rounds` more, as shares of the most."""
        rates: Floats = np.maximum(self.free, 0.0) / self.most / max(1, rounds)
        return rates

    def named(self, amounts: Floats) -> Amounts:
        """By the names of resources."""
        return {name: float(amount) for name, amount in zip(self.names, amounts, strict=True)}

    def changed(self, totals: Any) -> Floats:
        """The totals with others for some resources; not below what is spent or reserved already."""
        if not isinstance(totals, Mapping):
            raise BudgetError(f"budgets={totals!r} does not map resources to amounts: {{'euros': 5000}}")
        fresh: Floats = self.totals.copy()
        for name, amount in totals.items():
            place = self.place(name)
            fresh[place] = positive(f"budgets[{name!r}]", amount)
            gone = self.spent[place] + (0.0 if self.overspend else self.reserved[place])
            if fresh[place] < gone - SLACK * max(1.0, gone):
                raise BudgetError(f"budgets[{name!r}]={amount:g} is below the {gone:g} spent or reserved already")
        return fresh

    def place(self, name: Any) -> int:
        """Where a resource is."""
        if name not in self.names:
            raise BudgetError(f"there is no resource {name!r}: there are {', '.join(map(repr, self.names))}")
        return self.names.index(name)


class Budgeted(Manner):
    """The manner of policies with budgets. `shown` are the rates that are left."""

    tells = ("reward", "costs")
    shown = None

    def __init__(self, policy: Any, problem: Problem, roster: Roster, purse: Purse) -> None:
        if problem.low != 0.0:
            raise ParameterError(
                f"reward_range=({problem.low:g}, {problem.high:g}) does not start at 0: "
                "with budgets, to choose nothing is always possible, and pays 0"
            )
        super().__init__(policy, problem, roster)
        self.purse = purse
        self.answers = 0, np.zeros(len(purse.names)), Spent(0.0, np.zeros(len(purse.names)))

    @property
    def cost_units(self) -> dict[str, float]:
        """The most a decision can cost of each resource."""
        return self.purse.named(self.purse.most)

    def show(self, t: int, asked: dict[str, Any]) -> Any:
        """The rates from round `t` to the end."""
        self.refuse(asked)
        left = self.problem.horizon - t
        if left <= 0:
            raise BudgetError(
                f"all {self.problem.horizon} rounds of the horizon are over: change(horizon=...) makes it longer"
            )
        return self.purse.rates(left)

    def choose(self, place: Any, shown: Any) -> tuple[Any, Any, Any]:
        """The arm, whose cost is reserved; None for the null arm, which costs nothing."""
        if place < 0:
            return None, NULL, shown
        self.purse.reserved = self.purse.reserved + self.purse.most
        return self.roster.names[place], self.roster.numbers[place], shown

    def place_of(self, action: Any) -> Any:
        """The place of an arm, or of none."""
        return NULL if action is None else super().place_of(action)

    def find(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """The place of an arm, and the rates of its round."""
        place = self.roster.places.get(chosen)
        return None if place is None else (place, row)

    def read(self, told: dict[str, Any]) -> Spent:
        """The reward, and the costs as shares of the most."""
        self.only(told)
        reward = self.reward(told.get("reward"))
        return Spent(reward, self._costs(told.get("costs")) / self.purse.most)

    def settle(self, t: int, chosen: Any, value: Any) -> None:
        """What was reserved is spent, or given back."""
        if chosen != NULL:
            self.purse.reserved = np.maximum(self.purse.reserved - self.purse.most, 0.0)
            self.purse.spent = self.purse.spent + (self.purse.most if value is None else value.costs * self.purse.most)

    def checkpoint(self) -> Any:
        """What is spent, and what is reserved."""
        return self.purse.spent, self.purse.reserved

    def rollback(self, checkpoint: Any) -> None:
        """What was spent and reserved then."""
        self.purse.spent, self.purse.reserved = checkpoint

    def call_off(self) -> None:
        """A decision that never happened gives back what was reserved for it."""
        self.purse.reserved = np.maximum(self.purse.reserved - self.purse.most, 0.0)

    def _costs(self, costs: Any) -> Floats:
        """Costs in the order of resources; every one must be told, and lie in its range."""
        names = self.purse.names
        if not isinstance(costs, Mapping):
            if len(names) > 1 or costs is None:
                example = "{" + ", ".join(f"{name!r}: ..." for name in names) + "}"
                raise BudgetError(f"costs={costs!r} does not name the resources: give costs={example}")
            costs = {names[0]: costs}
        for name in costs:
            self.purse.place(name)
        values = np.zeros(len(names))
        for place, name in enumerate(names):
            if name not in costs:
                raise BudgetError(f"costs says nothing of {name!r}: what cost nothing is told as 0")
            values[place] = self._cost(name, costs[name], self.purse.most[place])
        return values

    @staticmethod
    def _cost(name: str, cost: Any, most: float) -> float:
        try:
            value = float(cost)
        except (TypeError, ValueError, OverflowError):
            raise BudgetError(f"costs[{name!r}]={cost!r} is not a number") from None
        if not 0.0 <= value <= most:
            raise BudgetError(
                f"costs[{name!r}]={value:g} is outside [0, {most:g}], the most a decision can cost: "
                f"declare it with most={{{name!r}: ...}}"
            )
        return value

    def regrouped(self, policy: Any, roster: Roster, features: Any) -> "Budgeted":
        """The same purse for other arms."""
        return Budgeted(policy, self.problem._replace(n_arms=len(roster)), roster, self.purse)

    def changed(self, budgets: Mapping[str, Any] | None, horizon: int) -> None:
        """Other budgets, or another horizon, from now on."""
        totals = self.purse.changed({} if budgets is None else budgets)
        problem = self.problem._replace(horizon=horizon, structure=Budgets(totals / self.purse.most))
        self.purse.totals, self.problem = totals, problem

    # ---- on paper ----

    def paper(self) -> tuple[Facts, list[Packed]]:
        """The purse."""
        purse = self.purse
        arrays = {"totals": purse.totals, "most": purse.most, "spent": purse.spent, "reserved": purse.reserved}
        facts: Facts = {"resources": list(purse.names), "overspend": purse.overspend}
        return facts, [packed(name, array) for name, array in arrays.items()]

    @classmethod
    def from_paper(
        cls, policy: Any, problem: Problem, roster: Roster, facts: Facts, arrays: dict[str, Packed]
    ) -> "Budgeted":
        """A purse that was written down."""
        names = facts.get("resources")
        if not isinstance(names, list) or len(names) != len(problem.structure.amounts):
            raise StateError("the saved budgets do not fit the saved problem")
        if sorted(arrays) != ["most", "reserved", "spent", "totals"]:
            raise StateError("the saved budgets are not complete")
        values = {name: unpacked(each, (len(names),)) for name, each in arrays.items()}
        totals, most = (dict(zip(names, values[name].tolist(), strict=True)) for name in ("totals", "most"))
        purse = Purse(totals, most, bool(facts.get("overspend")))
        purse.spent, purse.reserved = values["spent"], values["reserved"]
        return cls(policy, problem, roster, purse)

    def pack_rows(self, rows: list[Any]) -> list[Packed]:
        """The rates of pending decisions, all in one matrix."""
        return [packed("rates", np.array(rows))] if rows else []

    def unpack_rows(self, saved: list[Packed], count: int) -> list[Any]:
        """The rates of each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their rates")
        return list(unpacked(saved[0], (count, len(self.purse.names))))


def purse_of(policy: Any, budgets: Any, most: Any, overspend: bool, horizon: int) -> Purse:
    """The purse an agent was made with."""
    name = type(policy).__name__
    if budgets is None:
        raise ParameterError(f"{name} spends budgets: give them, budgets={{'euros': 5000}}")
    if not isinstance(budgets, Mapping) or not budgets:
        raise ParameterError(f"budgets={budgets!r} does not map resources to amounts: {{'euros': 5000}}")
    if not horizon:
        raise ParameterError(f"{name} must know for how many rounds its budgets are to last: give horizon=")
    totals = {_resource(key): positive(f"budgets[{key!r}]", amount) for key, amount in budgets.items()}
    declared = {} if most is None else most
    if not isinstance(declared, Mapping):
        raise ParameterError(f"most={most!r} does not map resources to what a decision can cost: {{'euros': 2.5}}")
    for key in declared:
        if key not in totals:
            raise BudgetError(f"there is no resource {key!r}: there are {', '.join(map(repr, totals))}")
    largest = {key: positive(f"most[{key!r}]", declared.get(key, 1.0)) for key in totals}
    return Purse(totals, largest, bool(overspend))


def positive(name: str, amount: Any) -> float:
    """A finite amount above zero."""
    try:
        value = float(amount)
    except (TypeError, ValueError, OverflowError):
        raise BudgetError(f"{name}={amount!r} is not a number") from None
    if not math.isfinite(value) or value <= 0.0:
        raise BudgetError(f"{name}={value:g} is not a finite amount above 0")
    return value


def _resource(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable() or not name:
        raise BudgetError(f"resource {name!r} is not named by printable text")
    return name
