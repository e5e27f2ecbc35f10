"""Budgets that must last: costs are reported with rewards, and nothing is spent that is not there.

Pending decisions have two costs (`reserve.py`): the *maximum*, the most that all of them can cost, and an
*estimate* of what they cost at most, but for a tiny chance.

The promise goes by the maximum. It is *reserved*: where less is left beside it than one more decision can cost at most,
the answer is None, the null arm: wait, or let the budget grow. At any time

    spent + most x pending <= budget          so that spent <= budget, whatever comes, and in whatever order

for a decision adds `most` to the left side only where there is room for it, an outcome replaces `most` by a cost that
is not above it, and no change may bring the budget below the left side. A decision where there is no room may, at
worst, overspend: no rule that knows only `most` decides more often and keeps the promise. Who can bear a tiny chance
reserves the estimate (`reserve="estimate"`), who wants no promise nothing (`allow_overspend=True`).

Pacing goes by the estimate, always: what may be spent a round is what will be left once pending decisions have cost
that much. Paced by the maximum, a budget would seem to be nearly gone while outcomes are under way.

A decision whose cost is never reported keeps its reservation; `Agent.cancel` gives it back. One that is given up, as
the oldest of too many, counts as having cost the most: the budget is safe, the estimate of the cost is not fed. Choices
that were made outside (`override`) are paid for whatever is left.

Kernels read costs as shares of the most a decision can cost, and rates likewise.
"""

import math
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np

from driftwise.core.adapter import Adapter, Examples
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import Facts, packed, unpacked
from driftwise.core.family import check_fit, family_of
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Problem, Spent
from driftwise.core.validation import one_of
from driftwise.core.verbs import appraise
from driftwise.errors import BudgetError, ParameterError, StateError
from driftwise.families.knapsack.problem import Budgets, Knapsack
from driftwise.families.knapsack.reserve import RESERVES, Reserve, new_reserve

Amounts = dict[str, float]
SLACK = 1e-9  # of the most a decision can cost: 0.1 + 0.1 + 0.1 fits into 0.3
NULL = -1


class Purse:
    """What there is of each resource, what was spent, and what is pending."""

    def __init__(self, totals: Amounts, most: Amounts, pending: Reserve, how: str, overspend: bool) -> None:
        self.names = tuple(totals)
        self.totals = np.array([totals[name] for name in self.names])
        self.most = np.array([most[name] for name in self.names])
        self.pending, self.how, self.overspend = pending, how, overspend
        self.spent = np.zeros(len(self.names))

    @property
    def remaining(self) -> Floats:
        """What has not been spent."""
        remaining: Floats = self.totals - self.spent
        return remaining

    @property
    def reserved(self) -> Floats:
        """What is kept back for pending decisions."""
        reserved: Floats = RESERVES[self.how](self.pending) * self.most
        return reserved

    @property
    def gone(self) -> Floats:
        """What the budget must cover already: what was spent and, unless that may be overspent, what is reserved."""
        return self.spent if self.overspend else self.spent + self.reserved

    def lasts(self) -> bool:
        """Whether one more decision can be paid for, whatever it costs."""
        slack = SLACK * self.most
        if self.overspend:
            return bool((self.gone < self.totals - slack).all())
        return bool((self.gone + self.most <= self.totals + slack).all())

    @property
    def plannable(self) -> Floats:
        """What will be left once all that is pending has cost what is estimated, as shares of the most."""
        left: Floats = np.maximum(self.remaining / self.most - self.pending.estimate(), 0.0)
        return left

    def rates(self, rounds: int) -> Floats:
        """What may be spent a round if it is to last for `rounds` more, as shares of the most."""
        rates: Floats = self.plannable / max(1, rounds)
        return rates

    def amounts(self, horizon: int, t: int) -> Floats:
        """What a run of `horizon` rounds spends at the pace of what is left in round `t`, as shares of the most.

        At the start these are the budgets. Where nothing is left they are next to nothing: a plan needs some amount.
        """
        amounts: Floats = np.maximum(self.plannable, SLACK * self.totals / self.most) * (horizon / (horizon - t))
        return amounts

    def named(self, amounts: Floats) -> Amounts:
        """By the names of resources."""
        return {name: float(amount) for name, amount in zip(self.names, amounts, strict=True)}

    def changed(self, totals: Any) -> "Purse":
        """A copy with other totals for some resources; not below what is spent or reserved already."""
        if not isinstance(totals, Mapping):
            raise BudgetError(f"budgets={totals!r} does not map resources to amounts: {{'euros': 5000}}")
        fresh, gone, purse = self.totals.copy(), self.gone, copy(self)
        for name, amount in totals.items():
            place = self.place(name)
            fresh[place] = positive(f"budgets[{name!r}]", amount)
            if fresh[place] < gone[place] - SLACK * self.most[place]:
                raise BudgetError(
                    f"budgets[{name!r}]={fresh[place]:g} is below the {gone[place]:g} spent or reserved already"
                )
        purse.totals = fresh
        return purse

    def place(self, name: Any) -> int:
        """Where a resource is."""
        if name not in self.names:
            raise BudgetError(f"there is no resource {name!r}: there are {', '.join(map(repr, self.names))}")
        return self.names.index(name)


