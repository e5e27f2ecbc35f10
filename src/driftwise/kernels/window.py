"""The last `size` rounds, and each arm's count and sum of rewards in them; O(1) a round whatever the size.

The rule for late rewards: a reward enters by the round of its **decision**, not of its arrival. Each round owns
one slot of the ring; a reward whose slot has left the window is counted as `stale` and dropped, one whose slot
is filled already is a duplicate and changes nothing.

Sums that only add and subtract would keep the rounding of a reward long gone. `fresh` sums what entered on the
present pass through the ring; when a pass ends it *is* the sum of the window, and takes its place.

A policy that slides has a state with a field `window`, registers `slide` as its `advance`, calls `remember` in its
`update`, and registers `refresh` for its state: recompute what it caches of one arm.

    size    rounds remembered: all the ring has room for, or fewer after `empty`
    clock   the round to be decided next: the window holds rounds clock - size .. clock - 1
    head    the slot of round `clock`, which is also that of round clock - size
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import ArmIds, PerArm, Shared
from driftwise.core.verbs import refresh

NONE, ALL = -1, -2


class Window(NamedTuple):
    """Rounds in a ring, statistics per arm."""

    arms: ArmIds
    rewards: Shared
    counts: PerArm
    sums: PerArm
    fresh: PerArm
    size: Shared
    clock: Shared
    head: Shared
    stale: Shared


def new_window(n_arms: int, window: int) -> Window:
    """An empty window of `window` rounds."""
    return Window(
        arms=np.full(window, -1, np.int32),
        rewards=np.zeros(window),
        counts=np.zeros(n_arms, np.int64),
        sums=np.zeros(n_arms),
        fresh=np.zeros(n_arms),
        size=np.array([window], np.int64),
        clock=np.zeros(1, np.int64),
        head=np.zeros(1, np.int64),
        stale=np.zeros(1, np.int64),
    )


@kernel
def slide(policy: Any, state: Any, t: int, rng: Any) -> None:
    """Bring the window of `state` to round `t`: the `advance` of every windowed policy."""
    while state.window.clock[0] < t:
        _settle(state, _expire(state.window))


@kernel
def remember(state: Any, t: int, arm: int, reward: float, now: int) -> None:
    """Enter the reward of the decision of round `t`, known at the end of round `now`."""
    left = NONE
    while state.window.clock[0] <= now:
        _settle(state, left)
        left = _expire(state.window)
    entered = _admit(state.window, t, arm, reward)
    if not (entered and left == arm):  # the usual round: one arm leaves and enters, and is refreshed once
        _settle(state, left)
    if entered:
        refresh(state, arm)


@kernel
def empty(window: Window, memory: int) -> None:
    """As new, with room for `memory` rounds; only what came too late stays counted."""
    for slot in range(window.size[0]):
        window.arms[slot] = -1
    for arm in range(len(window.counts)):
        window.counts[arm] = 0
        window.sums[arm] = 0.0
        window.fresh[arm] = 0.0
    window.size[0] = memory
    window.clock[0] = 0
    window.head[0] = 0


@kernel
def _settle(state: Any, arm: int) -> None:
    """Refresh what an expiry touched."""
    if arm >= 0:
        refresh(state, arm)
    elif arm == ALL:
        for each in range(len(state.window.counts)):
            refresh(state, each)


@kernel
def _expire(window: Window) -> int:
    """Move the clock one round on; the arm whose reward left, NONE, or ALL when a pass ended."""
    head = window.head[0]
    arm = int(window.arms[head])
    if arm >= 0:
        window.arms[head] = -1
        window.counts[arm] -= 1
        window.sums[arm] -= window.rewards[head]
    head += 1
    if head == window.size[0]:
        head = 0
        arm = ALL
        for each in range(len(window.sums)):
            window.sums[each] = window.fresh[each]
            window.fresh[each] = 0.0
    window.head[0] = head
    window.clock[0] += 1
    return arm


@kernel
def _admit(window: Window, t: int, arm: int, reward: float) -> bool:
    """Enter the reward of round `t`; False when it is stale or a duplicate."""
    size = window.size[0]
    age = window.clock[0] - t
    if age > size:
        window.stale[0] += 1
        return False
    slot = window.head[0] - age
    current_pass = slot >= 0
    if not current_pass:
        slot += size
    if window.arms[slot] >= 0:
        return False
    window.arms[slot] = arm
    window.rewards[slot] = reward
    window.counts[arm] += 1
    window.sums[arm] += reward
    if current_pass:
        window.fresh[arm] += reward
    return True
