"""What arms earned and cost over several windows at once: one ring of rounds, a view of it for each window.

A view k is the last `sizes[k]` rounds, with each arm's count and sums in them; a size of 0 is all since the start.
Rounds in which the null arm was chosen pass and leave nothing. O(views) a round, whatever the sizes.

The rule for late outcomes: one enters by the round of its **decision**, into every view that still reaches back to it.
A second one for a round that the ring remembers changes nothing. Where no view is everything, one whose round has left
the ring is counted as `stale` and dropped.

A round whose outcome is under way holds -2 - arm in its slot: it counts in `pending` until its outcome comes, it is
cancelled, or it leaves the ring. `idle` counts rounds of the null arm that are under way: they cost nothing. `waiting`
counts both.

Sums that only add and subtract would keep the rounding of what is long gone: a sum is zero when its count is, and after
every pass through the ring all views are summed anew from it. So they are when arms come or go or the problem changes,
for then views may have other sizes.

A policy that uses it has a state with a field `window`, registers `pass_rounds` as its `advance`, `pend_spending` and
`settle_spending`, in its `update` calls `enter` for what it `awaits`, and registers `refresh` for its state: recompute
what it caches of one arm.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import ArmIds, Cache, Decision, Derived, Floats, Ints, PerArm, PerRound, Shared
from driftwise.core.verbs import refresh

EVER = 2**62  # how far a view reaches that holds everything
EMPTY = -1


class Spending(NamedTuple):
    """Rounds in a ring, statistics per arm and view.

    `clock` is the round to be decided next: view k holds rounds clock - sizes[k] .. clock - 1. After a restart every
    view that ends holds `memory` rounds instead. `left` is the value of the clock when a try of an arm left all views
    that end; -1 before. `fresh` is 1 while views must be summed anew before anything else.
    """

    arms: ArmIds
    rewards: PerRound
    costs: PerRound
    counts: PerArm
    sums: PerArm
    spent: PerArm
    pending: PerArm
    idle: Shared
    waiting: Cache
    left: PerArm
    sizes: Derived
    memory: Shared
    clock: Shared
    stale: Shared
    fresh: Cache


def new_spending(n_arms: int, resources: int, sizes: Ints, room: int = 1) -> Spending:
    """Empty views of these sizes; the ring is as long as the longest that ends, or has this `room` where none does."""
    room = int(sizes.max()) or room
    return Spending(
        arms=np.full(room, -1, np.int32),
        rewards=np.zeros(room),
        costs=np.zeros((room, resources)),
        counts=np.zeros((n_arms, len(sizes)), np.int64),
        sums=np.zeros((n_arms, len(sizes))),
        spent=np.zeros((n_arms, len(sizes), resources)),
        pending=np.zeros(n_arms, np.int64),
        idle=np.zeros(1, np.int64),
        waiting=np.zeros(1, np.int64),
        left=np.full(n_arms, -1, np.int64),
        sizes=sizes.astype(np.int64),
        memory=np.zeros(1, np.int64),
        clock=np.zeros(1, np.int64),
        stale=np.zeros(1, np.int64),
        fresh=np.ones(1, np.int64),
    )


@kernel
def pass_rounds(policy: Any, state: Any, t: int, rng: Any) -> None:
    """Bring the views to round `t`: the `advance` of policies with budgets that slide."""
    _catch_up(state)
    while state.window.clock[0] < t:
        _turn(state)


@kernel
def pend_spending(policy: Any, state: Any, decision: Decision) -> None:
    """The outcome of a decision is under way: the `pend` of policies with budgets that slide."""
    window, arm = state.window, decision.action
    _catch_up(state)
    while window.clock[0] <= decision.t:
        _turn(state)
    if arm < 0:
        window.idle[0] += 1
        window.waiting[0] += 1
        return
    slot = decision.t % len(window.arms)
    if window.clock[0] - decision.t <= len(window.arms) and window.arms[slot] == EMPTY:
        window.arms[slot] = -2 - arm
        window.pending[arm] += 1
        window.waiting[0] += 1
        refresh(state, arm)


@kernel
def settle_spending(policy: Any, state: Any, decision: Decision) -> None:
    """The outcome of a decision is under way no longer: the `settle` of policies with budgets that slide."""
    window, arm = state.window, decision.action
    if arm < 0:
        window.idle[0] -= 1
        window.waiting[0] -= 1
        return
    slot = decision.t % len(window.arms)
    if window.clock[0] - decision.t <= len(window.arms) and window.arms[slot] == -2 - arm:
        _forget_pending(state, slot)


@kernel(inline=False)
def _forget_pending(state: Any, slot: int) -> None:
    """The round in a slot, which was under way, no longer counts."""
    window = state.window
    arm = -2 - window.arms[slot]
    window.arms[slot] = EMPTY
    window.pending[arm] -= 1
    window.waiting[0] -= 1
    refresh(state, arm)


@kernel
def awaits(state: Any, t: int, now: int) -> bool:
    """Come to the end of round `now`; whether the outcome of the decision of round `t` can enter any view."""
    _catch_up(state)
    while state.window.clock[0] <= now:
        _turn(state)
    window, reach = state.window, 0
    for view in range(len(window.sizes)):
        reach = max(reach, _reach(window, view))
    age, room = window.clock[0] - t, len(window.arms)
    if age > reach:
        window.stale[0] += 1
        return False
    return bool(age > room or window.arms[t % room] < 0)


@kernel
def enter(state: Any, t: int, arm: int, reward: float, costs: Floats) -> None:
    """Enter the outcome of the decision of round `t`, which was awaited."""
    window = state.window
    age, room = window.clock[0] - t, len(window.arms)
    if age <= room:
        slot = t % room
        if window.arms[slot] < EMPTY:
            _forget_pending(state, slot)
        window.arms[slot] = arm
        window.rewards[slot] = reward
        for resource in range(len(costs)):
            window.costs[slot, resource] = costs[resource]
    for view in range(len(window.sizes)):
        if age <= _reach(window, view):
            _count(window, arm, view, reward, costs, 1)
    refresh(state, arm)


@kernel
def tried_before(window: Spending, arm: int) -> int:
    """In place of an arm of which the views hold nothing: of all such arms, the one that was tried longest ago.

    Where the longest view has a round for every arm this is the arm itself: none can be left out there.
    """
    if len(window.pending) <= (window.memory[0] or len(window.arms)) or _holds(window, arm):
        return arm
    first = arm
    for other in range(len(window.pending)):
        if window.left[other] < window.left[first] and not _holds(window, other):
            first = other
    return first


@kernel
def _holds(window: Spending, arm: int) -> bool:
    """Whether something is known of an arm, or under way."""
    in_use = window.pending[arm] > 0
    for view in range(len(window.sizes)):
        in_use = in_use or window.counts[arm, view] > 0
    return bool(in_use)


@kernel
def clear(window: Spending, memory: int) -> None:
    """As new, with views of `memory` rounds; only what came too late stays counted."""
    window.arms[:] = EMPTY
    window.pending[:] = 0
    window.idle[0] = 0
    window.waiting[0] = 0
    window.left[:] = -1
    window.counts[:] = 0
    window.sums[:] = 0.0
    window.spent[:] = 0.0
    window.clock[0] = 0
    window.memory[0] = memory


@kernel
def _reach(window: Spending, view: int) -> int:
    """How many rounds a view reaches back."""
    size = window.sizes[view]
    return EVER if size == 0 else window.memory[0] or size


@kernel
def _catch_up(state: Any) -> None:
    """Sum anew what was moved to other arms, or to views of other sizes."""
    if state.window.fresh[0]:
        state.window.fresh[0] = 0
        _recount(state)


@kernel
def _turn(state: Any) -> None:
    """One round on: what leaves a view is taken out of it."""
    window = state.window
    clock, room = window.clock[0], len(window.arms)
    head, changed = clock % room, -1
    window.clock[0] = clock + 1
    for view in range(len(window.sizes)):
        size = _reach(window, view)
        if size <= clock:
            slot = head - size if size <= head else head - size + room  # the round that this view no longer reaches
            arm = window.arms[slot]
            if arm >= 0:
                _count(window, arm, view, window.rewards[slot], window.costs[slot], -1)
                if changed >= 0 and changed != arm:
                    refresh(state, changed)
                changed = arm
    if changed >= 0:
        refresh(state, changed)
    _leave(state, head)
    window.arms[head] = EMPTY
    if head == room - 1 > 0:
        _recount(state)


@kernel
def _leave(state: Any, head: int) -> None:
    """A round leaves the longest view that ends: it is under way no longer, and its arm was tried then."""
    window = state.window
    slot = head - window.memory[0]  # without a restart the ring is as long as that view
    if slot < 0:
        slot += len(window.arms)
    arm = window.arms[slot]
    if arm < EMPTY:
        _forget_pending(state, slot)
        arm = -2 - arm
    if arm >= 0:
        window.left[arm] = window.clock[0]


@kernel
def _count(window: Spending, arm: int, view: int, reward: float, costs: Floats, sign: int) -> None:
    window.counts[arm, view] += sign
    gone = window.counts[arm, view] == 0
    window.sums[arm, view] = 0.0 if gone else window.sums[arm, view] + sign * reward
    for resource in range(len(costs)):
        total = window.spent[arm, view, resource] + sign * costs[resource]
        window.spent[arm, view, resource] = 0.0 if gone else total


@kernel(inline=False)
def _recount(state: Any) -> None:
    """Count and sum every view that ends anew, from the ring."""
    window = state.window
    room, n_arms = len(window.arms), len(window.counts)
    for view in range(len(window.sizes)):
        size = _reach(window, view)
        if size == EVER:
            continue
        for arm in range(n_arms):
            window.counts[arm, view] = 0
            window.sums[arm, view] = 0.0
            for resource in range(window.spent.shape[2]):
                window.spent[arm, view, resource] = 0.0
        for t in range(max(0, window.clock[0] - size), window.clock[0]):
            slot = t % room
            arm = window.arms[slot]
            if arm >= 0:
                window.counts[arm, view] += 1
                window.sums[arm, view] += window.rewards[slot]
                for resource in range(window.spent.shape[2]):
                    window.spent[arm, view, resource] += window.costs[slot, resource]
    window.pending[:] = 0
    window.waiting[0] = window.idle[0]
    for arm in window.arms:
        if arm < EMPTY:
            window.pending[-2 - arm] += 1
            window.waiting[0] += 1
    for arm in range(n_arms):
        refresh(state, arm)
