"""Budgets where rewards and costs swing: good rounds and bad ones come and go.

    mean_t = base + amp sin(2 pi (cycles t / T + phase))        for the reward and every cost of every arm

More cycles make the path longer (V), not the means more unlike each other (W): one run with eight cycles and one with a
single cycle visit the same means equally often.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.validation import number, whole
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.even_budgets import EvenBudgets

STEPS = 500  # of a cycle: means stand still within one


@dataclass(frozen=True, kw_only=True)
class BudgetSinusoidal(EvenBudgets):
    """Sine waves around bases uniform on [amp, 1 - amp], with phases uniform on the circle; both are drawn by the seed.

    Parameters
    ----------
    amp : float
        How far means swing to either side.
    cycles : int
        How many times they go up and down.

    >>> means = BudgetSinusoidal(amp=0.3).means(horizon=1000, seed=0)
    >>> bool(means.rewards.min() >= 0.0 and means.costs.max() <= 1.0)
    True
    """

    amp: float = 0.2
    cycles: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        number("amp", self.amp, above=0.0, below=0.5, closed="[]")
        whole("cycles", self.cycles, high=10**6)

    def means(self, horizon: int, seed: int) -> Means:
        """A segment for every step of a cycle that the run meets; row 0 of the waves is rewards, the rest costs."""
        draws = generator(seed, "means")
        shape = (1 + self.resources, self.n_arms)
        bases, phases = draws.uniform(self.amp, 1.0 - self.amp, shape), draws.random(shape)
        met, rows = np.unique(np.arange(horizon) * self.cycles * STEPS // horizon % STEPS, return_inverse=True)
        turns = (met[:, None, None] + 0.5) / STEPS + phases
        waves = np.clip(bases + self.amp * np.sin(2.0 * np.pi * turns), 0.0, 1.0)  # the ends, but for rounding
        return Means.of(waves[:, 0], waves[:, 1:], rows)
