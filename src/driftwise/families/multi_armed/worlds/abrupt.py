"""Now and then everything changes at once: a competitor enters, a campaign ends, a sensor is replaced."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Drift, Levels
from driftwise.measure.phases import PhasedWorld


@dataclass(frozen=True, kw_only=True)
class Abrupt(PhasedWorld, ArmedWorld):
    """Phases of equal length; in each, means uniform on [0, 1], and never the same best arm twice running.

    Parameters
    ----------
    phases : int
        How many stretches without change the horizon is cut into.

    >>> Abrupt(phases=4).changes(horizon=1000, seed=0)
    [250, 500, 750]
    """

    def drift(self, horizon: int, seed: int) -> Drift:
        """Row t is that of the phase t falls in."""
        edges = np.array([0, *self.changes(horizon, seed), horizon])
        table = self._table(generator(seed, "means"))
        phases = np.arange(self.phases, dtype=np.int32)

        def levels(start: int, stop: int) -> Levels:
            return Levels(table, np.repeat(phases, np.diff(np.clip(edges, start, stop))))

        return levels

    def _table(self, draws: np.random.Generator) -> Floats:
        table = draws.random((self.phases, self.n_arms))
        for phase in range(1, self.phases):
            while table[phase].argmax() == table[phase - 1].argmax():
                table[phase] = draws.random(self.n_arms)
        return table
