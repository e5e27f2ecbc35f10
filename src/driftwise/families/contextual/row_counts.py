"""The pairs of a window told briefly: a row of features that repeats is kept once, with its count and sum of rewards.

Where the same actions are offered in every round, a sum over the window becomes a sum over the actions, whatever the
window. Rows that find no place among the `rows` kept are `loose`, and are read one by one from the window: with new
actions in every round that is nearly all of them, and nothing is gained or lost.

Everything here can be computed from the window. It is computed anew when a pass through the ring has ended, so that no
rounding of pairs long gone stays in the sums, and after the arms or features have changed.

    members   of a slot of the window: the place of its row among `rows`, or LOOSE
    gram      sum x x' over the window
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Cache, Floats
from driftwise.families.contextual.feature_window import FeatureWindow

LOOSE = -1


class Tally(NamedTuple):
    """Rows, how often each is in the window, and what it brought; `built` is False when all must be counted anew."""

    rows: Cache
    counts: Cache
    sums: Cache
    members: Cache
    loose: Cache
    gram: Cache
    built: Cache


def new_tally(n_rows: int, dim: int, window: int) -> Tally:
    """Nothing counted yet; up to `n_rows` different rows are kept."""
    return Tally(
        rows=np.zeros((n_rows, dim)),
        counts=np.zeros(n_rows, np.int64),
        sums=np.zeros(n_rows),
        members=np.full(window, LOOSE, np.int32),
        loose=np.zeros(1, np.int64),
        gram=np.zeros((dim, dim)),
        built=np.zeros(1, np.bool_),
    )


@kernel
def tally_gained(state: Any, slot: int) -> None:
    """The `gained` of a state with a `tally`."""
    if state.tally.built[0]:
        _join(state.tally, state.window, slot)


@kernel
def tally_lost(state: Any, slot: int) -> None:
    """The `lost` of a state with a `tally`."""
    if state.tally.built[0]:
        _leave(state.tally, state.window, slot)


@kernel
def tally_turned(state: Any) -> None:
    """The `turned` of a state with a `tally`: the next reader counts anew."""
    state.tally.built[0] = False


@kernel(inline=False)
def build(tally: Tally, window: FeatureWindow) -> None:
    """Count the whole window."""
    for place in range(len(tally.counts)):
        tally.counts[place] = 0
        tally.sums[place] = 0.0
    for i in range(len(tally.gram)):
        for j in range(len(tally.gram)):
            tally.gram[i, j] = 0.0
    tally.loose[0] = 0
    for slot in range(window.size[0]):
        if window.filled[slot]:
            _join(tally, window, slot)
    tally.built[0] = True


@kernel(inline=False)
def _join(tally: Tally, window: FeatureWindow, slot: int) -> None:
    x = window.features[slot]
    place = _place_for(tally, x)
    tally.members[slot] = place
    add_outer(tally.gram, x, 1.0)
    if place == LOOSE:
        tally.loose[0] += 1
        return
    if tally.counts[place] == 0:
        for i in range(len(x)):
            tally.rows[place, i] = x[i]
    tally.counts[place] += 1
    tally.sums[place] += window.rewards[slot]


@kernel(inline=False)
def _leave(tally: Tally, window: FeatureWindow, slot: int) -> None:
    place = tally.members[slot]
    add_outer(tally.gram, window.features[slot], -1.0)
    if place == LOOSE:
        tally.loose[0] -= 1
    else:
        tally.counts[place] -= 1
        tally.sums[place] -= window.rewards[slot]


@kernel
def _place_for(tally: Tally, x: Floats) -> int:
    """Where this very row is, else the first free place, else LOOSE."""
    free = LOOSE
    for place in range(len(tally.counts)):
        if tally.counts[place] == 0:
            if free == LOOSE:
                free = place
        elif _same(tally.rows[place], x):
            return place
    return free


@kernel
def _same(x: Floats, y: Floats) -> bool:
    i = 0
    while i < len(x) and x[i] == y[i]:
        i += 1
    return i == len(x)


@kernel
def add_outer(matrix: Floats, x: Floats, weight: float) -> None:
    """Add a multiple of x x'."""
    for i in range(len(x)):
        if x[i] != 0.0:
            for j in range(len(x)):
                matrix[i, j] += weight * x[i] * x[j]
