"""The last `size` rounds with the features of what was chosen: a ring of pairs (x, y), O(d^2) a round at any size.

The rule for late rewards is that of `kernels/window.py`: a reward enters by the round of its **decision**, is dropped
and counted as `stale` when that round has left the window, and is ignored when it came before.

A policy that slides over features has a state with the fields `window` and `scale` (`kernels/reward_scale.py`),
registers `slide_features` as its `advance`, calls `remember_features` in its `update`, and registers for its state what
to do with a pair: `gained` when it has come, `lost` when it has gone (its slot still holds it), and `turned` when a
pass through the ring ends. Those that keep a `ridge` share `gain_pair`, `lose_pair` and `turn_pass` below. Whichever of
them raises, the window has moved on and is whole.

    clock   the round to be decided next: the window holds rounds clock - size .. clock - 1
    head    the slot of round `clock`, which is also that of round clock - size
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, PerFeature, Shared
from driftwise.core.verbs import gained, lost, turned
from driftwise.kernels.reward_scale import measure
from driftwise.kernels.ridge import absorb, audit, release


class FeatureWindow(NamedTuple):
    """Pairs in a ring."""

    features: PerFeature
    rewards: Shared
    filled: Shared
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
    age = window.clock[0] - t
    if age > window.size[0]:
        window.stale[0] += 1
        return
    slot = window.head[0] - age
    if slot < 0:
        slot += window.size[0]
    if window.filled[slot]:
        return
    window.filled[slot] = True
    window.rewards[slot] = reward
    for i in range(len(x)):
        window.features[slot, i] = x[i]
    measure(state.scale, reward)
    gained(state, slot)


@kernel
def empty(window: FeatureWindow, memory: int) -> None:
    """As new, with room for `memory` rounds."""
    for slot in range(window.size[0]):
        window.filled[slot] = False
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
    if window.head[0] == 0:
        turned(state)


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
