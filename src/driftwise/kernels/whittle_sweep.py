"""Whittle indices by a sweep over all charges that assumes nothing: for arms on which the fast pass gives up.

Between two breakpoints the optimal policy is one and the same, its gaps fall or rise along straight lines, and the next
breakpoint is where the first of them changes sign, in either direction. At each, A alpha = r and A beta = a are solved
afresh (see `whittle` for the symbols):

    gap = d - charge c        d = r1 - r0 + g (P1 - P0) alpha        c = 1 + g (P1 - P0) beta

Where several gaps are 0 at once, the policy for the charges just above is the one among the tied that activates least,
that is with the least beta; it is found by policy iteration over the tied states alone. O(S^3) per breakpoint.

**Arms that are not indexable.** Some state turns passive and, at a larger charge, active again. Its index is here the
charge from which on it stays passive: just below it activating pays, above it never again. For arms that are indexable
this is Whittle's index. Whether a gap is 0 is told as far as rounding allows: an arm with a state that comes back by
less than SLACK counts as indexable.

**No answer.** For the average reward a policy that splits the states into parts that never meet has no one average; an
arm for which such a policy is met on the way has no index: UNDEFINED, and all indices are nan. With a discount this
happens only where rounding leaves no digits, that is very near to 1 and for kernels that hardly ever mix.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Scratch
from driftwise.kernels.elimination import back_substitute, factor, solve_factored

INDEXABLE, NOT_INDEXABLE, UNDEFINED = 1, 0, -1
SLACK = 1e-11  # of the largest gap: below it a gap is 0
FLAT = 1e-11  # a slope below it is 0
SINGULAR = 1e-14  # the smallest pivot over the largest, at which a matrix has no inverse to speak of
ROUGH = 1e-9  # error of a slope at which nothing is said
BLURRED = 1e-6  # error of an index, of the largest gap, at which nothing is said
LONGEST = 50  # breakpoints per state before the sweep gives up: those that are indexable have at most one


class RestlessArm(NamedTuple):
    """An arm: its kernels, a row per state, the reward of a state when left alone (`idle`) and when activated (`busy`).

    A discount of 1 stands for the average reward.
    """

    passive: Floats
    active: Floats
    idle: Floats
    busy: Floats
    discount: float


class SweepRoom(NamedTuple):
    """Room for a policy and its lines.

    `lines` has a row each of gaps, slopes and what is left over; `flags` one each of states that are passive, whose gap
    is 0, has not come to 0 yet (or again), and has been negative.
    """

    factors: Scratch
    pivots: Scratch
    values: Scratch
    lines: Scratch
    flags: Scratch


def new_sweep_room(n_states: int) -> SweepRoom:
    """Room for arms with this many states."""
    return SweepRoom(
        factors=np.zeros((n_states, n_states)),
        pivots=np.zeros(n_states, np.int64),
        values=np.zeros((n_states, 2)),
        lines=np.zeros((3, n_states)),
        flags=np.zeros((4, n_states), np.bool_),
    )


@kernel
def reward_scale(arm: RestlessArm) -> float:
    """The largest reward: gaps are not known to more digits than it leaves."""
    largest = 0.0
    for s in range(len(arm.idle)):
        largest = max(largest, max(abs(arm.idle[s]), abs(arm.busy[s])))
    return largest


@kernel(inline=False)
def sweep(room: SweepRoom, arm: RestlessArm, out: Floats) -> int:
    """Write the index of every state to `out`; return INDEXABLE, NOT_INDEXABLE or UNDEFINED."""
    size, status, charge, step, scale = len(out), INDEXABLE, 0.0, 0.0, reward_scale(arm)
    passive, above, below = room.flags[0], room.flags[2], room.flags[3]
    for s in range(size):
        passive[s] = below[s] = False
        above[s] = True
    error = _draw_lines(room, arm, charge)
    for turn in range(LONGEST * size):
        step = _next_step(room, turn == 0)
        if step == np.inf or error == np.inf:
            break
        charge += step
        status = min(status, _arrive(room, charge, step, scale, error, out))
        if status == UNDEFINED:
            break
        error = _turn(room, arm, charge, error)
    for s in range(size):
        if above[s] or step != np.inf or error == np.inf:
            status = UNDEFINED
    if status == UNDEFINED:
        for s in range(size):
            out[s] = np.nan
    return status


@kernel
def _next_step(room: SweepRoom, first: bool) -> float:
    """How much the charge may grow before a gap changes its sign."""
    gaps, slopes, passive, tied = room.lines[0], room.lines[1], room.flags[0], room.flags[1]
    least = np.inf
    for s in range(len(gaps)):
        slope = -slopes[s] if passive[s] else slopes[s]
        if slope > FLAT and (first or not tied[s]):
            least = min(least, gaps[s] / slopes[s])
    return least


@kernel
def _arrive(room: SweepRoom, charge: float, step: float, scale: float, error: float, out: Floats) -> int:
    """Move all gaps along, note which are 0 now and the index of states that have come to it.

    Returns NOT_INDEXABLE if a state came back, UNDEFINED if the place of an index is lost in errors.
    """
    gaps, slopes, tied, above, below = room.lines[0], room.lines[1], room.flags[1], room.flags[2], room.flags[3]
    seen, scale = INDEXABLE, max(scale, abs(charge))
    for s in range(len(gaps)):
        gaps[s] -= step * slopes[s]
        scale = max(scale, abs(gaps[s]))
    slack = max(SLACK * scale, 8.0 * error)
    for s in range(len(gaps)):
        gap, slope = gaps[s], slopes[s]
        tied[s] = abs(gap) <= slack
        if gap > slack:
            above[s] = True
            if below[s]:
                seen = min(seen, NOT_INDEXABLE)
        elif above[s]:
            above[s] = False
            out[s] = charge
            if slope > FLAT:
                out[s] += gap / slope
                if error > BLURRED * scale * slope:
                    seen = UNDEFINED
        if gap < -slack:
            below[s] = True
    return seen


@kernel
def _turn(room: SweepRoom, arm: RestlessArm, charge: float, error: float) -> float:
    """The policy for charges just above: among tied states, active only where that spares later activations."""
    slopes, passive, tied = room.lines[1], room.flags[0], room.flags[1]
    for _ in range(2 * len(slopes) + 2):
        turned = False
        for s in range(len(slopes)):
            slope = -slopes[s] if passive[s] else slopes[s]
            if tied[s] and slope > FLAT:
                passive[s] = not passive[s]
                turned = True
        if not turned:
            return error
        error = _draw_lines(room, arm, charge)
        if error == np.inf:
            break
    return np.inf


@kernel(inline=False)
def _draw_lines(room: SweepRoom, arm: RestlessArm, charge: float) -> float:
    """Gaps at `charge`, and slopes, of the policy at hand; return the error of the gaps, infinite if there are none."""
    gaps, slopes, passive = room.lines[0], room.lines[1], room.flags[0]
    size, spread, discount = len(gaps), 1.0 / len(gaps), arm.discount
    for i in range(size):
        row = arm.passive[i] if passive[i] else arm.active[i]
        for j in range(size):
            room.factors[i, j] = spread - discount * row[j]
        room.factors[i, i] += 1.0
        room.values[i, 0] = arm.idle[i] if passive[i] else arm.busy[i] - charge
        room.values[i, 1] = 0.0 if passive[i] else 1.0
    if factor(room.factors, room.values, room.pivots) < SINGULAR:
        return np.inf
    back_substitute(room.factors, room.values)
    error = 2.0 * discount * _refine(room, arm, charge, 0)
    if not 2.0 * discount * _refine(room, arm, charge, 1) <= ROUGH:
        return np.inf
    for i in range(size):
        gap, slope = arm.busy[i] - arm.idle[i] - charge, 1.0
        for j in range(size):
            change = discount * (arm.active[i, j] - arm.passive[i, j])
            gap += change * room.values[j, 0]
            slope += change * room.values[j, 1]
        gaps[i], slopes[i] = gap, slope
    return error


@kernel(inline=False)
def _refine(room: SweepRoom, arm: RestlessArm, charge: float, column: int) -> float:
    """A step towards the exact solution, and how large it was: about the error there is, before and after."""
    rest, passive, size, mean = room.lines[2], room.flags[0], len(arm.idle), 0.0
    for i in range(size):
        mean += room.values[i, column] / size
    for i in range(size):
        left = arm.idle[i] if passive[i] else arm.busy[i] - charge
        if column == 1:
            left = 0.0 if passive[i] else 1.0
        row = arm.passive[i] if passive[i] else arm.active[i]
        for j in range(size):
            left += arm.discount * row[j] * room.values[j, column]
        rest[i] = left - room.values[i, column] - mean
    solve_factored(room.factors, room.pivots, rest)
    moved = 0.0
    for i in range(size):
        moved = max(moved, abs(rest[i]))
        room.values[i, column] += rest[i]
    return moved