class KnapsackAdapter(Adapter):
    """Between a program and policies with budgets. The context of a decision are the rates that are left."""

    outcome_fields = ("reward", "costs")
    change_fields = ("horizon", "budgets")
    view_names = ("remaining", "reserved", "can_pay", "prices")
    _appraise: Callable[..., None]
    context = None

    def __init__(self, policy: Any, problem: Problem, registry: ArmRegistry, purse: Purse) -> None:
        if problem.low != 0.0:
            raise ParameterError(
                f"reward_range=({problem.low:g}, {problem.high:g}) does not start at 0: "
                "with budgets, to choose nothing is always possible, and pays 0"
            )
        super().__init__(policy, problem, registry)
        self.purse = purse
        rates = np.zeros(len(purse.names))
        self.examples = Examples(rates, 0, rates, Spent(0.0, np.zeros(len(purse.names))))
        self._own = family_of(policy) == problem.family

    @classmethod
    def of(cls, policy: Any, problem: Knapsack) -> "KnapsackAdapter":
        """The arms and the budgets of a problem."""
        registry = problem.arm_registry()
        base = problem.base(registry)
        purse = purse_of(policy, base, problem)
        base = base._replace(structure=Budgets(purse.amounts(base.horizon, 0)))
        check_fit(policy, base)
        return cls(policy, base, registry, purse)

    def attach(self, bind: Callable[..., Any], policy: Any, state: Any) -> None:
        """Be able to ask the policy for its prices."""
        example = policy, state, 0, self.examples.row, self.examples.row
        self._appraise = lambda t, rates, prices: bind(appraise, *example)(policy, state, t, rates, prices)

    def views(self) -> Mapping[str, Callable[[int], Any]]:
        """What is left of each resource, what of that is reserved, whether one more can be paid for, and prices."""
        purse = self.purse
        return {
            "remaining": lambda t: purse.named(purse.remaining),
            "reserved": lambda t: purse.named(purse.reserved),
            "can_pay": lambda t: purse.lasts(),
            "prices": self._prices,
        }

    def _prices(self, t: int) -> Amounts:
        """What one more unit of each resource would earn, by the policy's reckoning; nan where it reckons none."""
        rates = self.purse.rates(self.problem.horizon - t)
        prices = np.zeros(len(rates))
        self._appraise(t, rates, prices)
        return self.purse.named(prices / self.purse.most)

    def refine(self, index: Any, propensity: float, context: Any, t: int, rng: Any, outside: bool) -> tuple[Any, float]:
        """Nothing, where one more decision could not be paid for; what was chosen outside is paid for all the same."""
        return (index, propensity) if outside or self.purse.lasts() else (NULL, 1.0)

    def null_outcome(self) -> Any:
        """Choosing nothing pays and costs nothing; policies without budgets do not know of it."""
        return self.examples.outcome if self._own else None

    @property
    def cost_units(self) -> dict[str, float]:
        """The most a decision can cost of each resource."""
        return self.purse.named(self.purse.most)

    def read_request(self, t: int, request: dict[str, Any]) -> Any:
        """The rates from round `t` to the end."""
        self.check_request(request)
        left = self.problem.horizon - t
        if left <= 0:
            raise BudgetError(
                f"all {self.problem.horizon} rounds of the horizon are over: change(horizon=...) makes it longer"
            )
        return self.purse.rates(left)

    def publish(self, place: Any, context: Any) -> tuple[Any, Any, Any]:
        """The arm, whose cost is reserved; None for the null arm, which costs nothing."""
        if place < 0:
            return None, NULL, context
        self.purse.pending = self.purse.pending.hold(place)
        return self.registry.names[place], self.registry.numbers[place], context

    def index_of(self, action: Any) -> Any:
        """The place of an arm, or of none."""
        return NULL if action is None else super().index_of(action)

    def locate(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """The place of an arm, and the rates of its round."""
        place = self.registry.places.get(chosen)
        return None if place is None else (place, row)

    def read_outcome(self, outcome: dict[str, Any]) -> Spent:
        """The reward, and the costs as shares of the most."""
        self.check_fields(outcome)
        reward = self.reward(outcome.get("reward"))
        return Spent(reward, self._costs(outcome.get("costs")) / self.purse.most)

    def settle(self, t: int, chosen: Any, value: Any) -> None:
        """What was reserved is spent, or given back."""
        if chosen != NULL:
            costs, purse = None if value is None else value.costs, self.purse
            purse.pending = purse.pending.release(self.registry.places.get(chosen), costs)
            purse.spent = purse.spent + (purse.most if costs is None else costs * purse.most)

    def checkpoint(self) -> Any:
        """What is spent, and what is pending."""
        return self.purse.spent, self.purse.pending

    def rollback(self, checkpoint: Any) -> None:
        """What was spent and pending then."""
        self.purse.spent, self.purse.pending = checkpoint

    def cancel(self, chosen: Any) -> None:
        """A decision that never happened gives back what was reserved for it."""
        self.purse.pending = self.purse.pending.release(self.registry.places.get(chosen))

    def _costs(self, costs: Any) -> Floats:
        """Costs in the order of resources; every one must be there, and lie in its range."""
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
                raise BudgetError(f"costs says nothing of {name!r}: report 0 for what cost nothing")
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
                f"declare it with max_cost={{{name!r}: ...}}"
            )
        return value

    def regrouped(self, policy: Any, registry: ArmRegistry, options: Mapping[str, Any]) -> "KnapsackAdapter":
        """The same purse for other arms."""
        purse = copy(self.purse)
        purse.pending = purse.pending.moved(self.registry.kept(registry))
        return KnapsackAdapter(policy, self.problem._replace(n_arms=len(registry)), registry, purse)

    def changed(self, t: int, changes: dict[str, Any]) -> "KnapsackAdapter":
        """The same with other budgets, or another horizon, from round `t` on."""
        changes = {"horizon": self.problem.horizon} | changes
        purse = self.purse.changed(changes.pop("budgets", {}))
        horizon = super().changed(t, changes).problem.horizon
        problem = self.problem._replace(horizon=horizon, structure=Budgets(purse.amounts(horizon, t)))
        return KnapsackAdapter(self.policy, problem, self.registry, purse)

    # ---- on paper ----

    def encode(self) -> tuple[Facts, list[Packed]]:
        """The purse."""
        purse = self.purse
        arrays = {"totals": purse.totals, "most": purse.most, "spent": purse.spent} | purse.pending._asdict()
        facts: Facts = {"resources": list(purse.names), "overspend": purse.overspend, "reserve": purse.how}
        return facts, [packed(name, array) for name, array in arrays.items()]

    @classmethod
    def decode(
        cls, policy: Any, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "KnapsackAdapter":
        """A purse that was written down."""
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
        purse = Purse(totals, most, pending, str(how), bool(facts.get("overspend")))
        purse.spent = values["spent"]
        return cls(policy, problem, registry, purse)

    def encode_rows(self, rows: list[Any]) -> list[Packed]:
        """The rates of pending decisions, all in one matrix."""
        return [packed("rates", np.array(rows))] if rows else []

    def decode_rows(self, saved: list[Packed], count: int) -> list[Any]:
        """The rates of each decision."""
        if not count:
            return []
        if len(saved) != 1:
            raise StateError("the saved decisions have lost their rates")
        return list(unpacked(saved[0], (count, len(self.purse.names))))


def purse_of(policy: Any, base: Problem, problem: Knapsack) -> Purse:
    """The purse of a problem."""
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
    return Purse(totals, largest, new_reserve(base.n_arms, len(totals)), how, bool(problem.allow_overspend))


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
