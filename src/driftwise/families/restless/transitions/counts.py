"""Transitions counted by episodes: what each group of arms did lately, over several windows of episodes at once.

A group is a class of arms, whose counts are pooled, or an arm by itself. View k of group g holds the last `sizes[g, k]`
episodes that have ended; a size of 0 holds all of them. Where arms have no episodes, every `period` slots count as one.

A transition that is told late enters the episode of its **decision**, and every view that still reaches back to it.
One whose episode has left the ring enters only views that hold all; where there are none it is stale, and counted so.
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Cache, Decision, Ints, Moves, PerArm, PerClass, Shared


class ClassCounts(NamedTuple):
    """Counts by class. Axes: group, view or place in the ring, action, state, next state."""

    views: PerClass
    ring: PerClass
    current: PerClass
    groups: Cache
    sizes: Cache
    episode: Shared
    period: Shared
    stale: Shared


class ArmCounts(NamedTuple):
    """Counts by arm. Axes: group, view or place in the ring, action, state, next state."""

    views: PerArm
    ring: PerArm
    current: PerArm
    groups: Cache
    sizes: Cache
    episode: Shared
    period: Shared
    stale: Shared


@overload
def new_counts(
    groups: Ints, n_groups: int, n_states: int, sizes: Ints, period: int, *, pooled: Literal[True]
) -> ClassCounts: ...
@overload
def new_counts(
    groups: Ints, n_groups: int, n_states: int, sizes: Ints, period: int, *, pooled: Literal[False]
) -> ArmCounts: ...
@overload
def new_counts(
    groups: Ints, n_groups: int, n_states: int, sizes: Ints, period: int, *, pooled: bool
) -> ClassCounts | ArmCounts: ...
def new_counts(
    groups: Ints, n_groups: int, n_states: int, sizes: Ints, period: int, *, pooled: bool
) -> ClassCounts | ArmCounts:
    """Nothing counted; `groups` says of each arm which group it is in, `sizes` has a row per group, or one for all."""
    square, room = (2, n_states, n_states), max(1, int(sizes.max()))
    sizes = np.array(np.broadcast_to(sizes, (n_groups, sizes.shape[-1])), np.int64)
    kind = ClassCounts if pooled else ArmCounts
    return kind(
        views=np.zeros((n_groups, sizes.shape[1], *square)),
        ring=np.zeros((n_groups, room, *square)),
        current=np.zeros((n_groups, *square)),
        groups=groups.astype(np.int64),
        sizes=sizes,
        episode=np.zeros(1, np.int64),
        period=np.array([period], np.int64),
        stale=np.zeros(1, np.int64),
    )


@kernel
def count_moves(counts: Any, decision: Decision, outcome: Moves) -> None:
    """Count what every arm did in the slot of a decision."""
    age, place = counts.episode[0] - decision.t // counts.period[0], 0
    room, seen, taken = counts.ring.shape[1], False, False
    for arm in range(len(decision.context)):
        action = 0
        if place < len(decision.action) and decision.action[place] == arm:
            action = 1
            place += 1
        here, there, group = decision.context[arm], outcome.states[arm], counts.groups[arm]
        if here < 0 or there < 0:
            continue
        seen = True
        if age <= 0:
            counts.current[group, action, here, there] += 1.0
            taken = True
            continue
        if age <= room:
            counts.ring[group, (counts.episode[0] - age) % room, action, here, there] += 1.0
        for view in range(counts.sizes.shape[1]):
            if counts.sizes[group, view] == 0 or age <= counts.sizes[group, view]:
                counts.views[group, view, action, here, there] += 1.0
                taken = True
    if seen and not taken:
        counts.stale[0] += 1


@kernel(inline=False)
def close_episode(counts: Any) -> None:
    """The episode at hand has ended: it enters every view, and the oldest of each leaves."""
    now, room = counts.episode[0], counts.ring.shape[1]
    slot, size = now % room, counts.current.shape[2]
    for group in range(len(counts.current)):
        for action in range(2):
            for here in range(size):
                for there in range(size):
                    seen = counts.current[group, action, here, there]
                    counts.current[group, action, here, there] = 0.0
                    for view in range(counts.sizes.shape[1]):
                        length, gone = counts.sizes[group, view], 0.0
                        if length > 0 and now >= length:
                            gone = counts.ring[group, (now - length) % room, action, here, there]
                        counts.views[group, view, action, here, there] += seen - gone
                    counts.ring[group, slot, action, here, there] = seen
    counts.episode[0] = now + 1


@kernel
def seen_from(counts: Any, group: int, here: int) -> float:
    """Transitions from a state, with either action, in the longest window and the episode at hand."""
    view, total = 0, 0.0
    for each in range(1, counts.sizes.shape[1]):
        if counts.sizes[group, each] > counts.sizes[group, view]:
            view = each
    for action in range(2):
        for there in range(counts.current.shape[2]):
            total += counts.views[group, view, action, here, there] + counts.current[group, action, here, there]
    return total
