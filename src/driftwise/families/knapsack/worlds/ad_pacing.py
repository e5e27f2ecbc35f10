"""Advertisements to be shown until the money, or the audience, is gone.

    clicks       appeal (1 + 0.5 sin(2 pi (days t / T + hour))) exp(-u t / T)      each has its hour, and tires
    spend        bid (1 + 0.3 sin(2 pi (days t / T + season))) (1 + 0.4 t / T)     one market: dear hours, rising prices
    impressions  reach                                                             what it takes of the audience

One noise decides all three: what is clicked is paid for and was seen.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.families.knapsack.worlds.glide import moments, step_of_rounds

SWING, SEASON, TREND = 0.5, 0.3, 0.4


@dataclass(frozen=True, kw_only=True)
class AdPacing(BudgetWorld):
    """Ten advertisements with daily cycles, fatigue, and a market whose prices rise.

    By the seed are drawn, uniform: appeal on [0.1, 0.6], hour on the circle, fatigue u on [0, 1], bid on [0.05, 0.5],
    reach on [0.2, 0.9], for each advertisement, and the season of the market on the circle.

    Parameters
    ----------
    n_arms : int
        How many advertisements.
    days : int
        How many cycles a run has.
    spend, impressions : float
        The budgets by the horizon.

    >>> AdPacing().rates(1000)
    array([0.12, 0.35])
    """

    n_arms: int = 10
    days: int = 10
    spend: float = 0.12
    impressions: float = 0.35

    law: ClassVar[str] = "together"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_arms", self.n_arms, high=10**6)
        whole("days", self.days, high=100)  # a day has 20 steps at least
        for name in ("spend", "impressions"):
            number(name, getattr(self, name), above=0.0, below=1.0, closed="]")

    @property
    def arms(self) -> int:
        """How many advertisements there are."""
        return self.n_arms

    def rates(self, horizon: int) -> Floats:
        """Of money, and of the audience."""
        return np.array([self.spend, self.impressions])

    def means(self, horizon: int, seed: int) -> Means:
        """A segment for every step."""
        draws, n = generator(seed, "means"), self.n_arms
        appeal, hour, tires = draws.uniform(0.1, 0.6, n), draws.random(n), draws.random(n)
        bid, reach, season = draws.uniform(0.05, 0.5, n), draws.uniform(0.2, 0.9, n), draws.random()
        when = moments(horizon)[:, None]
        clicks = appeal * (1.0 + SWING * np.sin(2.0 * np.pi * (self.days * when + hour))) * np.exp(-tires * when)
        market = (1.0 + SEASON * np.sin(2.0 * np.pi * (self.days * when + season))) * (1.0 + TREND * when)
        costs = np.stack([bid * market, np.broadcast_to(reach, clicks.shape)], axis=1)
        return Means.of(clicks, costs, step_of_rounds(horizon))
