"""Rows of features under way in two generations (`numerics/generations.py`), and P = sum x x' over both.

With a fifth of rewards lost and a parameter that drifts, rows played long ago would otherwise hold back the search for
a change: their rewards never come, and bounds would be as narrow as if they had.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Decision, Scratch
from driftwise.families.contextual.pending_rows import (
    PendingRows,
    add_row,
    any_pending,
    clear_rows,
    copy_rows,
    drop_row,
    new_pending_rows,
)
from driftwise.numerics.generations import (
    OLD,
    YOUNG,
    Generations,
    generation_of,
    new_generations,
    opens_generation,
)


class PendingGenerations(NamedTuple):
    """The rows of both generations; `pairs` is room for P."""

    young: PendingRows
    old: PendingRows
    generations: Generations
    pairs: Scratch


def new_pending_generations(dim: int) -> PendingGenerations:
    """Nothing is under way."""
    return PendingGenerations(new_pending_rows(dim), new_pending_rows(dim), new_generations(), np.zeros((dim, dim)))


@kernel
def age_rows(pending: PendingGenerations, t: int) -> None:
    """Come to round `t`: it may open a new generation."""
    if opens_generation(pending.generations, t):
        copy_rows(pending.young, pending.old)
        clear_rows(pending.young)


@kernel
def pend_expected(policy: Any, state: Any, decision: Decision) -> None:
    """A row is under way: the `pend` of a policy whose state has such a field `pending`."""
    add_row(state.pending.young, decision.context, 1.0)


@kernel
def settle_expected(policy: Any, state: Any, decision: Decision) -> None:
    """A row is under way no longer; one that was dropped is not counted."""
    pending = state.pending
    generation = generation_of(pending.generations, decision.t)
    if generation == YOUNG:
        drop_row(pending.young, decision.context, 1.0)
    elif generation == OLD:
        drop_row(pending.old, decision.context, 1.0)


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
