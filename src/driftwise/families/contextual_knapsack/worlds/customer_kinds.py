"""Customers whose demand swings.

draw_k(t)  = draw_k (1 + swing sin(2 pi (cycles t / T + phase_k)))        how many would like it
deter_k(t) = deter_k (1 + swing sin(2 pi (cycles t / T + phase'_k)))      how much a price deters
P(kind k comes) in proportion to 1 + tide sin(2 pi (t / T + phase''_k))   phases by the seed
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.validation import number, whole
from driftwise.families.contextual_knapsack.worlds.base import CustomerWorld, Demand
from driftwise.families.knapsack.worlds.glide import moments, step_of_rounds

DRAWS, DETERS = (0.6, 0.8), (0.5, 0.8)  # of the first kind and the last, and all between


@dataclass(frozen=True, kw_only=True)
class CustomerKinds(CustomerWorld):
    """Kinds of customers whose demand swings, a stock and a budget for delivery.

    Parameters
    ----------
    swing : float
        How far demand swings, both how many would like to buy and how much a price deters them.
    cycles : int
        How often it swings in a run.
    tide : float
        How far the numbers of customers of each kind swing.

    >>> CustomerKinds().problem(1000).dim
    12
    """

    swing: float = 0.25
    cycles: int = 2
    tide: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("cycles", self.cycles, high=100)
        number("swing", self.swing, above=0.0, below=0.25, closed="[]")
        number("tide", self.tide, above=0.0, below=1.0, closed="[]")

    def demand(self, horizon: int, seed: int) -> Demand:
        """Waves, in small steps."""
        middles = moments(horizon)[:, None]
        phases, tides = generator(seed, "means").random((2, self.kinds)), generator(seed, "tides").random(self.kinds)
        waves = np.sin(2.0 * np.pi * (self.cycles * middles + phases[:, None]))
        levels = np.array([np.linspace(*each, self.kinds) for each in (DRAWS, DETERS)])
        draws, deters = levels[:, None] * (1.0 + self.swing * waves)
        shares = 1.0 + self.tide * np.sin(2.0 * np.pi * (middles + tides))
        return Demand(draws, deters, shares, step_of_rounds(horizon))
