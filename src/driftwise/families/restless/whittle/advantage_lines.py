"""The gaps of a policy for one arm, as lines over the charge, to the last digit.

A policy says in which states the arm is activated. With A = I - g P + 1 u' of its transitions P, u uniform,

    A alpha = r    A beta = a                the values of rewards, and of one paid whenever the arm is active
    gap = d - charge c        d = r1 - r0 + g (P1 - P0) alpha        c = 1 + g (P1 - P0) beta

The term 1 u' moves all values by one constant, which no gap sees; without it A were singular for the average reward,
g = 1, and nearly so for discounts near 1. It still is when the policy splits the states into parts that never meet:
there is no one average then.

The systems are solved by residuals with twice the digits (`long_sums`). What a gap cannot be told from 0 below is then
what rounding the transitions themselves may do, and ties are ties.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Scratch
from driftwise.numerics.double_double import add_long, dot_long, times_long
from driftwise.numerics.lu import back_substitute, factor, solve_factored

UNIT = 2.0**-52  # what rounding leaves of one, relatively
SINGULAR = 1e-14  # the smallest pivot over the largest, at which a matrix has no inverse to speak of
FINE = 1e-11  # of a solution, a step after which it is right: what is left then is about the square
REFINEMENTS = 8


class RestlessArm(NamedTuple):
    """An arm: its transitions, a row per state, and the reward of a state left alone (`idle`) and activated (`busy`).

    A discount of 1 stands for the average reward.
    """

    passive: Floats
    active: Floats
    idle: Floats
    busy: Floats
    discount: float


class LinesRoom(NamedTuple):
    """Room for a policy and its lines.

    `lines` has a row each of gaps, slopes and what is left over; `flags` one each of states that are passive, whose gap
    has not come to 0 yet (or again), and whose gap has been negative.
    """

    factors: Scratch
    pivots: Scratch
    values: Scratch
    tails: Scratch
    lines: Scratch
    flags: Scratch


def new_lines_room(n_states: int) -> LinesRoom:
    """Room for arms with this many states."""
    return LinesRoom(
        factors=np.zeros((n_states, n_states)),
        pivots=np.zeros(n_states, np.int64),
        values=np.zeros((n_states, 2)),
        tails=np.zeros((n_states, 2)),
        lines=np.zeros((3, n_states)),
        flags=np.zeros((3, n_states), np.bool_),
    )


@kernel
def reward_scale(arm: RestlessArm) -> float:
    """The largest reward: gaps are not known to more digits than it leaves."""
    largest = 0.0
    for s in range(len(arm.idle)):
        largest = max(largest, max(abs(arm.idle[s]), abs(arm.busy[s])))
    return largest


@kernel(inline=False)
def draw_lines(room: LinesRoom, arm: RestlessArm, charge: float) -> tuple[float, float]:
    """Gaps at `charge`, and slopes, of the policy at hand.

    Returns what no gap, and what no slope, can be told from 0 below; infinite if there is no solution.
    """
    passive, size, spread = room.flags[0], len(arm.idle), 1.0 / len(arm.idle)
    for i in range(size):
        row = arm.passive[i] if passive[i] else arm.active[i]
        for j in range(size):
            room.factors[i, j] = spread - arm.discount * row[j]
        room.factors[i, i] += 1.0
        room.values[i, 0] = arm.idle[i] if passive[i] else arm.busy[i] - charge
        room.values[i, 1] = 0.0 if passive[i] else 1.0
        room.tails[i, 0] = room.tails[i, 1] = 0.0
    if factor(room.factors, room.values, room.pivots) < SINGULAR:
        return np.inf, np.inf
    back_substitute(room.factors, room.values)
    blurs = (0.0, 0.0)
    for column in range(2):
        if not _refine(room, arm, charge, column):
            return np.inf, np.inf
        blur = _read_line(room, arm, charge, column)
        blurs = (blur, 0.0) if column == 0 else (blurs[0], blur)
    return blurs


@kernel(inline=False)
def _refine(room: LinesRoom, arm: RestlessArm, charge: float, column: int) -> bool:
    """Solve for what is left until nothing is; False when there is always more."""
    size, rest, values, tails = len(arm.idle), room.lines[2], room.values, room.tails
    spread = 1.0 / size
    for _ in range(REFINEMENTS):
        total, total_tail, largest, moved = 0.0, 0.0, 0.0, 0.0
        for j in range(size):
            total, total_tail = add_long(total, total_tail, values[j, column], tails[j, column])
            largest = max(largest, abs(values[j, column]))
        total, total_tail = times_long(-spread, total, total_tail)
        for i in range(size):
            row = arm.passive[i] if room.flags[0, i] else arm.active[i]
            left, tail = dot_long(row, values, tails, column)
            left, tail = times_long(arm.discount, left, tail)
            left, tail = add_long(left, tail, -values[i, column], -tails[i, column])
            left, tail = add_long(left, tail, total, total_tail)
            if column == 0:
                left, tail = add_long(left, tail, arm.idle[i] if room.flags[0, i] else arm.busy[i], 0.0)
            if not room.flags[0, i]:
                left, tail = add_long(left, tail, 1.0 if column == 1 else -charge, 0.0)
            rest[i] = left
        solve_factored(room.factors, room.pivots, rest)
        for i in range(size):
            moved = max(moved, abs(rest[i]))
            values[i, column], tails[i, column] = add_long(values[i, column], tails[i, column], rest[i], 0.0)
        if moved <= FINE * largest:
            return True
    return False


@kernel(inline=False)
def _read_line(room: LinesRoom, arm: RestlessArm, charge: float, column: int) -> float:
    """Gaps, or slopes, from the values; return what rounding the transitions alone may make of 0."""
    size, low, high = len(arm.idle), np.inf, -np.inf
    for i in range(size):
        left, tail = dot_long(arm.active[i], room.values, room.tails, column)
        less, less_tail = dot_long(arm.passive[i], room.values, room.tails, column)
        left, tail = add_long(left, tail, -less, -less_tail)
        left, tail = times_long(arm.discount, left, tail)
        left, tail = add_long(left, tail, -charge if column == 0 else 1.0, 0.0)
        if column == 0:
            left, tail = add_long(left, tail, arm.busy[i], 0.0)
            left, tail = add_long(left, tail, -arm.idle[i], 0.0)
        room.lines[column, i] = left
        low, high = min(low, room.values[i, column]), max(high, room.values[i, column])
    return 4.0 * UNIT * (high - low + (reward_scale(arm) if column == 0 else 1.0))
