"""Moves counted over the last w completed episodes where kernels drift, and over all of them where they stand still.

A pair (state, action) is seen anew in every episode; what the running one shows is kept apart until it is over, so all
of it is planned with one and the same kernel. `counts` is what `optimistic_kernel.estimate` wants: a row of arms, and
for each how often every action in every state led to every state. Memory: w + 2 tables of arms x 2 x states x states.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Ints, PerArm, Shared
from driftwise.kernels.optimistic_kernel import DRIFTING


class EpisodeWindow(NamedTuple):
    """Counts per arm, action, state and next state; `ring` has the last episodes, one of them at `turn`."""

    counts: PerArm
    running: PerArm
    ring: PerArm
    turn: Shared


def new_episode_window(n_arms: int, n_states: int, window: int) -> EpisodeWindow:
    """Nothing seen yet."""
    shape = (n_arms, 2, n_states, n_states)
    return EpisodeWindow(
        counts=np.zeros(shape, np.int32),
        running=np.zeros(shape, np.int32),
        ring=np.zeros((n_arms, window, 2, n_states, n_states), np.int32),
        turn=np.zeros(1, np.int64),
    )


@kernel
def count_move(window: EpisodeWindow, arm: int, action: int, state: int, after: int) -> None:
    """An arm went from `state` to `after`."""
    window.running[arm, action, state, after] += 1


@kernel(inline=False)
def close_episode(window: EpisodeWindow, kinds: Ints) -> None:
    """Let the running episode count, and the one that is w episodes back no longer, where an arm's pair drifts.

    `kinds` says of every arm, action and state what is known of it.
    """
    turn = window.turn[0]
    arms, actions, states, _ = window.counts.shape
    for arm in range(arms):
        for action in range(actions):
            for state in range(states):
                drifts = kinds[arm, action, state] == DRIFTING
                for after in range(states):
                    seen = window.running[arm, action, state, after]
                    window.counts[arm, action, state, after] += seen
                    window.running[arm, action, state, after] = 0
                    if drifts:
                        window.counts[arm, action, state, after] -= window.ring[arm, turn, action, state, after]
                        window.ring[arm, turn, action, state, after] = seen
    window.turn[0] = (turn + 1) % window.ring.shape[1]
