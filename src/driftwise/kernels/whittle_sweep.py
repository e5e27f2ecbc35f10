"""Whittle indices by a sweep over all charges that assumes nothing: for arms on which the fast pass gives up.

Between two breakpoints the optimal policy is one and the same, its gaps fall or rise along straight lines, and the next
breakpoint is where the first of them changes sign, in either direction. At each, A alpha = r and A beta = a are solved
afresh (see `whittle` for the symbols):

    gap = d - charge c        d = r1 - r0 + g (P1 - P0) alpha        c = 1 + g (P1 - P0) beta

Where several gaps are 0 at once, the policy for the charges just above is the one among the tied that activates least,
that is with the least beta; it is found by policy iteration over the tied states alone. O(S^3) per breakpoint.

So that ties are ties, the systems are solved to the last digit of the values and beyond, by residuals with twice the
digits (`long_sums`): what a gap cannot be told from 0 below is what rounding the kernels themselves may do.

**Arms that are not indexable.** Some state turns passive and, at a larger charge, active again. Its index is here the
charge from which on it stays passive: just below it activating pays, above it never again. For arms that are indexable
this is Whittle's index. An arm with a state that comes back by less than rounding its kernel may do is indexable.

**No answer.** For the average reward a policy that splits the states into parts that never meet has no one average; an
arm for which such a policy is met on the way has no index: UNDEFINED, and all indices are nan. With a discount this
happens only where rounding leaves no digits, that is very near to 1 and for kernels that hardly ever mix.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Scratch
from driftwise.kernels.elimination import back_substitute, factor, solve_factored
from driftwise.kernels.long_sums import add_long, dot_long, times_long

INDEXABLE, NOT_INDEXABLE, UNDEFINED = 1, 0, -1
UNIT = 2.0**-52  # what rounding leaves of one, relatively
VAGUE = 1e-11  # what no slope can be told from 0 below, at which nothing is said of one that may be 0
BLURRED = 1e-6  # how far an index may be from its place, of the largest gap or charge, before nothing is said
MUDDY = 1e-7  # what no gap can be told from 0 below, of the largest reward or charge, before nothing is said;
# with a discount g no more than a hundredth of 1 - g, the gap of a reward that only comes a round later
SINGULAR = 1e-14  # the smallest pivot over the largest, at which a matrix has no inverse to speak of
FINE = 1e-11  # of a solution, a step after which it is right: what is left then is about the square
REFINEMENTS = 8
LONGEST = 50  # breakpoints per state before the sweep gives up: an arm that is indexable has at most one


class RestlessArm(NamedTuple):
    """An arm: its kernels, a row per state, the reward of a state when left alone (`idle`) and when activated (`busy`).

    A discount of 1 stands for the average reward.
    """

    passive: Floats
    active: Floats
    idle: Floats
    busy: Floats
    discount: float


class Doubt(NamedTuple):
    """What a gap, and what a slope, cannot be told from 0 below, and how far the charge may be from its place.

    The kernels are rounded, so nothing can be known better; infinite where nothing can be known.
    """

    gap: float
    slope: float
    charge: float


class SweepRoom(NamedTuple):
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


def new_sweep_room(n_states: int) -> SweepRoom:
    """Room for arms with this many states."""
    return SweepRoom(
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
def sweep(room: SweepRoom, arm: RestlessArm, out: Floats) -> int:
    """Write the index of every state to `out`; return INDEXABLE, NOT_INDEXABLE or UNDEFINED."""
    size, status, charge, step = len(out), INDEXABLE, 0.0, -np.inf
    passive, above, below = room.flags[0], room.flags[1], room.flags[2]
    for s in range(size):
        passive[s] = below[s] = False
        above[s] = True
    blur, flat = _draw_lines(room, arm, charge)
    doubt = Doubt(blur, flat, 0.0)
    for _ in range(LONGEST * size):
        step, slope = _next_step(room, doubt, step == -np.inf)
        if step == np.inf:
            break
        charge += step
        doubt = Doubt(doubt.gap, doubt.slope, doubt.gap / slope + 4.0 * UNIT * (abs(charge) + abs(step)))
        for s in range(size):
            room.lines[0, s] -= step * room.lines[1, s]
        status = min(status, _note(room, arm, charge, doubt, out))
        if status == UNDEFINED:
            break
        blur, flat = _turn(room, arm, charge, doubt)
        doubt = Doubt(blur, flat, doubt.charge)
    for s in range(size):
        if above[s] or step != np.inf:
            status = UNDEFINED
    if status == UNDEFINED:
        for s in range(size):
            out[s] = np.nan
    return status


@kernel
def _slack(doubt: Doubt, slope: float) -> float:
    """What a gap with this slope cannot be told from 0 below."""
    return doubt.gap + doubt.charge * abs(slope)


@kernel
def _next_step(room: SweepRoom, doubt: Doubt, first: bool) -> tuple[float, float]:
    """How much the charge may grow before a gap changes its sign, and its slope; it may fall, too, before the first."""
    gaps, slopes, passive, least, steepness = room.lines[0], room.lines[1], room.flags[0], np.inf, 1.0
    for s in range(len(gaps)):
        slope = -slopes[s] if passive[s] else slopes[s]
        if slope > doubt.slope and (first or abs(gaps[s]) > _slack(doubt, slope)) and gaps[s] / slopes[s] < least:
            least, steepness = gaps[s] / slopes[s], slope
    return least, steepness


@kernel
def _note(room: SweepRoom, arm: RestlessArm, charge: float, doubt: Doubt, out: Floats) -> int:
    """The index of states whose gap has come to 0.

    Returns NOT_INDEXABLE if a state came back, UNDEFINED if an index may be far from its place.
    """
    gaps, slopes, above, below = room.lines[0], room.lines[1], room.flags[1], room.flags[2]
    seen, scale = INDEXABLE, max(reward_scale(arm), abs(charge))
    for s in range(len(gaps)):
        scale = max(scale, abs(gaps[s]))
    for s in range(len(gaps)):
        gap, slope = gaps[s], slopes[s]
        slack = _slack(doubt, slope)
        if gap > slack:
            above[s] = True
            seen = min(seen, NOT_INDEXABLE if below[s] else INDEXABLE)
        elif above[s]:
            above[s] = False
            out[s] = charge
            if slope > doubt.slope:
                out[s] += gap / slope
                seen = min(seen, UNDEFINED if slack > BLURRED * scale * slope else INDEXABLE)
        below[s] |= gap < -slack
    return seen


@kernel
def _turn(room: SweepRoom, arm: RestlessArm, charge: float, doubt: Doubt) -> tuple[float, float]:
    """The best policy for charges just above: where a gap is 0, active only if that spares later activations.

    Returns the doubts of its gaps and slopes; infinite when it is not clear which policy that is.
    """
    gaps, slopes, passive = room.lines[0], room.lines[1], room.flags[0]
    blur, flat = doubt.gap, doubt.slope
    for _ in range(2 * len(slopes) + 2):
        turned = False
        for s in range(len(slopes)):
            slope = slopes[s]
            tied = abs(gaps[s]) <= blur + doubt.charge * abs(slope)
            if tied and abs(slope) <= flat:
                if flat > VAGUE:
                    return np.inf, np.inf
            elif passive[s] != ((slope > 0.0) if tied else (gaps[s] < 0.0)):
                passive[s] = not passive[s]
                turned = True
        if not turned:
            return blur, flat
        blur, flat = _draw_lines(room, arm, charge)
        if blur == np.inf:
            break
    return np.inf, np.inf


@kernel(inline=False)
def _draw_lines(room: SweepRoom, arm: RestlessArm, charge: float) -> tuple[float, float]:
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
        finest = min(MUDDY, 0.01 * (1.0 - arm.discount)) if arm.discount < 1.0 else MUDDY
        if column == 0 and blur > finest * max(reward_scale(arm), abs(charge)):
            return np.inf, np.inf
        blurs = (blur, 0.0) if column == 0 else (blurs[0], blur)
    return blurs


@kernel(inline=False)
def _refine(room: SweepRoom, arm: RestlessArm, charge: float, column: int) -> bool:
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
def _read_line(room: SweepRoom, arm: RestlessArm, charge: float, column: int) -> float:
    """Gaps, or slopes, from the values; return what rounding the kernels alone may make of 0."""
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
