"""From what is believed of transitions to a table of Whittle indices, a row per group of arms.

    belief of a pair     KNOWN its row; else a ball around frequencies (`transitions/optimistic.py`), or a row as given
    table[g, s]          the index of state s under the most hopeful transitions of group g

The rewards of a slot are those of the state it leads to. That divides every index by the discount and changes no order:
they are worked out for rewards of the state the slot begins in, as the paper has them (`rewards_by_action`).
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Cache, Floats, Ints, Scratch, Shared
from driftwise.families.restless.structure import RestlessStructure, rewards_by_action
from driftwise.families.restless.top_m import floor_of
from driftwise.families.restless.transitions.optimistic import (
    HopeRoom,
    TransitionBall,
    estimate,
    hopeful_transitions,
    new_hope_room,
)
from driftwise.families.restless.whittle.advantage_lines import RestlessArm
from driftwise.families.restless.whittle.index import WhittleRoom, new_whittle_room, whittle_indices
from driftwise.families.restless.whittle.sweep import INDEXABLE


class Arms(NamedTuple):
    """What is known beforehand of every class of arms; rewards have a row each for passive and active.

    Arms whose index is below `floor` are left alone.
    """

    rewards: Cache
    allowed: Cache
    kinds: Cache
    known: Cache
    discount: Shared
    floor: Shared


class PlanRoom(NamedTuple):
    """Room to plan for one group at a time."""

    centre: Scratch
    radii: Scratch
    allowed: Scratch
    counts: Scratch
    transitions: Scratch
    values: Scratch
    hope: HopeRoom
    whittle: WhittleRoom


def arms_of(structure: RestlessStructure) -> Arms:
    """The classes of a structure."""
    return Arms(
        rewards=rewards_by_action(structure),
        allowed=structure.support.astype(np.float64),
        kinds=structure.kinds.copy(),
        known=structure.known.copy(),
        discount=structure.discount.copy(),
        floor=floor_of(structure),
    )


def new_plan_room(n_states: int) -> PlanRoom:
    """Room for arms with this many states."""
    square = (2, n_states, n_states)
    return PlanRoom(
        centre=np.zeros(square),
        radii=np.zeros((2, n_states)),
        allowed=np.zeros(square),
        counts=np.zeros(square),
        transitions=np.zeros(square),
        values=np.zeros(n_states),
        hope=new_hope_room(n_states),
        whittle=new_whittle_room(n_states),
    )


@kernel
def set_up(room: PlanRoom, arms: Arms, own: int) -> None:
    """Begin with a class: what may happen, and what is known."""
    for action in range(2):
        for here in range(len(room.values)):
            for there in range(len(room.values)):
                room.allowed[action, here, there] = arms.allowed[own, action, here, there]
                room.centre[action, here, there] = arms.known[own, action, here, there]


@kernel(inline=False)
def hopeful_indices(
    room: PlanRoom, arms: Arms, own: int, sizes: Any, slacks: Any, unseen: float, charge: float, out: Floats
) -> int:
    """Write the indices under the most hopeful transitions that `room.counts` allow; whether the arm is indexable."""
    set_up(room, arms, own)
    ball = TransitionBall(room.centre, room.radii, room.allowed)
    estimate(ball, room.counts, arms.kinds[own], sizes, slacks, unseen)
    for state in range(len(room.values)):
        room.values[state] = 0.0
    hopeful_transitions(room.hope, ball, arms.rewards[own], arms.discount[0], charge, room.values, room.transitions)
    return indices_of(room, arms, own, room.transitions, out)


@kernel
def indices_of(room: PlanRoom, arms: Arms, own: int, believed: Floats, out: Floats) -> int:
    """Write the indices under transitions that are believed; whether the arm is indexable."""
    rewards = arms.rewards[own]
    arm = RestlessArm(believed[0], believed[1], rewards[0], rewards[1], arms.discount[0])
    status = whittle_indices(room.whittle, arm, out)
    for state in range(len(out)):
        if not abs(out[state]) < np.inf:  # an index that does not exist earns no turn
            out[state] = 0.0
    return 1 if status == INDEXABLE else 0


@kernel
def read_indices(table: Floats, groups: Ints, costs: Floats, discount: float, states: Ints, out: Any) -> None:
    """The index of every arm in the state it is in, less what its activation costs."""
    for arm in range(len(states)):
        out[arm] = table[groups[arm], states[arm]] - discount * costs[arm]
