"""Means as a log tells them: every run draws paths of all means that could have been behind the log's rewards.

`driftwise.Log.world()` makes it. A log is cut into bins, and the mean of an arm takes a normal step from bin to bin
(`numerics/local_level.py`); a run draws a whole path from what the rewards leave open, so that little data is much
uncertainty and not much drift. Without a log it is a small example of three arms.
"""

from dataclasses import dataclass, field

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Drift, Levels
from driftwise.numerics.local_level import sample_path

Table = tuple[tuple[float, ...], ...]
EXAMPLE = ((0.3, 0.5, 0.4), (0.3, 0.5, 0.45), (0.5, 0.4, 0.5), (0.6, 0.2, 0.5))


@dataclass(frozen=True, kw_only=True)
class LocalLevel(ArmedWorld):
    """Paths of means drawn from what the rewards of a log leave open.

    Parameters
    ----------
    means, counts : tuple of tuples
        Mean and number of rewards, a row per bin and a column per arm.
    noise, steps : tuple
        Of each arm, the spread of a reward and of a step from bin to bin.
    labels : tuple of str
        Names of the arms.

    `n_arms` is the number of columns of `means`.

    >>> LocalLevel().draw(horizon=100, seed=0)[0].levels.table.shape
    (4, 3)
    """

    n_arms: int = field(init=False)
    means: Table = EXAMPLE
    counts: Table = ((200.0,) * 3,) * 4
    noise: tuple[float, ...] = (0.5,) * 3
    steps: tuple[float, ...] = (0.1,) * 3
    labels: tuple[str, ...] = ("A", "B", "C")

    def __post_init__(self) -> None:
        shape = np.shape(self.means)
        if len(shape) != 2 or np.shape(self.counts) != shape:
            raise ParameterError(
                f"means of shape {shape} and counts of shape {np.shape(self.counts)} must be equal tables"
            )
        if not len(self.noise) == len(self.steps) == len(self.labels) == shape[1]:
            raise ParameterError(f"noise, steps and labels need an entry for each of {shape[1]} arms")
        if min(self.noise) <= 0.0 or min(self.steps) < 0.0 or np.min(self.counts) < 0.0:
            raise ParameterError("noise must be above 0, steps and counts not below 0")
        object.__setattr__(self, "n_arms", shape[1])
        super().__post_init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_arms} arms, {len(self.means)} bins, {self.rewards})"

    def drift(self, horizon: int, seed: int) -> Drift:
        """Bins are stretched over the horizon."""
        counts, noise, steps = np.array(self.counts), np.array(self.noise), np.array(self.steps)
        path: Floats = sample_path(counts, np.array(self.means) * counts, noise, steps, generator(seed, "path"))
        if self.rewards == "bernoulli":
            path = np.clip(path, 0.0, 1.0)

        def levels(start: int, stop: int) -> Levels:
            return Levels(path, (np.arange(start, stop) * len(path) // horizon).astype(np.int32))

        return levels
