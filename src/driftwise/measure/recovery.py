"""How long a policy takes to find its feet after a change."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftwise.core.types import Ints


def recovery_times(good: NDArray[np.bool_], changes: Sequence[int], *, span: int = 50, share: float = 0.8) -> Ints:
    """Rounds from each change until the best arm was chosen in `share` of `span` rounds in a row.

    A policy that has not recovered when the next change comes is charged the whole phase: the times are then lower
    bounds, as in survival analysis.

    >>> good = np.array([True] * 100 + [False] * 30 + [True] * 70)
    >>> recovery_times(good, [100], span=10, share=1.0)
    array([40])
    """
    times = []
    for start, stop in pairwise([*changes, len(good)]):
        hits = np.cumsum(np.concatenate([[0], good[start:stop]]))
        windows = hits[span:] - hits[:-span] if stop - start >= span else np.zeros(0, np.int64)
        steady = np.flatnonzero(windows >= share * span - 1e-9)
        times.append(int(steady[0]) + span if len(steady) else stop - start)
    return np.array(times, np.int64)
