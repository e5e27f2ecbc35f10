"""The last `size` rounds with the features of what was chosen: a ring of pairs (x, y), O(d^2) a round at any size.

The rule for late rewards is that of `numerics/window.py`: a reward enters by the round of its **decision**, is dropped
and counted as `stale` when that round has left the window, and is ignored when it came before.

A policy that slides over features has a state with the fields `window` and `scale` (`numerics/reward_scale.py`),
registers `slide_features` as its `advance`, calls `remember_features` in its `update`, and registers for its state what
to do with a pair: `gained` when it has come, `lost` when it has gone (its slot still holds it), and `turned` when a
pass through the ring ends. Those that keep a `ridge` share `gain_pair`, `lose_pair` and `turn_pass` below. Whichever of
them raises, the window has moved on and is whole.

A round whose reward is under way keeps its row in its slot until the reward comes, it is cancelled, or it leaves the
window. If choices depend on that, a policy registers `pend_features` and `settle_features`, and for its state `awaited`
when such a row has come and `forgone` when it has gone (its slot still holds it). A slot with neither holds zeros.

    clock   the round to be decided next: the window holds rounds clock - size .. clock - 1
    head    the slot of round `clock`, which is also that of round clock - size
    filled  slots with a pair
    pending slots with a row whose reward is under way
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Decision, Floats, PerFeature, Shared
from driftwise.core.verbs import awaited, forgone, gained, lost, turned
from driftwise.numerics.reward_scale import measure
from driftwise.numerics.ridge import absorb, audit, release


class FeatureWindow(NamedTuple):
    """Pairs in a ring."""

    features: PerFeature
    rewards: Shared
    filled: Shared
    pending: Shared
    size: Shared
    clock: Shared
    head: Shared
    stale: Shared


def new_feature_window(dim: int, window: int) -> FeatureWindow:
    """An empty window of `window` rounds."""
    return FeatureWindow(
        features=np.zeros((window, dim)),
        rewards=np.zeros(window),
        filled=np.zeros(window, np.bool_),
        pending=np.zeros(window, np.bool_),
        size=np.array([window], np.int64),
        clock=np.zeros(1, np.int64),
        head=np.zeros(1, np.int64),
        stale=np.zeros(1, np.int64),
    )


@kernel
def slide_features(policy: Any, state: Any, t: int, rng: Any) -> None:
    """Bring the window of `state` to round `t`: the `advance` of every policy with a window of features."""
    while state.window.clock[0] < t:
        _expire(state)


@kernel
def remember_features(state: Any, t: int, x: Floats, reward: float, now: int) -> None:
    """Enter the reward of the decision of round `t`, known at the end of round `now`."""
    while state.window.clock[0] <= now:
        _expire(state)
    window = state.window
    slot = _slot(window, t)
    if slot < 0:
        window.stale[0] += 1
        return
    if window.filled[slot]:
        return
    _forgo(state, slot)
    window.filled[slot] = True
    window.rewards[slot] = reward
    _put(window, slot, x)
    measure(state.scale, reward)
    gained(state, slot)


@kernel
def pend_features(policy: Any, state: Any, decision: Decision) -> None:
    """The reward of a decision is under way, once its round is over: the `pend` of policies with such a window."""
    window = state.window
    while window.clock[0] <= decision.t:
        _expire(state)
    slot = _slot(window, decision.t)
    if slot >= 0 and not (window.filled[slot] or window.pending[slot]):
        window.pending[slot] = True
        _put(window, slot, decision.context)
        awaited(state, slot)


@kernel
def settle_features(policy: Any, state: Any, decision: Decision) -> None:
    """The reward of a decision is under way no longer: the `settle` of policies with such a window."""
    slot = _slot(state.window, decision.t)
    if slot >= 0:
        _forgo(state, slot)


@kernel
def empty(window: FeatureWindow, memory: int) -> None:
    """As new, with room for `memory` rounds."""
    for slot in range(window.size[0]):
        window.filled[slot] = False
        window.pending[slot] = False
        _wipe(window, slot)
    window.size[0] = memory
    window.clock[0] = 0
    window.head[0] = 0


@kernel
def _expire(state: Any) -> None:
    """Move the clock one round on."""
    window = state.window
    slot = window.head[0]
    window.head[0] = slot + 1 if slot + 1 < window.size[0] else 0
    window.clock[0] += 1
    if window.filled[slot]:
        window.filled[slot] = False
        lost(state, slot)
        _wipe(window, slot)
    else:
        _forgo(state, slot)
    if window.head[0] == 0:
        turned(state)


@kernel
def _forgo(state: Any, slot: int) -> None:
    """What was under way in a slot, if anything, is so no longer."""
    window = state.window
    if window.pending[slot]:
        window.pending[slot] = False
        forgone(state, slot)
        _wipe(window, slot)


@kernel
def _slot(window: FeatureWindow, t: int) -> int:
    """Where round `t` is; -1 if it has left the window, or is yet to come."""
    age = window.clock[0] - t
    if age > window.size[0] or age < 1:
        return -1
    slot = window.head[0] - age
    return int(slot if slot >= 0 else slot + window.size[0])


@kernel
def _put(window: FeatureWindow, slot: int, x: Floats) -> None:
    """Let a slot hold a row."""
    for i in range(len(x)):
        window.features[slot, i] = x[i]


@kernel
def _wipe(window: FeatureWindow, slot: int) -> None:
    """Let a slot hold no row."""
    for i in range(window.features.shape[1]):
        window.features[slot, i] = 0.0


# For states with a `ridge`


@kernel
def gain_pair(state: Any, slot: int) -> None:
    """Take the pair of a slot into the ridge, and look after its inverse."""
    absorb(state.ridge, state.window.features[slot], state.window.rewards[slot])
    audit(state.ridge)


@kernel
def lose_pair(state: Any, slot: int) -> None:
    """Give the pair of a slot back."""
    release(state.ridge, state.window.features[slot], state.window.rewards[slot])


@kernel
def turn_pass(state: Any) -> None:
    """Nothing to do: the sums of a ridge keep no rounding of pairs long gone."""
