"""ASC-MAB, abruptly and smoothly changing at once: SC-MAB whose wave jumps at every phase (Trovo et al. 2020, 5.3).

    w(t) = 1 + (K - 1)(1 + sin(sigma (t + shift_phi)))/2,    shift_phi = c T (phi - 1)/P,    phase phi = 1..P

The text says c = 1. The published tables fit c = 2 better, and neither fits all of them.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number
from driftwise.families.multi_armed.worlds.sc_mab import SCMAB
from driftwise.measure.phases import PhasedWorld


@dataclass(frozen=True, kw_only=True)
class ASCMAB(PhasedWorld, SCMAB):
    """A wandering peak that jumps when a phase ends.

    Parameters
    ----------
    phases : int
        Phases of equal length.
    shift : float
        How far the wave jumps, in phase lengths; 1 as the paper says, 2 as its tables suggest.
    """

    phases: int = 4
    shift: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number("shift", self.shift, above=0.0)

    def clock(self, rounds: Floats, horizon: int) -> Floats:
        """The round, shifted by its phase."""
        phase = np.searchsorted(self.changes(horizon, 0), rounds - 1, side="right")
        time: Floats = rounds + self.shift * horizon * phase / self.phases
        return time
