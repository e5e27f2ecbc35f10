"""Restless arms, seen from outside: the index of each in every state, and how often it was seen to move."""

from typing import Any

import numpy as np

from driftwise.core.types import Floats
from driftwise.families.restless.adapter import RestlessAdapter
from driftwise.families.restless.structure import ACTIONS


def index_table(adapter: RestlessAdapter, t: int) -> Floats:
    """The index of every arm in every state, (S, N), at round `t`; nan where the policy goes by none."""
    table = np.zeros((adapter.words.n_states, len(adapter.registry)))
    for state, indices in enumerate(table):
        adapter.rank(t, np.full(table.shape[1], state), indices)
    return table


def transitions_from(adapter: RestlessAdapter, index: int, state: int) -> dict[str, Floats] | None:
    """How often each transition from a state was seen of an arm, or of its type, in the policy's longest window.

    None where the policy counts no transitions.
    """
    counts: Any = getattr(adapter.state, "counts", None)
    if not hasattr(counts, "views"):
        return None
    group = counts.groups[index]
    view = int(np.argmax(counts.sizes[group]))
    moves = counts.views[group, view, :, state] + counts.current[group, :, state]
    return dict(zip(ACTIONS, moves, strict=True))


def episodes_in_window(adapter: RestlessAdapter) -> tuple[int, int] | None:
    """How many episodes a policy looks back, and how many rounds each has; None where it has no such window."""
    size, counts = getattr(adapter.policy, "window", None), getattr(adapter.state, "counts", None)
    if not isinstance(size, int) or counts is None:
        return None
    return size or int(counts.sizes.max()), int(counts.period[0])
