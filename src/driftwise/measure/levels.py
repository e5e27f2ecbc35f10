"""How the means of a world are kept: what stands still is stored once. And the blocks that tapes are drawn in."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.types import Floats
from driftwise.errors import ParameterError

BLOCK = 1 << 16  # rounds that are drawn at a time
BLOCK_NUMBERS = 1 << 22  # numbers in a block: 32 MB


class Levels(NamedTuple):
    """Means of a stretch of rounds: round i has row `rows[i]` of `table`. What stands still is stored once."""

    table: Floats
    rows: NDArray[np.int32]

    @classmethod
    def of_each_round(cls, means: Floats) -> "Levels":
        """Every round has a row of its own."""
        return cls(np.ascontiguousarray(means), np.arange(len(means), dtype=np.int32))


Drift = Callable[[int, int], Levels]


def phase_starts(phases: int, horizon: int) -> list[int]:
    """The first round of every phase but the first, when a horizon is cut into equal phases."""
    if phases > horizon:
        raise ParameterError(f"phases={phases} does not fit the horizon {horizon}: a phase needs a round")
    return [phase * horizon // phases for phase in range(1, phases)]
