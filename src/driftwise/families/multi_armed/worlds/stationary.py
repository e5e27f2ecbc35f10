"""Nothing drifts: the world most bandit papers assume."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Drift, Levels


@dataclass(frozen=True, kw_only=True)
class Stationary(ArmedWorld):
    """Means drawn once, uniformly on [0, 1], and kept.

    >>> tape, nature = Stationary(n_arms=3).draw(horizon=4, seed=0)
    >>> tape.levels.table.shape
    (1, 3)
    """

    def drift(self, horizon: int, seed: int) -> Drift:
        """The same row for ever."""
        table = generator(seed, "means").random((1, self.n_arms))
        return lambda start, stop: Levels(table, np.zeros(stop - start, np.int32))
