"""Whittle indices by a sweep over all charges that assumes nothing: for arms on which the fast pass gives up.

Between two breakpoints the optimal policy is one and the same, its gaps fall or rise along straight lines, and the next
breakpoint is where the first of them changes sign, in either direction. There the lines are drawn afresh, by
`restless_lines`: O(S^3) per breakpoint. Where several gaps are 0 at once, the policy for the charges just above is the
one among the tied that activates least; it is found by policy iteration over the tied states.

**Arms that are not indexable.** Some state turns passive and, at a larger charge, active again. Its index is here the
charge from which on it stays passive: just below it activating pays, above it never again. For arms that are indexable
this is Whittle's index. An arm with a state that comes back by less than rounding its transitions may do is indexable.

**No answer.** For the average reward a policy that splits the states into parts that never meet has no one average; an
arm for which such a policy is met on the way has no index: UNDEFINED, and all indices are nan. With a discount this
happens only where rounding leaves no digits, that is very near to 1 and for transitions that hardly ever mix.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.families.restless.whittle.advantage_lines import UNIT, LinesRoom, RestlessArm, draw_lines, reward_scale

INDEXABLE, NOT_INDEXABLE, UNDEFINED = 1, 0, -1
VAGUE = 1e-11  # what no slope can be told from 0 below, at which nothing is said of one that may be 0
BLURRED = 1e-6  # how far an index may be from its place, of the largest gap or charge, before nothing is said
MUDDY = 1e-7  # what no gap can be told from 0 below, of the largest reward or charge, before nothing is said;
# with a discount g no more than a hundredth of 1 - g, the gap of a reward that only comes a round later
PATIENCE = 4  # rounds in which tied states may change before ties are taken more generously
LONGEST = 50  # breakpoints per state before the sweep gives up: an arm that is indexable has at most one


class Doubt(NamedTuple):
    """What a gap, and what a slope, cannot be told from 0 below, and how far the charge may be from its place.

    The transitions are rounded, so nothing can be known better; infinite where nothing can be known.
    """

    gap: float
    slope: float
    charge: float


@kernel(inline=False)
def sweep(room: LinesRoom, arm: RestlessArm, out: Floats) -> int:
    """Write the index of every state to `out`; return INDEXABLE, NOT_INDEXABLE or UNDEFINED."""
    size, status, charge, step = len(out), INDEXABLE, 0.0, -np.inf
    passive, above, below = room.flags[0], room.flags[1], room.flags[2]
    for s in range(size):
        passive[s] = below[s] = False
        above[s] = True
    blur, flat = draw_lines(room, arm, charge)
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
        blur, flat = _turn(room, arm, charge, doubt)
        if status == UNDEFINED or blur == np.inf:
            break
        doubt = Doubt(blur, flat, doubt.charge)
        for s in range(size):
            if passive[s] and above[s]:  # a tie that only came out as one there
                above[s] = False
                out[s] = charge
    for s in range(size):
        passive[s] = True
        if above[s] or step != np.inf:
            status = UNDEFINED
    if arm.discount == 1.0 and draw_lines(room, arm, charge)[0] == np.inf:  # it may hide behind a tie
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
def _next_step(room: LinesRoom, doubt: Doubt, first: bool) -> tuple[float, float]:
    """How much the charge may grow before a gap changes its sign, and its slope; it may fall, too, before the first."""
    gaps, slopes, passive, least, steepness = room.lines[0], room.lines[1], room.flags[0], np.inf, 1.0
    for s in range(len(gaps)):
        slope = -slopes[s] if passive[s] else slopes[s]
        if slope > doubt.slope and (first or abs(gaps[s]) > _slack(doubt, slope)) and gaps[s] / slopes[s] < least:
            least, steepness = gaps[s] / slopes[s], slope
    return least, steepness


@kernel
def _note(room: LinesRoom, arm: RestlessArm, charge: float, doubt: Doubt, out: Floats) -> int:
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
def _turn(room: LinesRoom, arm: RestlessArm, charge: float, doubt: Doubt) -> tuple[float, float]:
    """The best policy for charges just above: where a gap is 0, active only if that spares later activations.

    Returns the doubts of its gaps and slopes; infinite when it is not clear which policy that is. States that are tied
    but for rounding may call each other back and forth: with patience more and more counts as a tie.
    """
    gaps, slopes, passive = room.lines[0], room.lines[1], room.flags[0]
    blur, flat, more = doubt.gap, doubt.slope, 1.0
    for turn in range(2 * len(slopes) + 40):
        turned, blur = False, blur * more
        for s in range(len(slopes)):
            slope = slopes[s]
            tied = abs(gaps[s]) <= blur + doubt.charge * abs(slope)
            if tied and abs(slope) <= flat:
                if flat > VAGUE:
                    return np.inf, np.inf
            elif passive[s] != ((slope > 0.0) if tied else (gaps[s] < 0.0)):
                passive[s] = not passive[s]
                turned = True
        if blur > _finest(arm, charge):
            return np.inf, np.inf
        if not turned:
            return blur, flat
        if turn >= PATIENCE:
            more *= 2.0
        blur, flat = draw_lines(room, arm, charge)
    return np.inf, np.inf


@kernel
def _finest(arm: RestlessArm, charge: float) -> float:
    """The largest doubt about gaps with which anything is said."""
    share = min(MUDDY, 0.01 * (1.0 - arm.discount)) if arm.discount < 1.0 else MUDDY
    return share * max(reward_scale(arm), abs(charge))
