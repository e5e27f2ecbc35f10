"""Prices for customers of several kinds, one a round: each kind likes a low price in its own way, and demand drifts.

    P(kind k buys at price p) = draw_k(t) (1 - deter_k(t) p)

A sale takes one unit of the stock, and money for delivery, which costs more for some kinds than for others. Which kind
a customer is of is seen before the price is named: the features of an action are (1, p, p^2) in the place of its kind
and 0 elsewhere, so that mean rewards, p P(buys), and mean costs are linear in them.

The best plan in hindsight knows which kinds came when, and how likely each was to buy at which price: (stretch, kind)
is a segment of its program (`knapsack/means.py`), with as many rounds as customers of the kind came in the stretch.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.kernel import kernel
from driftwise.core.random import fill_uniform
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Ints, Problem, Spent
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import BudgetWorld, Stages, charge, check_arm, observe_rates
from driftwise.measure.levels import Levels
from driftwise.measure.variation import Course

DELIVERY = (0.1, 1.0)  # to the cheapest kind and the dearest
POWERS = 3  # features of a price


class CustomerTape(NamedTuple):
    """Rounds start .. start + len(noise) - 1. Round i shows `sets[which[i]]`; the first noise says whether one buys."""

    start: int
    levels: Levels
    costs: Floats
    noise: Floats
    sets: Floats
    which: NDArray[np.int32]
    takes: Floats
    horizon: int
    stages: Stages


class Counter(NamedTuple):
    """What actions change, as in `knapsack/worlds/base.py`; and `offer`, the matrix of a round."""

    spent: Floats
    luck: Floats
    costs: Floats
    rates: Floats
    shut: Ints
    offer: Floats


@kernel
def _observe(tape: CustomerTape, counter: Counter, t: int) -> tuple[Floats, bool]:
    rates, is_open = observe_rates(tape, counter, t)  # type: ignore[arg-type]
    rows, offer = tape.sets[tape.which[t - tape.start]], counter.offer
    for row in range(len(rows)):
        for i in range(rows.shape[1]):
            offer[row, i] = rows[row, i]
        for resource in range(len(rates)):
            offer[row, rows.shape[1] + resource] = rates[resource]
    return offer, is_open


@kernel
def _respond(tape: CustomerTape, counter: Counter, t: int, action: int) -> Spent:
    check_arm(tape, action)
    i, reward = t - tape.start, 0.0
    for resource in range(len(counter.costs)):
        counter.costs[resource] = 0.0
    row = tape.levels.rows[i]
    if action >= 0 and tape.noise[i, 0] < tape.costs[row, 0, action]:
        reward = tape.levels.table[row, action] / tape.costs[row, 0, action]  # the price: a unit is sold or none is
        for resource in range(len(counter.costs)):
            counter.costs[resource] = tape.takes[tape.which[i], resource]
    return charge(tape, counter, t, action, reward)  # type: ignore[arg-type]


register(CustomerTape, observe=_observe, respond=_respond)


class Demand(NamedTuple):
    """By stretch and kind: how many would like to buy, how much a price deters them, and in what proportion they come.

    Round t lies in the stretch `rows[t]`.
    """

    draws: Floats
    deters: Floats
    shares: Floats
    rows: NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class CustomerWorld(BudgetWorld):
    """Kinds of customers, a stock and a budget for delivery; subclasses say how demand drifts.

    Parameters
    ----------
    kinds, prices : int
        How many kinds of customers, and how many prices from 0.25 to 1.
    units, money : float
        The stock, and the money for delivery, by the horizon; delivery to the dearest kind costs 1.
    """

    kinds: int = 4
    prices: int = 6
    units: float = 0.25
    money: float = 0.12

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("kinds", "prices"):
            whole(name, getattr(self, name), high=100)
        for name in ("units", "money"):
            number(name, getattr(self, name), above=0.0, below=1.0, closed="]")

    @abstractmethod
    def demand(self, horizon: int, seed: int) -> Demand:
        """Who would come and buy, in every round."""

    @property
    def arms(self) -> int:
        """How many prices there are."""
        return self.prices

    @property
    def lasting(self) -> bool:
        """What a price earns depends on the customer."""
        return False

    @property
    def labels(self) -> list[str]:
        """What drifts."""
        return [f"{what} kind {kind}" for what in ("draws", "deters") for kind in range(self.kinds)]

    def rates(self, horizon: int) -> Floats:
        """Of the stock, and of the money for delivery."""
        return np.array([self.units, self.money])

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know: also how many features there are."""
        return super().problem(horizon)._replace(dim=self.features.shape[1] * self.kinds, family="contextual-knapsack")

    def means(self, horizon: int, seed: int) -> Means:
        """A segment for every stretch and kind; each round has the kind of its customer."""
        demand = self.demand(horizon, seed)
        chances = demand.draws[:, :, None] * (1.0 - demand.deters[:, :, None] * self._prices)
        costs = chances[:, :, None, :] * self._takes[:, :, None]
        rows = demand.rows * self.kinds + self._customers(demand, seed)
        shape = -1, self.prices
        return Means.of((chances * self._prices).reshape(shape), costs.reshape(-1, 2, self.prices), rows)

    def courses(self, horizon: int, seed: int) -> Iterator[Course]:
        """What draws each kind, and what deters it."""
        demand = self.demand(whole("horizon", horizon), seed)
        yield Course(0, Levels(np.hstack([demand.draws, demand.deters]), demand.rows), None)

    def nature(self, horizon: int = 0) -> Any:
        """Nothing spent yet."""
        till, dim = super().nature(horizon), self.problem(horizon).dim
        return Counter(*till, np.zeros((self.prices, dim + len(till.rates))))

    @property
    def features(self) -> Floats:
        """The features of each price, for customers of any kind."""
        return np.vander(self._prices, POWERS, increasing=True)

    @property
    def _prices(self) -> Floats:
        return np.linspace(0.25, 1.0, self.prices)

    @property
    def _takes(self) -> Floats:
        """What a sale to each kind takes of each resource; neighbours differ in what delivery costs."""
        order = np.argsort(np.arange(self.kinds) * 3 % max(1, self.kinds), kind="stable")
        return np.stack([np.ones(self.kinds), np.linspace(*DELIVERY, self.kinds)[order]], axis=1)

    def _customers(self, demand: Demand, seed: int) -> NDArray[np.int32]:
        """The kind of each round's customer."""
        luck = np.empty(len(demand.rows))
        fill_uniform(key(seed, "customers"), 0, luck)
        ends = np.cumsum(demand.shares / demand.shares.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        kinds: NDArray[np.int32] = (luck[:, None] >= ends[demand.rows]).sum(axis=1).astype(np.int32)
        return kinds

    def _tape(
        self, start: int, levels: Levels, means: Means, noise: Floats, horizon: int, stages: Stages
    ) -> CustomerTape:
        sets = np.einsum("kl,pj->kplj", np.eye(self.kinds), self.features).reshape(self.kinds, self.prices, -1)
        which = levels.rows % np.int32(self.kinds)
        return CustomerTape(start, levels, means.costs, noise, sets, which, self._takes, horizon, stages)
