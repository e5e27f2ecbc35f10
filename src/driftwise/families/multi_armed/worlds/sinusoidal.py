"""Means that come and go like seasons; the arms peak one after another."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.validation import number
from driftwise.errors import ParameterError
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Drift, Levels


@dataclass(frozen=True, kw_only=True)
class Sinusoidal(ArmedWorld):
    """mean_k(t) = middle + amplitude sin(2 pi (cycles t / T - k / K)).

    Parameters
    ----------
    cycles : float
        How often each arm comes round within the horizon.
    middle, amplitude : float
        Where the means swing, and how far; they stay within [0, 1] for Bernoulli rewards.
    """

    cycles: float = 2.0
    middle: float = 0.5
    amplitude: float = 0.4

    def __post_init__(self) -> None:
        super().__post_init__()
        number("cycles", self.cycles, above=0.0)
        number("middle", self.middle)
        number("amplitude", self.amplitude, above=0.0)
        lowest, highest = self.middle - self.amplitude, self.middle + self.amplitude
        if self.rewards == "bernoulli" and not 0.0 <= lowest <= highest <= 1.0:
            raise ParameterError(f"means from {lowest:g} to {highest:g} are outside [0, 1]: lower the amplitude")

    def drift(self, horizon: int, seed: int) -> Drift:
        """Nothing is random but the rewards."""
        offsets = np.arange(self.n_arms) / self.n_arms

        def levels(start: int, stop: int) -> Levels:
            turns = self.cycles * np.arange(start, stop)[:, None] / horizon - offsets
            return Levels.of_each_round(self.middle + self.amplitude * np.sin(2.0 * np.pi * turns))

        return levels
