"""Prices for products that share resources: one customer a round, whose demand drifts.

    P(buys product 1) = size (8 - 1.5 s p1)+ / 30        size = 1 + 0.35 sin(4 pi t / T)     how many come
    P(buys product 2) = size (9 - 1.5 s p2)+ / 30        s    = 1 - 0.35 t / T               how much a price deters

An arm is a pair of prices. Product 1 takes 1, 3 and 0 units of three resources, product 2 takes 1, 1 and 5. A customer
buys one product or none: reward and costs come of the same purchase, so that they are large together. Rewards are
prices by the largest of all, 6.5, and units of a resource by the most that a product takes of it.

In the manner of Besbes & Zeevi, *Blind Network Revenue Management*, Operations Research 2012, whose resources these
are; the prices and the drift are ours.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Spent
from driftwise.core.validation import number
from driftwise.core.verbs import register
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import BudgetWorld, Stages, Till, charge, check_arm, observe_rates
from driftwise.families.knapsack.worlds.glide import moments, step_of_rounds
from driftwise.measure.levels import Levels

PRICES = np.array([[1, 1.5], [1, 2], [2, 3], [2, 4], [3, 3], [4, 4], [4, 6.5], [3, 5]])
UNITS = np.array([[1.0, 1.0], [3.0, 1.0], [0.0, 5.0]])  # a row per resource, a column per product
USES = UNITS / UNITS.max(axis=1, keepdims=True)
APPEAL, DETERS, CUSTOMERS = np.array([8.0, 9.0]), 1.5, 30.0


class Shop(NamedTuple):
    """The chance (step, arm, product) of a purchase, its reward (arm, product), and its costs (resource, product)."""

    chances: Floats
    rewards: Floats
    costs: Floats


class PricingTape(NamedTuple):
    """Rounds start .. start + len(noise) - 1; the first noise of a round says what its customer buys."""

    start: int
    levels: Levels
    costs: Floats
    noise: Floats
    shop: Shop
    horizon: int
    stages: Stages


@kernel
def _respond(tape: PricingTape, till: Till, t: int, action: int) -> Spent:
    check_arm(tape, action)
    i, shop, reward = t - tape.start, tape.shop, 0.0
    for resource in range(len(till.costs)):
        till.costs[resource] = 0.0
    if action >= 0:
        u, row = tape.noise[i, 0], tape.levels.rows[i]
        for product in range(shop.rewards.shape[1]):
            if u < shop.chances[row, action, product]:
                reward = shop.rewards[action, product]
                for resource in range(len(till.costs)):
                    till.costs[resource] = shop.costs[resource, product]
                break
            u -= shop.chances[row, action, product]
    return charge(tape, till, t, action, reward)


register(PricingTape, observe=observe_rates, respond=_respond)


@dataclass(frozen=True, kw_only=True)
class NetworkPricing(BudgetWorld):
    """Eight pairs of prices for two products made of three resources. Nothing but customers depends on the seed.

    Parameters
    ----------
    load : float
        The budget of a resource, by what all pairs of prices on average would take of it.
    season : float
        How far the number of customers swings, twice in a run.
    trend : float
        By which share a price deters less at the end than at the start.

    >>> NetworkPricing().rates(1000).round(3)
    array([0.187, 0.127, 0.089])
    """

    load: float = 0.6
    season: float = 0.35
    trend: float = 0.35

    def __post_init__(self) -> None:
        super().__post_init__()
        number("load", self.load, above=0.0)
        number("season", self.season, above=0.0, below=0.75, closed="[]")
        number("trend", self.trend, above=0.0, below=1.0, closed="[]")

    @property
    def arms(self) -> int:
        """How many pairs of prices there are."""
        return len(PRICES)

    def rates(self, horizon: int) -> Floats:
        """The load times what a round takes of each resource, on average over all prices and steps."""
        rates: Floats = self.load * (self._chances(horizon) @ USES.T).mean(axis=(0, 1))
        return rates

    def means(self, horizon: int, seed: int) -> Means:
        """A segment for every step."""
        chances = self._chances(horizon)
        rewards = (chances * PRICES / PRICES.max()).sum(axis=2)
        return Means.of(rewards, np.swapaxes(chances @ USES.T, 1, 2), step_of_rounds(horizon))

    def _chances(self, horizon: int) -> Floats:
        """What is bought: (step, pair of prices, product)."""
        when = moments(horizon)[:, None, None]
        size, deters = 1.0 + self.season * np.sin(4.0 * np.pi * when), DETERS * (1.0 - self.trend * when)
        chances: Floats = size * np.maximum(0.0, APPEAL - deters * PRICES) / CUSTOMERS
        return chances

    def _tape(
        self, start: int, levels: Levels, means: Means, noise: Floats, horizon: int, stages: Stages
    ) -> PricingTape:
        shop = Shop(self._chances(horizon), PRICES / PRICES.max(), USES)
        return PricingTape(start, levels, means.costs, noise, shop, horizon, stages)
