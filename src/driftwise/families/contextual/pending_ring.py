"""The rows of features whose rewards are under way, by the round of their decision: for policies with a window.

A policy has a state with the fields `window` (`families/contextual/feature_window.py`) and `pending`, registers
`pend_in_ring` and `settle_in_ring`, and reads the rows when it chooses, while `waiting` is above 0. Round t owns the
slot t mod the length of the ring, which has room for a whole window. A round that has left the window no longer counts;
it stays until it settles, or a later round takes its slot.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Decision, Floats, PerFeature, Shared
from driftwise.families.contextual.feature_window import FeatureWindow

NOBODY = -1


class PendingRing(NamedTuple):
    """Rows under way, the round of each or NOBODY, and how many there are; rows of NOBODY are zero."""

    rows: PerFeature
    rounds: Shared
    waiting: Shared


def new_pending_ring(dim: int, window: int) -> PendingRing:
    """Nothing is under way."""
    return PendingRing(
        rows=np.zeros((window, dim)), rounds=np.full(window, NOBODY, np.int64), waiting=np.zeros(1, np.int64)
    )


@kernel
def pend_in_ring(policy: Any, state: Any, decision: Decision) -> None:
    """The reward of a decision is under way."""
    ring = state.pending
    slot = decision.t % len(ring.rounds)
    if ring.rounds[slot] == NOBODY:
        ring.waiting[0] += 1
    _put(ring, slot, decision.t, decision.context, 1.0)


@kernel
def settle_in_ring(policy: Any, state: Any, decision: Decision) -> None:
    """The reward of a decision is under way no longer."""
    ring = state.pending
    slot = decision.t % len(ring.rounds)
    if ring.rounds[slot] == decision.t:
        ring.waiting[0] -= 1
        _put(ring, slot, NOBODY, decision.context, 0.0)


@kernel
def _put(ring: PendingRing, slot: int, t: int, x: Floats, factor: float) -> None:
    ring.rounds[slot] = t
    for i in range(len(x)):
        ring.rows[slot, i] = factor * x[i]


@kernel
def slot_under_way(ring: PendingRing, window: FeatureWindow, t: int) -> int:
    """The slot of round `t`; NOBODY if its reward is not under way, or it has left the window."""
    if t < 0 or t < window.clock[0] - window.size[0]:
        return NOBODY
    slot = t % len(ring.rounds)
    return int(slot) if ring.rounds[slot] == t else NOBODY


@kernel
def clear_ring(ring: PendingRing) -> None:
    """Nothing is under way any more."""
    for slot in range(len(ring.rounds)):
        ring.rounds[slot] = NOBODY
        for i in range(ring.rows.shape[1]):
            ring.rows[slot, i] = 0.0
    ring.waiting[0] = 0
