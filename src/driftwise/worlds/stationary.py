"""Nothing drifts: the world most bandit papers assume."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.worlds.arms import ArmedWorld, Drift


@dataclass(frozen=True, kw_only=True)
class Stationary(ArmedWorld):
    """Means drawn once, uniformly on [0, 1], and kept.

    >>> tape, nature = Stationary(n_arms=3).draw(horizon=4, seed=0)
    >>> bool((tape.means == tape.means[0]).all())
    True
    """

    def drift(self, horizon: int, seed: int) -> Drift:
        """The same row for ever."""
        means = generator(seed, "means").random(self.n_arms)
        return lambda start, stop: np.tile(means, (stop - start, 1))
