"""Customers whose demand jumps: from phase to phase who comes, and what each kind would pay, is drawn anew."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.families.contextual_knapsack.worlds.base import CustomerWorld, Demand
from driftwise.measure.phases import PhasedWorld

DRAWS, DETERS, SHARES = (0.3, 1.0), (0.3, 1.0), (0.5, 1.5)


@dataclass(frozen=True, kw_only=True)
class SwitchingCustomers(PhasedWorld, CustomerWorld):
    """Phases of equal length; in each, the demand of every kind of customer is another.

    Parameters
    ----------
    phases : int
        How many stretches without change the horizon is cut into.

    >>> SwitchingCustomers(phases=4).changes(horizon=1000, seed=0)
    [250, 500, 750]
    """

    def demand(self, horizon: int, seed: int) -> Demand:
        """A stretch for every phase."""
        random, shape = generator(seed, "means"), (self.phases, self.kinds)
        draws, deters, shares = (random.uniform(*each, shape) for each in (DRAWS, DETERS, SHARES))
        edges = np.array([0, *self.changes(horizon, seed), horizon])
        rows = np.repeat(np.arange(self.phases, dtype=np.int32), np.diff(edges))
        return Demand(draws, deters, shares, rows)
