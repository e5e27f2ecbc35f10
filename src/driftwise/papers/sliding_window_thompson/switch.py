"""Two arms that change places at half-time: the example of section 4.2, footnote 8."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number
from driftwise.families import Abrupt


@dataclass(frozen=True, kw_only=True)
class Switch(Abrupt):
    """One arm pays with probability `high`, the other with `low`; at half-time they change places.

    Parameters
    ----------
    high, low : float
        The two means.
    """

    n_arms: int = 2
    phases: int = 2
    high: float = 0.9
    low: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        number(
            "low", self.low, above=0.0, below=number("high", self.high, above=0.0, below=1.0, closed="[]"), closed="["
        )

    def _table(self, draws: np.random.Generator) -> Floats:
        return np.array([[self.high, self.low], [self.low, self.high]])
