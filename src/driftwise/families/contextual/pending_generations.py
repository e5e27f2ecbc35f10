"""Rows under way in two generations: those that wait far longer than rewards take are no longer expected.

    mean delay D of rewards, over the last MEMORY or so
    a decision t opens a new generation when the young one is SPAN D rounds old: the young rows become the old ones, and
    what is left of the old ones is dropped
    P = sum x x' over the rows under way of both generations

A reward that is lost never settles, or settles when nobody can expect it any more. To count its row until then would
narrow bounds by rewards that never come: with a fifth of rewards lost and a drifting parameter, rows played long ago
would hold back the search for a change. A row counts for SPAN D rounds at least and 2 SPAN D at most. Until the first
reward has come nothing is known of delays, and all rows count.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Decision, Scratch, Shared
from driftwise.families.contextual.pending_rows import (
    PendingRows,
    add_row,
    any_pending,
    clear_rows,
    copy_rows,
    drop_row,
    new_pending_rows,
)

SPAN = 2.0
MEMORY = 2000.0
YOUNG, OLD = range(2)


class PendingGenerations(NamedTuple):
    """The rows of both generations, the rounds these began in, and number and mean of delays."""

    young: PendingRows
    old: PendingRows
    starts: Shared
    delays: Shared
    pairs: Scratch


def new_generations(dim: int) -> PendingGenerations:
    """Nothing is under way."""
    return PendingGenerations(
        young=new_pending_rows(dim),
        old=new_pending_rows(dim),
        starts=np.zeros(2, np.int64),
        delays=np.zeros(2),
        pairs=np.zeros((dim, dim)),
    )


@kernel
def pend_expected(policy: Any, state: Any, decision: Decision) -> None:
    """A row is under way: the `pend` of a policy whose state has such a field `pending`."""
    pending = state.pending
    if pending.delays[0] > 0.0 and decision.t - pending.starts[YOUNG] > SPAN * pending.delays[1]:
        copy_rows(pending.young, pending.old)
        clear_rows(pending.young)
        pending.starts[OLD], pending.starts[YOUNG] = pending.starts[YOUNG], decision.t
    add_row(pending.young, decision.context, 1.0)


@kernel
def settle_expected(policy: Any, state: Any, decision: Decision) -> None:
    """A row is under way no longer; one that was dropped is not counted."""
    pending = state.pending
    if decision.t >= pending.starts[YOUNG]:
        drop_row(pending.young, decision.context, 1.0)
    elif decision.t >= pending.starts[OLD]:
        drop_row(pending.old, decision.context, 1.0)


@kernel
def learn_delay(pending: PendingGenerations, rounds: int) -> None:
    """A reward came so many rounds after its decision."""
    pending.delays[0] = min(pending.delays[0] + 1.0, MEMORY)
    pending.delays[1] += (rounds - pending.delays[1]) / pending.delays[0]


@kernel
def any_expected(pending: PendingGenerations) -> bool:
    """Whether a row is under way in either generation."""
    return bool(any_pending(pending.young) or any_pending(pending.old))


@kernel
def add_generations(pending: PendingGenerations) -> None:
    """Write P to `pairs`."""
    for i in range(len(pending.pairs)):
        for j in range(len(pending.pairs)):
            pending.pairs[i, j] = pending.young.pairs[i, j] + pending.old.pairs[i, j]
