"""Two arms in opposite swing: the gradual drift of Besbes, Gur & Zeevi (2018), as Cheung, Simchi-Levi & Zhu print it.

    theta_t(1) = 1/2 + 3/10 sin(5 B pi t / T),    theta_t(2) = 1/2 + 3/10 sin(pi + 5 B pi t / T),    t = 1..T

Hedging the Drift, section 9.1.1, says that the l2 variation of this pair is sqrt(2) B. It is 3 sqrt(2) B: the phase of
Besbes et al., 5 B pi t / (3 T), has the variation that is claimed. Both are here; the printed one is the default,
because the published comparison comes out with it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families.contextual.worlds.base import FeaturedWorld, Path

MIDDLE, SWING = 0.5, 0.3


@dataclass(frozen=True, kw_only=True)
class SinePair(FeaturedWorld):
    """Two arms that take turns at being the best.

    Parameters
    ----------
    variation : float
        The nominal variation budget B.
    thirds : int
        1 slows the swing to a third: the phase of Besbes et al., whose l2 variation tends to sqrt(2) B.

    >>> tape, nature = SinePair(variation=2.0).draw(horizon=100, seed=0)
    >>> tape.levels.table[[4, 9, 14]].round(3)  # a swing takes twenty rounds
    array([[0.8, 0.2],
           [0.5, 0.5],
           [0.2, 0.8]])
    """

    dim: int = 2
    n_actions: int = 2
    actions: str = "basis"
    variation: float = 1.0
    thirds: int = 0

    SETS: ClassVar[tuple[str, ...]] = ("basis",)

    def __post_init__(self) -> None:
        super().__post_init__()
        number("variation", self.variation, above=0.0)
        whole("thirds", self.thirds, low=0, high=1)
        if self.dim != 2:
            raise ParameterError(f"dim={self.dim} is not 2: this world has two arms")

    def path(self, horizon: int, seed: int) -> Path:
        """Nothing is random but the rewards."""
        speed = 5.0 * np.pi * self.variation / (horizon * (3 if self.thirds else 1))

        def theta(start: int, stop: int) -> Floats:
            swing = SWING * np.sin(speed * np.arange(start + 1, stop + 1))
            return np.stack([MIDDLE + swing, MIDDLE - swing], axis=1)

        return theta
