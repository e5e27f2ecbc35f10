"""The arms to activate: those with the largest indices, in ascending order of their numbers.

Ties are the rule where arms are alike, and what is the same may differ in the last bits of a sum. Indices within TIE of
each other count as equal, and of equal ones the lowest numbers win:

    chosen for sure   index > level + TIE         level: the M-th largest index
    then, in order    index >= level - TIE        as many as are wanting

An index that is not a number is below all others. Where at most M arms are to be activated, those with an index below 0
are left alone (`leave_out_below`). O(N) a choice, by quickselect.
"""

import math

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints
from driftwise.families.restless.structure import RestlessStructure

TIE = 1e-7
NOBODY = -1  # in the place of an arm, where fewer are activated than may be


def floor_of(structure: RestlessStructure) -> Floats:
    """The index below which no arm is activated."""
    return np.array([0.0 if structure.at_most[0] else -np.inf])


@kernel
def top_arms(indices: Floats, room: Floats, active: Ints) -> float:
    """Fill `active` with the arms of the largest indices; return the smallest of those indices.

    At a charge of so much, as many arms as these are worth activating. `room` is as long as `indices`.
    """
    level = kth_largest(indices, room, len(active))
    wanting = len(active)
    for arm in range(len(indices)):
        if _solid(indices[arm]) > level + TIE:
            wanting -= 1
    place = 0
    for arm in range(len(indices)):
        index = _solid(indices[arm])
        sure = index > level + TIE
        if sure or (wanting > 0 and index >= level - TIE):
            wanting -= not sure
            active[place] = arm
            place += 1
    return level


@kernel
def leave_out_below(floor: float, indices: Floats, active: Ints) -> None:
    """Leave arms out of `active` whose index is below the floor; the places at its end that become free hold NOBODY."""
    if floor == -math.inf:
        return
    count = 0
    for place in range(len(active)):
        arm = active[place]
        if indices[arm] >= floor - TIE:
            active[count] = arm
            count += 1
    for place in range(count, len(active)):
        active[place] = NOBODY


@kernel
def _solid(index: float) -> float:
    return index if index == index else -math.inf


@kernel(inline=False)
def kth_largest(values: Floats, room: Floats, k: int) -> float:
    """The k-th largest of some numbers, counted from 1; `room` is written over."""
    for i in range(len(values)):
        room[i] = _solid(values[i])
    low, high, place = 0, len(values) - 1, k - 1
    while low < high:
        pivot = room[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while room[i] > pivot:
                i += 1
            while room[j] < pivot:
                j -= 1
            if i <= j:
                room[i], room[j] = room[j], room[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return float(room[place])
