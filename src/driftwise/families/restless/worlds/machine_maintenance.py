"""Machines that wear out, and a crew that can look after a few of them at a time.

    left alone   s -> s + 1 with the chance of wear of its class, else it stays        state 0 is as good as new
    serviced     s -> 0 with the chance `mended`, else it stays                        the last state is broken
    earns        1 - (s / (states - 1))^2 in the state it reaches, less `cost` for each service

Machines of a class wear alike, by a chance that drifts with what they are used for: classes start at chances from
`wear_low` to `wear_high`, spread evenly. Wear and repair must both be learned; only wear drifts. Machines never start
over: episodes pace the drift.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families.restless.structure import DRIFTING, STATIONARY, RestlessStructure, restless
from driftwise.families.restless.worlds.base import RestlessWorld, near, steps
from driftwise.families.restless.worlds.wandering import Wandering


@dataclass(frozen=True, kw_only=True)
class MachineMaintenance(RestlessWorld):
    """Classes of machines that wear by drifting chances; a service brings a machine back to new.

    Parameters
    ----------
    makes : int
        Classes of machines.
    wear_states : int
        States of a machine, from as good as new to broken.
    wear_low, wear_high : float
        The least and the largest chance of wear in the first episode.
    mended : float
        The chance that a service succeeds.
    cost : float
        Of a service.

    >>> MachineMaintenance(makes=2).problem().structure.rewards[0].round(2)
    array([1.  , 0.94, 0.75, 0.44, 0.  ])
    """

    n_arms: int = 30
    activate: int = 4
    episode: int = 50
    upward: float = 0.5
    makes: int = 3
    wear_states: int = 5
    wear_low: float = 0.05
    wear_high: float = 0.3
    mended: float = 0.9
    cost: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("makes", self.makes, high=self.n_arms)
        whole("wear_states", self.wear_states, low=2, high=1000)
        for name in ("wear_low", "wear_high", "mended"):
            number(name, getattr(self, name), above=0.0, below=1.0, closed="[]")
        number("cost", self.cost)
        if self.wear_low > self.wear_high:
            raise ParameterError(f"wear_low={self.wear_low:g} is above wear_high={self.wear_high:g}")

    @property
    def labels(self) -> list[str]:
        """The chance of wear of every class."""
        return [f"wear of make {make}" for make in range(self.makes)]

    def numbers(self, seed: int) -> Wandering:
        """Chances of wear, evenly spread at first."""
        starts = np.linspace(self.wear_low, self.wear_high, self.makes)
        return Wandering(starts, np.full(self.makes, 0.01), np.full(self.makes, 0.6))

    def structure(self) -> RestlessStructure:
        """Machines wear by one state at a time, and a service brings them back to new or does nothing."""
        kinds = np.repeat([[DRIFTING], [STATIONARY]], self.wear_states, axis=1)
        worn = np.arange(self.wear_states) / (self.wear_states - 1)
        return restless(
            np.tile(1.0 - worn**2, (self.makes, 1)),
            n_arms=self.n_arms,
            classes=np.arange(self.n_arms) % self.makes,
            support=np.stack([near(True, False, self.wear_states), self._service(0.5) > 0.0]),
            kinds=kinds,
            episode=self.episode if self.restarts else 0,
            discount=self.discount,
            costs=self.cost,
        )

    def transitions(self, path: Floats) -> Floats:
        """Wear when left alone, a fresh start when serviced."""
        transitions = np.empty((*path.shape, 2, self.wear_states, self.wear_states))
        transitions[:, :, 0] = steps(path, np.zeros(1), self.wear_states)
        transitions[:, :, 1] = self._service(self.mended)
        return transitions

    def _service(self, mended: float) -> Floats:
        chances = (1.0 - mended) * np.eye(self.wear_states)
        chances[:, 0] += mended
        return chances
