"""The most hopeful transitions of an arm: of all that the data allow, those under which it is worth most.

    max over P in the ball of V     V(s) = max_a ( r_a(s) - charge a + g sum_s' P(s' | s, a) V(s') )        (15), (16)
    the ball: |P(. | s, a) - centre(s, a)|_1 <= radius(s, a), and no move that is not allowed, for every pair (s, a)

(Shisher, Tripathi, Chiang & Brinton, *Online learning of Whittle indices for restless bandits with non-stationary
transition kernels*.) Each pair has a ball of its own, so one matrix is best from every state, and it is found as a
policy is: given V, a row gives radius / 2 of its mass to the best state it may reach and takes it from the worst ones.

* **Extended policy iteration**: best rows, best actions, and V solved for, until V cannot be bettered: three or four
  rounds, where value iteration takes 1,300 at a discount of 0.99. V from last time is a good start.
* **In one go**, where the order of the states by V is known beforehand, as in the paper's Appendix D: V grows with the
  state of a one-dimensional arm and falls with age. With two outcomes p becomes min(1, p + radius / 2).

What is known of a pair says its kind. KNOWN: centre is its row and radius 0. STATIONARY, Z1, is counted over all
episodes, DRIFTING, Z2, over the last w. A pair seen C times has radius sqrt(size / C) + slack:

| kind | size | slack |
|---|---|---|
| STATIONARY | 2 S ln(2 Z1 N T / eta1) | 0 |
| DRIFTING | 2 S ln(2 Z2 N T / eta2) | w eps |

with S states, Z pairs of that kind, N arms, T episodes and a drift of at most eps per episode. A pair never seen may go
anywhere it is allowed to go: its radius is `unseen`, 2 when no row is ruled out.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints, Scratch
from driftwise.numerics.lu import back_substitute, factor

Flags = NDArray[np.bool_]
Counts = NDArray[Any]

KNOWN, STATIONARY, DRIFTING = 0, 1, 2
VACUOUS = 2.0  # a radius at which the ball holds every distribution
SETTLED = 1e-12  # of the largest value: what no longer counts as better
MOST_ROUNDS = 1000


class TransitionBall(NamedTuple):
    """For every action, state (and next state): the middle of the ball, its radius, and which moves there may be."""

    centre: Floats
    radii: Floats
    allowed: Flags


class HopeRoom(NamedTuple):
    """Room to find the most hopeful transitions of one arm at a time."""

    order: Scratch
    factors: Scratch
    solution: Scratch
    pivots: Scratch


def new_hope_room(n_states: int) -> HopeRoom:
    """Room for arms with this many states."""
    return HopeRoom(
        order=np.zeros(n_states, np.int64),
        factors=np.zeros((n_states, n_states)),
        solution=np.zeros((n_states, 1)),
        pivots=np.zeros(n_states, np.int64),
    )


@kernel
def ball_size(n_states: int, n_pairs: int, n_arms: int, n_episodes: int, eta: float) -> float:
    """What a squared radius is before it is divided by the count: 2 S ln(2 Z N T / eta)."""
    return 2.0 * n_states * math.log(2.0 * max(n_pairs, 1) * n_arms * n_episodes / eta)


@kernel(inline=False)
def estimate(ball: TransitionBall, counts: Counts, kinds: Ints, sizes: Floats, slacks: Floats, unseen: float) -> None:
    """The ball around what has been counted; rows of known pairs stay as they are.

    `counts` holds the moves of every action and state, `sizes` and `slacks` have an entry per kind. The middle of a
    pair never seen is spread evenly over the moves that are allowed.
    """
    for action in range(2):
        for state in range(counts.shape[1]):
            kind = kinds[action, state]
            if kind == KNOWN:
                ball.radii[action, state] = 0.0
                continue
            seen = _frequencies(counts[action, state], ball.allowed[action, state], ball.centre[action, state])
            radius = math.sqrt(sizes[kind] / seen) + slacks[kind] if seen > 0.0 else unseen
            ball.radii[action, state] = radius


@kernel
def _frequencies(counts: Counts, allowed: Flags, out: Floats) -> float:
    """Write the frequencies of moves from one pair; return how often it was seen."""
    seen, places = 0.0, 0
    for s in range(len(counts)):
        seen += counts[s]
        places += 1 if allowed[s] else 0
    for s in range(len(counts)):
        if seen > 0.0:
            out[s] = counts[s] / seen
        else:
            out[s] = 1.0 / places if allowed[s] else 0.0
    return float(seen)


@kernel
def hopeful_row(centre: Floats, allowed: Flags, radius: float, order: Ints, out: Floats) -> None:
    """The distribution in a ball with the largest mean value; `order` has the states from the best value down."""
    size, best = len(centre), -1
    for s in range(size):
        out[s] = centre[s]
        if best < 0 and allowed[order[s]]:
            best = order[s]
    if 0.5 * radius >= 1.0 - centre[best]:
        for s in range(size):
            out[s] = 0.0
        out[best] = 1.0
        return
    left = 0.5 * radius
    for k in range(size - 1, -1, -1):
        worst = order[k]
        if worst == best or left <= 0.0:
            break
        taken = min(out[worst], left)
        out[worst] -= taken
        out[best] += taken
        left -= taken


@kernel(inline=False)
def hopeful_in_order(ball: TransitionBall, order: Ints, out: Floats) -> None:
    """The most hopeful transitions where the order of states by value is known: one pass, nothing is solved."""
    for action in range(2):
        for state in range(len(order)):
            radius = ball.radii[action, state]
            hopeful_row(ball.centre[action, state], ball.allowed[action, state], radius, order, out[action, state])


@kernel(inline=False)
def hopeful_transitions(
    room: HopeRoom, ball: TransitionBall, rewards: Floats, discount: float, charge: float, values: Floats, out: Floats
) -> int:
    """Write the most hopeful transitions to `out`, an action, state and next state each, and their V to `values`.

    `rewards` has a row per action, `values` where to start: zeros, or V from last time. Returns the rounds it took.
    """
    size = len(values)
    for turn in range(MOST_ROUNDS):
        _sort(values, room.order)
        hopeful_in_order(ball, room.order, out)
        better, largest = 0.0, 0.0
        for s in range(size):
            passive, active = rewards[0, s], rewards[1, s] - charge
            for j in range(size):
                passive += discount * out[0, s, j] * values[j]
                active += discount * out[1, s, j] * values[j]
            action = 1 if active > passive else 0
            for j in range(size):
                room.factors[s, j] = -discount * out[action, s, j]
            room.factors[s, s] += 1.0
            room.solution[s, 0] = rewards[action, s] - charge * action
            better = max(better, abs(max(active, passive) - values[s]))
            largest = max(largest, max(abs(active), abs(passive)))
        if better <= SETTLED * largest:
            return turn
        factor(room.factors, room.solution, room.pivots)
        back_substitute(room.factors, room.solution)
        for s in range(size):
            values[s] = room.solution[s, 0]
    return MOST_ROUNDS


@kernel
def _sort(values: Floats, order: Ints) -> None:
    """The states from the best value down, the lowest number first among equals."""
    for s in range(len(values)):
        place = s
        while place > 0 and values[order[place - 1]] < values[s]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = s
