"""Turns by a table of indices: what all policies that keep one do alike, whatever they believe of transitions.

Their states have `counts` of moves, a `table` of indices by group and state, `arms`, `costs`, room (`indices`, `spare`,
`chosen`), and `fresh`, which is 1 before the first plan.
"""

from typing import Any

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import Decision, Floats, Ints, Moves
from driftwise.families.restless.index_planning import read_indices
from driftwise.families.restless.top_m import kth_largest, leave_out_below, top_arms
from driftwise.families.restless.transitions.counts import close_episode, count_moves, seen_from


@kernel
def time_to_plan(state: Any, t: int) -> bool:
    """Come to slot `t`, closing the episodes that have ended; whether one did, or nothing was planned yet."""
    episode = t // state.counts.period[0]
    due: bool = state.fresh[0] == 1 or state.counts.episode[0] < episode
    while state.counts.episode[0] < episode:
        close_episode(state.counts)
    state.fresh[0] = 0
    return due


@kernel
def rank_by_index(policy: Any, state: Any, t: int, context: Ints, indices: Floats) -> None:
    """The index of every arm in the state it is in."""
    read_indices(state.table, state.counts.groups, state.costs, state.arms.discount[0], context, indices)


@kernel
def select_by_index(policy: Any, state: Any, t: int, context: Ints, rng: Any) -> tuple[Ints, float]:
    """The arms with the largest indices, of equal ones those with the lowest numbers."""
    rank_by_index(policy, state, t, context, state.indices)
    top_arms(state.indices, state.spare, state.chosen)
    leave_out_below(state.arms.floor[0], state.indices, state.chosen)
    return state.chosen, 1.0


@kernel
def summarise_by_index(policy: Any, state: Any, t: int, context: Ints, out: Summary) -> None:
    """The index of every arm in the state it is in, and what was seen of it, or of its class, there."""
    clear_summary(out)
    rank_by_index(policy, state, t, context, out.index)
    for arm in range(len(context)):
        out.count[arm] = seen_from(state.counts, state.counts.groups[arm], context[arm])


@kernel
def count_outcome(policy: Any, state: Any, decision: Decision, outcome: Moves, now: int) -> None:
    """Count where arms went."""
    count_moves(state.counts, decision, outcome)


@kernel
def count_and_charge(policy: Any, state: Any, decision: Decision, outcome: Moves, now: int) -> None:
    """Count where arms went; the last slot of an episode sets the charge: the M-th largest index, or 0 if that is less.

    Arms that were not there yet have no say in it.
    """
    count_moves(state.counts, decision, outcome)
    if (decision.t + 1) % state.counts.period[0] == 0:
        rank_by_index(policy, state, decision.t, decision.context, state.indices)
        for arm in range(len(decision.context)):
            if decision.context[arm] < 0:
                state.indices[arm] = -np.inf
        charge = kth_largest(state.indices, state.spare, len(state.chosen))
        if charge > -np.inf:
            state.charge[0] = max(0.0, charge)
