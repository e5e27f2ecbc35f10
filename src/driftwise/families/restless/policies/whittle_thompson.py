"""Thompson sampling over transitions: every episode, Whittle indices of transitions drawn from what was seen lately.

    P(. | s, a) ~ Dirichlet( 1/2 + counts )        over the moves that can happen; counts of the last `window` episodes
    index_n       Whittle's index of arm n's state under the transitions drawn for its class

Rows that stand still are counted over all episodes, rows that are known are not drawn. Arms of a class share them.

| field | |
|---|---|
| window | episodes remembered of rows that drift |

Thompson 1933; for restless arms Jung & Tewari, *Regret bounds for Thompson sampling in episodic restless bandit
problems*, NeurIPS 2019, whose transitions stand still; the window is added here. Known in advance: a window fit for the
drift, and which moves can happen. Regret: O(sqrt(T) ln T) where transitions stand still and nothing is forgotten.

Late moves enter the episode of their decision. Propensity: 1, given the transitions drawn.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import branch, gamma
from driftwise.core.types import About, Cache, Problem, Scratch
from driftwise.core.validation import whole
from driftwise.core.verbs import register
from driftwise.families.restless.index_planning import Arms, PlanRoom, arms_of, indices_of, new_plan_room
from driftwise.families.restless.index_policy import (
    count_outcome,
    rank_by_index,
    select_by_index,
    summarise_by_index,
    time_to_plan,
)
from driftwise.families.restless.structure import DRIFTING, KNOWN, restless_problem
from driftwise.families.restless.transitions.counts import ClassCounts, new_counts

ALL, LATELY = 0, 1  # the two views
HALF, TINY = 0.5, 1e-12


class WhittleThompsonState(NamedTuple):
    """What was counted, and the index of every state of every class under the transitions drawn last."""

    counts: ClassCounts
    table: Cache
    fresh: Cache
    arms: Arms
    costs: Cache
    indices: Scratch
    spare: Scratch
    chosen: Scratch
    room: PlanRoom


class WhittleThompson(NamedTuple):
    """Whittle indices of transitions drawn at random.

    Parameters
    ----------
    window : int
        Episodes remembered of rows that drift.
    every : int
        Slots that count as an episode, where arms have none.

    >>> WhittleThompson(window=20)
    WhittleThompson(window=20, every=10)
    """

    window: int = 7
    every: int = 10

    def init(self, problem: Problem) -> WhittleThompsonState:
        """Nothing seen."""
        n_arms, active, structure = restless_problem("whittle-thompson", problem)
        sizes = np.array([0, whole("window", self.window, high=10**4)])
        period = int(structure.episode[0]) or whole("every", self.every, high=10**9)
        n_classes, n_states = structure.rewards.shape
        return WhittleThompsonState(
            counts=new_counts(structure.classes, n_classes, n_states, sizes, period, pooled=True),
            table=np.zeros((n_classes, n_states)),
            fresh=np.ones(1, np.int64),
            arms=arms_of(structure),
            costs=structure.costs.copy(),
            indices=np.zeros(n_arms),
            spare=np.zeros(n_arms),
            chosen=np.zeros(active, np.int64),
            room=new_plan_room(n_states),
        )


@kernel
def _advance(policy: WhittleThompson, state: WhittleThompsonState, t: int, rng: Any) -> None:
    if time_to_plan(state, t):
        _plan(state, branch(branch(rng)))


@kernel(inline=False)
def _plan(state: WhittleThompsonState, rng: Any) -> None:
    """Draw transitions for every class, and look up their indices."""
    arms, room = state.arms, state.room
    for own in range(len(state.table)):
        for action in range(2):
            for here in range(len(room.values)):
                rng = _draw_row(state, own, action, here, rng)
        indices_of(room, arms, own, room.transitions, state.table[own])


@kernel(inline=False)
def _draw_row(state: WhittleThompsonState, own: int, action: int, here: int, rng: Any) -> Any:
    """A row of transitions; the stream moved on."""
    arms, out, total = state.arms, state.room.transitions[action, here], 0.0
    kind = arms.kinds[own, action, here]
    seen = state.counts.views[own, LATELY if kind == DRIFTING else ALL, action, here]
    for there in range(len(out)):
        if kind == KNOWN:
            out[there] = arms.known[own, action, here, there]
        elif arms.allowed[own, action, here, there] > 0.0:
            drawn, rng = gamma(HALF + seen[there], rng)
            out[there] = max(TINY, drawn)
        else:
            out[there] = 0.0
        total += out[there]
    for there in range(len(out)):
        out[there] /= total
    return rng


register(
    WhittleThompson,
    about=About(
        "a window fit for the drift",
        "O(sqrt(T) ln T) where transitions stand still",
        "Jung & Tewari 2019",
        family="restless",
        learns_rewards=False,
    ),
    advance=_advance,
    select=select_by_index,
    update=count_outcome,
    rank=rank_by_index,
    summarise=summarise_by_index,
)
