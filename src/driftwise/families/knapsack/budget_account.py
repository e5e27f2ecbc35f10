"""The account of budgets: what there is of each resource, what was spent, and what pending decisions may cost."""

import math
from collections.abc import Mapping
from copy import copy

import numpy as np

from driftwise.core.problem import by_label
from driftwise.core.protocols import Policy
from driftwise.core.types import Floats, Problem
from driftwise.core.validation import one_of, to_float
from driftwise.errors import BudgetError, ParameterError
from driftwise.families.knapsack.problem import Knapsack
from driftwise.families.knapsack.reserve import RESERVES, Reserve, new_reserve

Amounts = dict[str, float]
SLACK = 1e-9  # of the most a decision can cost: 0.1 + 0.1 + 0.1 fits into 0.3


class BudgetAccount:
    """What there is of each resource, what was spent, and what is pending."""

    def __init__(self, totals: Amounts, max_cost: Amounts, pending: Reserve, how: str, overspend: bool) -> None:
        self.names = tuple(totals)
        self.totals = np.array([totals[name] for name in self.names])
        self.max_cost = np.array([max_cost[name] for name in self.names])
        self.pending, self.how, self.overspend = pending, how, overspend
        self.spent = np.zeros(len(self.names))

    @property
    def remaining(self) -> Floats:
        """What has not been spent."""
        remaining: Floats = self.totals - self.spent
        return remaining

    @property
    def reserved(self) -> Floats:
        """What is reserved for pending decisions."""
        reserved: Floats = RESERVES[self.how](self.pending) * self.max_cost
        return reserved

    @property
    def committed(self) -> Floats:
        """What the budget must cover already: what was spent and, unless that may be overspent, what is reserved."""
        return self.spent if self.overspend else self.spent + self.reserved

    def lasts(self) -> bool:
        """Whether one more decision can be paid for, whatever it costs."""
        slack = SLACK * self.max_cost
        if self.overspend:
            return bool((self.committed < self.totals - slack).all())
        return bool((self.committed + self.max_cost <= self.totals + slack).all())

    @property
    def plannable(self) -> Floats:
        """What will be left once all that is pending has cost what is estimated, as shares of the most."""
        left: Floats = np.maximum(self.remaining / self.max_cost - self.pending.estimate(), 0.0)
        return left

    def rates(self, rounds: int) -> Floats:
        """What may be spent a round if it is to last for `rounds` more, as shares of the most."""
        rates: Floats = self.plannable / max(1, rounds)
        return rates

    def amounts(self, horizon: int, t: int) -> Floats:
        """What a run of `horizon` rounds spends at the pace of what is left in round `t`, as shares of the most.

        At the start these are the budgets. Where nothing is left they are next to nothing: a plan needs some amount.
        """
        amounts: Floats = np.maximum(self.plannable, SLACK * self.totals / self.max_cost) * (horizon / (horizon - t))
        return amounts

    def by_name(self, amounts: Floats) -> Amounts:
        """By the names of resources."""
        return {name: float(amount) for name, amount in zip(self.names, amounts, strict=True)}

    def changed(self, totals: object) -> "BudgetAccount":
        """A copy with other totals for some resources; not below what is spent or reserved already."""
        totals = by_label(totals)
        if not isinstance(totals, Mapping):
            raise BudgetError(f"budgets={totals!r} does not map resources to amounts: {{'euros': 5000}}")
        fresh, committed, account = self.totals.copy(), self.committed, copy(self)
        for name, amount in totals.items():
            i = self.index(name)
            fresh[i] = positive(f"budgets[{name!r}]", amount)
            if fresh[i] < committed[i] - SLACK * self.max_cost[i]:
                raise BudgetError(
                    f"budgets[{name!r}]={fresh[i]:g} is below the {committed[i]:g} spent or reserved already"
                )
        account.totals = fresh
        return account

    def index(self, name: object) -> int:
        """The index of a resource."""
        if name not in self.names:
            raise BudgetError(f"there is no resource {name!r}: there are {', '.join(map(repr, self.names))}")
        return self.names.index(str(name))


def account_of(policy: Policy, base: Problem, problem: Knapsack) -> BudgetAccount:
    """The account of a problem: nothing is spent, and nothing pending."""
    name, budgets, max_cost = (
        type(policy).__name__,
        problem.budgets,
        {} if problem.max_cost is None else problem.max_cost,
    )
    if not isinstance(budgets, Mapping) or not budgets:
        raise ParameterError(f"budgets={budgets!r} does not map resources to amounts: {{'euros': 5000}}")
    if not base.horizon:
        raise ParameterError(f"{name} must know for how many rounds its budgets are to last: give horizon=")
    totals = {_resource(key): positive(f"budgets[{key!r}]", amount) for key, amount in budgets.items()}
    if not isinstance(max_cost, Mapping):
        raise ParameterError(
            f"max_cost={max_cost!r} does not map resources to what a decision can cost: {{'euros': 2.5}}"
        )
    for key in max_cost:
        if key not in totals:
            raise BudgetError(f"there is no resource {key!r}: there are {', '.join(map(repr, totals))}")
    largest = {key: positive(f"max_cost[{key!r}]", max_cost.get(key, 1.0)) for key in totals}
    how = one_of("reserve", problem.reserve, tuple(RESERVES))
    return BudgetAccount(totals, largest, new_reserve(base.n_arms, len(totals)), how, bool(problem.allow_overspend))


def positive(name: str, amount: object) -> float:
    """A finite amount above zero."""
    try:
        value = to_float(amount)
    except (TypeError, ValueError, OverflowError):
        raise BudgetError(f"{name}={amount!r} is not a number") from None
    if not math.isfinite(value) or value <= 0.0:
        raise BudgetError(f"{name}={value:g} is not a finite amount above 0")
    return value


def _resource(name: object) -> str:
    if not isinstance(name, str) or not name.isprintable() or not name:
        raise BudgetError(f"resource {name!r} is not named by printable text")
    return name
