"""How long a policy takes to find its feet after a change."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftwise.core.kernel import kernel
from driftwise.core.types import Ints


def recovery_times(good: NDArray[np.bool_], changes: Sequence[int], *, span: int = 50, share: float = 0.8) -> Ints:
    """Rounds from each change until the best arm was chosen in `share` of `span` rounds in a row.

    A policy that has not recovered when the next change comes is charged the whole phase: the times are then lower
    bounds, as in survival analysis.

    >>> good = np.array([True] * 100 + [False] * 30 + [True] * 70)
    >>> recovery_times(good, [100], span=10, share=1.0)
    array([40])
    """
    times = np.empty(len(changes), np.int64)
    for i, (start, stop) in enumerate(pairwise([*changes, len(good)])):
        times[i] = _first_steady(good[start:stop], int(span), math.ceil(share * span - 1e-9))
    return times


@kernel
def _first_steady(good: NDArray[np.bool_], span: int, enough: int) -> int:
    """Rounds until `enough` of the last `span` were good; all of them when that never happens."""
    hits = 0
    for i in range(len(good)):
        hits += good[i]
        if i >= span:
            hits -= good[i - span]
        if i + 1 >= span and hits >= enough:
            return i + 1
    return len(good)
