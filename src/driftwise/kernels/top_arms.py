"""The arms to activate: the `count` with the largest indices, and among equals the lowest numbers, in O(N).

Indices are sums of many rounded terms, and ties are the rule early on: under the most hopeful kernels all states below
the top are worth the same. Which of two arms has the larger last digit must not decide, so indices within TIE of the
last one chosen count as equal to it.
"""

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints

TIE = 1e-7


@kernel(inline=False)
def top_arms(indices: Floats, copy: Floats, chosen: Ints) -> float:
    """Fill `chosen` with arms in order of their numbers; return the smallest index among the largest.

    `copy` is room of the size of `indices`. That index is the charge at which as many arms as these want activation.
    """
    for arm in range(len(indices)):
        copy[arm] = indices[arm]
    edge = _nth_largest(copy, len(chosen))
    above = 0
    for arm in range(len(indices)):
        above += 1 if indices[arm] > edge + TIE else 0
    spare, place = len(chosen) - above, 0
    for arm in range(len(indices)):
        index = indices[arm]
        tied = edge - TIE <= index <= edge + TIE and spare > 0
        if place < len(chosen) and (index > edge + TIE or tied):
            chosen[place] = arm
            place += 1
            spare -= 1 if tied else 0
    return edge


@kernel
def _nth_largest(values: Floats, n: int) -> float:
    """Hoare's selection; `values` are shuffled."""
    low, high, wanted = 0, len(values) - 1, n - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return float(values[wanted])
