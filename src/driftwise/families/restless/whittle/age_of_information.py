"""Whittle's index of a source whose news grow old, in closed form, for the average cost.

The state is an age h = 1, 2, ..., S: activating it brings it to 1 with probability q, else, and when left alone, it
grows by one, up to S. A slot at age h costs f(h), which does not fall. The best policy activates from some age on; that
waiting until h and until h + 1 cost the same gives

    W(h) = q ( F(h+1) L(h) - F(h) (L(h) + 1) )        L(h) = h - 1 + 1/q, the mean length of a cycle
    F(h) = f(1) + ... + f(h-1) + G(h)                 its mean cost;  G(h) = f(h) + (1 - q) G(h+1),  G(S+1) = f(S) / q

For f(h) = h it is q h (h + (2 - q) / q) / 2 below the cap. (The idea is that of Tripathi & Modiano 2019.) The index for
a discount g tends to it as g tends to 1, at a distance of about 1 - g.
"""

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.core.validation import number
from driftwise.errors import ParameterError


@kernel(inline=False)
def age_indices(costs: Floats, success: float, out: Floats) -> None:
    """Write W(1) .. W(S) for the costs f(1) .. f(S) of ages and the chance q > 0 that activating succeeds."""
    size = len(costs)
    tail = costs[size - 1] / success
    for h in range(size - 1, -1, -1):  # out holds G meanwhile; f(S + 1) = f(S)
        tail = costs[h] + (1.0 - success) * tail
        out[h] = tail
    before = 0.0
    for h in range(size):
        total = before + out[h]
        later = out[h + 1] if h + 1 < size else costs[size - 1] / success
        length = h + 1.0 / success
        out[h] = success * ((costs[h] + later - out[h]) * length - total)
        before += costs[h]


def age_index(costs: Floats, success: float) -> Floats:
    """The index of every age from 1 on, for a cost per age and a chance of success.

    >>> age_index([1.0, 2.0, 3.0, 4.0], success=0.5).round(2).tolist()
    [0.88, 2.0, 3.0, 3.0]
    """
    chance = number("success", success, above=0.0, below=1.0, closed="]")
    ages = np.asarray(costs, np.float64)
    if ages.ndim != 1 or not len(ages) or not np.isfinite(ages).all() or (np.diff(ages) < 0.0).any():
        raise ParameterError(f"costs={costs} is not a row of finite numbers, one per age, that never fall")
    out = np.zeros(len(ages))
    age_indices(np.ascontiguousarray(ages), chance, out)
    return out
