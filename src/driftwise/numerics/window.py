"""The last `size` rounds, and each arm's count and sum of rewards in them; O(1) a round whatever the size.

The rule for late rewards: a reward enters by the round of its **decision**, not of its arrival. Each round owns
one slot of the ring; a reward whose slot has left the window is counted as `stale` and dropped, one whose slot
is filled already is a duplicate and changes nothing.

Sums that only add and subtract would keep the rounding of a reward long gone. `fresh` sums what entered on the
present pass through the ring; when a pass ends it *is* the sum of the window, and takes its place.

A round whose reward is under way holds -2 - arm in its slot: it counts as a try of that arm (`numerics/pending.py`)
until its reward comes, it is cancelled, or it leaves the window.

A policy that slides has a state with a field `window`, registers `slide` as its `advance`, calls `remember` in its
`update`, and registers `refresh` for its state: recompute what it caches of one arm. It registers `pend_round` and
`settle_round` if its choices depend on what is under way.

    size    rounds remembered: all the ring has room for, or fewer after `empty`
    clock   the round to be decided next: the window holds rounds clock - size .. clock - 1
    head    the slot of round `clock`, which is also that of round clock - size
    left    the value of the clock when a try of an arm left the window last; -1 before
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import ArmIds, Decision, PerArm, Shared
from driftwise.core.verbs import refresh
from driftwise.numerics.pending import Pending, find_middle, new_pending

NONE, ALL = -1, -2


class Window(NamedTuple):
    """Rounds in a ring, statistics per arm."""

    arms: ArmIds
    rewards: Shared
    counts: PerArm
    sums: PerArm
    fresh: PerArm
    pending: Pending
    left: PerArm
    size: Shared
    clock: Shared
    head: Shared
    stale: Shared


def new_window(n_arms: int, window: int, middle: float = 0.5) -> Window:
    """An empty window of `window` rounds, whose rewards have this `middle`."""
    return Window(
        arms=np.full(window, -1, np.int32),
        rewards=np.zeros(window),
        counts=np.zeros(n_arms, np.int64),
        sums=np.zeros(n_arms),
        fresh=np.zeros(n_arms),
        pending=new_pending(n_arms, middle),
        left=np.full(n_arms, -1, np.int64),
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
    arm_out = NONE
    while state.window.clock[0] <= now:
        _settle(state, arm_out)
        arm_out = _expire(state.window)
    entered = _admit(state.window, t, arm, reward)
    if not (entered and arm_out == arm):  # the usual round: one arm leaves and enters, and is refreshed once
        _settle(state, arm_out)
    if entered:
        refresh(state, arm)


@kernel
def pend_round(policy: Any, state: Any, decision: Decision) -> None:
    """The reward of a decision is under way: the `pend` of windowed policies."""
    await_reward(state, decision.t, decision.action)


@kernel
def settle_round(policy: Any, state: Any, decision: Decision) -> None:
    """The reward of a decision is under way no longer: the `settle` of windowed policies."""
    await_no_more(state, decision.t, decision.action)


@kernel
def await_reward(state: Any, t: int, arm: int) -> None:
    """Let the reward of the decision of round `t` pend, once that round is over."""
    window = state.window
    while window.clock[0] <= t:
        _settle(state, _expire(window))
    if find_middle(window.pending, window.counts, window.sums):
        _settle(state, ALL)
    slot = _slot(window, t)
    if slot >= 0 and window.arms[slot] == NONE:
        window.arms[slot] = -2 - arm
        window.pending.counts[arm] += 1
        refresh(state, arm)


@kernel
def await_no_more(state: Any, t: int, arm: int) -> None:
    """The reward of the decision of round `t` pends no longer, if it did and is still in the window."""
    window = state.window
    slot = _slot(window, t)
    if slot >= 0 and window.arms[slot] == -2 - arm:
        window.arms[slot] = NONE
        window.pending.counts[arm] -= 1
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
        window.pending.counts[arm] = 0
        window.left[arm] = -1
    window.pending.middle[0] = window.pending.middle[1]
    window.size[0] = memory
    window.clock[0] = 0
    window.head[0] = 0


@kernel
def _settle(state: Any, arm: int) -> None:
    """Refresh what an expiry touched: one arm, none, or all."""
    first, end = arm, arm + 1
    if arm < 0:
        first, end = 0, len(state.window.counts) if arm == ALL else 0
    for each in range(first, end):
        refresh(state, each)


@kernel
def _expire(window: Window) -> int:
    """Move the clock one round on; the arm of which a try left, NONE, or ALL when a pass ended."""
    head = window.head[0]
    arm = int(window.arms[head])
    if arm >= 0:
        window.arms[head] = -1
        window.counts[arm] -= 1
        window.sums[arm] -= window.rewards[head]
        window.left[arm] = window.clock[0]
    elif arm != NONE:
        arm = -2 - arm
        window.arms[head] = -1
        window.pending.counts[arm] -= 1
        window.left[arm] = window.clock[0]
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
def _slot(window: Window, t: int) -> int:
    """Where round `t` is; -1 if it has left the window, or is yet to come."""
    age = window.clock[0] - t
    if age > window.size[0] or age < 1:
        return -1
    slot = window.head[0] - age
    return int(slot if slot >= 0 else slot + window.size[0])


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
    if window.arms[slot] != NONE:
        window.pending.counts[-2 - window.arms[slot]] -= 1
    window.arms[slot] = arm
    window.rewards[slot] = reward
    window.counts[arm] += 1
    window.sums[arm] += reward
    if current_pass:
        window.fresh[arm] += reward
    return True
