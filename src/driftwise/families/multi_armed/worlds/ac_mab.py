"""AC-MAB, the abruptly changing world of the Sliding-Window Thompson Sampling paper (Trovo et al. 2020, section 5.1).

Phases of equal length, means i.i.d. uniform on [0, 1], and no arm optimal in two phases. The paper says the last
follows from the draw; it does not, so a phase is drawn again until its best arm is new.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.multi_armed.worlds.abrupt import Abrupt


@dataclass(frozen=True, kw_only=True)
class ACMAB(Abrupt):
    """Four phases of equal length, each with a best arm of its own.

    >>> table = ACMAB(n_arms=5).draw(horizon=1000, seed=0)[0].levels.table
    >>> len(set(table.argmax(axis=1)))
    4
    """

    phases: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.phases > self.n_arms:
            raise ParameterError(f"phases={self.phases} is more than n_arms={self.n_arms}: no arm may be best twice")

    def _table(self, draws: np.random.Generator) -> Floats:
        table = np.empty((self.phases, self.n_arms))
        taken: set[int] = set()
        for phase in range(self.phases):
            table[phase] = draws.random(self.n_arms)
            while int(table[phase].argmax()) in taken:
                table[phase] = draws.random(self.n_arms)
            taken.add(int(table[phase].argmax()))
        return table
