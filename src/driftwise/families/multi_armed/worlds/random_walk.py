"""Means that wander: every arm takes a small Gaussian step each round."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.random import fill_normal
from driftwise.core.seeding import generator, key
from driftwise.core.validation import number
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Drift, Levels


@dataclass(frozen=True, kw_only=True)
class RandomWalk(ArmedWorld):
    """Independent walks reflected at 0 and 1, starting anywhere between.

    Parameters
    ----------
    step : float
        Standard deviation of a step; 0 takes 2 / sqrt(T), which crosses the range about twice in a run.
    """

    step: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number("step", self.step, above=0.0, closed="[")

    def drift(self, horizon: int, seed: int) -> Drift:
        """Folding a free walk into [0, 1] has the law of reflecting every step, for symmetric steps."""
        step = self.step or 2.0 / np.sqrt(horizon)
        place = generator(seed, "start").random(self.n_arms)
        rng = key(seed, "steps")

        def levels(start: int, stop: int) -> Levels:
            nonlocal place
            steps = np.empty((stop - start) * self.n_arms)
            fill_normal(rng, start * self.n_arms, steps)
            steps = step * steps.reshape(-1, self.n_arms)
            path = np.cumsum(np.vstack([place, steps]), axis=0)
            place = path[-1]
            return Levels.of_each_round(1.0 - np.abs(1.0 - np.mod(path[:-1], 2.0)))

        return levels
