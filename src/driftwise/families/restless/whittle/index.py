"""Whittle's index of every state of an arm, exactly, in one pass over the states.

An arm is left alone or activated, and activation costs a charge. The index of a state is the charge at which the two
are equally good there: the largest at which activating pays. With P0, r0 when passive and P1, r1 when active,

    V = max( r0 + g P0 V,  r1 - charge + g P1 V )        g the discount; 1 for the average reward
    gap = r1 - r0 - charge + g (P1 - P0) V               what activating gains, state by state: at the index it is 0

**The pass.** At a charge of minus infinity every state is active. While the policy stays the same the gaps fall along
straight lines, gap = d - charge c. The first to reach 0 gives the lowest index; that state turns passive, a rank-one
change, after which the lines have other slopes:

    X = g (P1 - P0) A^-1       d = r1 - r0 + X r,   c = 1 + X a           A, r and a of the policy: `restless_lines`
    w = X e_s / (1 + X_ss)     X <- X - w X_s,   d <- d - w d_s,   c <- c - w c_s            when s turns passive

O(S^3) in all. X is kept as its transpose, `tableau`, and changed BLOCK states at a time: in between, only the column
that is asked for is brought up to date.

**Nothing is believed.** An arm is indexable when no state turns active again as the charge grows. A pass in which the
gaps of active states stay at 0 or above, and those of passive ones at 0 or below, has found an optimal policy for
every charge, if the gaps are right. That they are is tested at each step on random combinations z of states: whatever
the policy, z' gap = z' (d0 - charge c0) - z' X0 gap^-, with d0, c0 and X0 those of the first policy and gap^- the gaps
of passive states only; and z' X0 itself is tested against the transitions. Where anything is amiss (an arm that is not
indexable, ties that come in an unlucky order, rounding) the pass is given up for `whittle_sweep`, which solves a fresh
system at every step.

Gast, Gaujal & Khun 2023, *Testing indexability and computing Whittle and Gittins index in subcubic time*, have the
same pass; the tests and the blocks are ours.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import bits
from driftwise.core.types import Floats, Scratch
from driftwise.families.restless.whittle.advantage_lines import (
    SINGULAR,
    UNIT,
    LinesRoom,
    RestlessArm,
    new_lines_room,
    reward_scale,
)
from driftwise.families.restless.whittle.sweep import INDEXABLE, sweep
from driftwise.numerics.lu import BLOCK, back_substitute, factor, less_product

PROBES = 2  # random combinations on which every step is tested
GROWN = 1e6  # entries of X at which rounding may cost too much
SURE = 1e-7  # what rounding may at worst do to an index, of the largest gap; it does a hundredth of that
FLAT = 1e-11  # a slope below it is 0
CLOSE = 1e-11  # of the largest gap: a gap on the wrong side of 0 by less is rounding, or a tie
WRONG = 1e-12  # of the numbers that cancel in a test: rounding leaves 1e-15, and a wrong gap a good deal more


class WhittleRoom(NamedTuple):
    """Room to find the indices of one arm at a time.

    `steps` has a row w for every state `turned` since the tableau was changed, `weights` how much of them a column has
    still to take. `probes` holds signs and their images, `offsets` what must come of them.
    """

    lines: LinesRoom
    tableau: Scratch
    turned: Scratch
    steps: Scratch
    weights: Scratch
    probes: Scratch
    offsets: Scratch


def new_whittle_room(n_states: int) -> WhittleRoom:
    """Room for arms with this many states."""
    block = min(BLOCK, n_states)
    return WhittleRoom(
        lines=new_lines_room(n_states),
        tableau=np.zeros((n_states, n_states)),
        turned=np.zeros(block, np.int64),
        steps=np.zeros((block, n_states)),
        weights=np.zeros((n_states, block)),
        probes=np.zeros((PROBES, 2, n_states)),
        offsets=np.zeros((PROBES, 2)),
    )


@kernel(inline=False)
def whittle_indices(room: WhittleRoom, arm: RestlessArm, out: Floats) -> int:
    """Write the index of every state to `out`; return INDEXABLE, NOT_INDEXABLE or UNDEFINED (see `whittle_sweep`)."""
    if set_up(room, arm) and run_pass(room, arm, out):
        return INDEXABLE
    return sweep(room.lines, arm, out)


@kernel
def set_up(room: WhittleRoom, arm: RestlessArm) -> bool:
    """The tableau of the policy that is always active; False if it has none."""
    size, spread, factors = len(arm.idle), 1.0 / len(arm.idle), room.lines.factors
    for i in range(size):
        for j in range(size):
            factors[j, i] = spread - arm.discount * arm.active[i, j]
            room.tableau[j, i] = arm.discount * (arm.active[i, j] - arm.passive[i, j])
    for i in range(size):
        factors[i, i] += 1.0
    if factor(factors, room.tableau, room.lines.pivots) < SINGULAR:
        return False
    back_substitute(factors, room.tableau)
    return True


@kernel(inline=False)
def run_pass(room: WhittleRoom, arm: RestlessArm, out: Floats) -> bool:
    """The pass, from the tableau on; False as soon as something is not as it should be."""
    size, scale = len(out), reward_scale(arm)
    gaps, slopes, passive = room.lines.lines[0], room.lines.lines[1], room.lines.flags[0]
    for i in range(size):
        gaps[i], slopes[i], passive[i] = arm.busy[i] - arm.idle[i], 1.0, False
    for j in range(size):
        row, reward = room.tableau[j], arm.busy[j]
        for i in range(size):
            gaps[i] += reward * row[i]
    for k in range(PROBES):
        if not _probe(room, arm, k):
            return False
    return _turn_all(room, scale, out)


@kernel
def _probe(room: WhittleRoom, arm: RestlessArm, k: int) -> bool:
    """Signs z and their image z' X0: by them it is known what z' gap must be, whatever the charge and the policy.

    False when the image does not solve (z' X0) A = g z' (P1 - P0): then X0 is not what it should be.
    """
    size, signs, image, rest = len(arm.idle), room.probes[k, 0], room.probes[k, 1], room.lines.lines[2]
    rng = np.uint64(k)
    for i in range(size):
        word, rng = bits(rng)
        signs[i] = 1.0 if word & np.uint64(1) else -1.0
    total, fixed, charged, large = 0.0, 0.0, 0.0, 1.0
    for j in range(size):
        row, sum_of_row = room.tableau[j], 0.0
        for i in range(size):
            sum_of_row += signs[i] * row[i]
        image[j] = sum_of_row
        total += sum_of_row
        large += abs(sum_of_row)
        fixed += signs[j] * (arm.busy[j] - arm.idle[j]) + sum_of_row * arm.busy[j]
        charged += signs[j] + sum_of_row
    room.offsets[k, 0], room.offsets[k, 1] = fixed, charged
    for j in range(size):
        rest[j] = -image[j] - total / size
    for i in range(size):
        plus, minus = arm.discount * (signs[i] + image[i]), arm.discount * signs[i]
        active, passive = arm.active[i], arm.passive[i]
        for j in range(size):
            rest[j] += plus * active[j] - minus * passive[j]
    left = 0.0
    for j in range(size):
        left = max(left, abs(rest[j]))
    return left <= WRONG * large


@kernel
def _turn_all(room: WhittleRoom, scale: float, out: Floats) -> bool:
    """Turn the states passive one by one."""
    size, block, charge, growth = len(out), len(room.turned), 0.0, 1.0
    gaps, slopes, passive = room.lines.lines[0], room.lines.lines[1], room.lines.flags[0]
    for s in range(size):
        scale = max(scale, abs(gaps[s]))
    for turn in range(size):
        state, step = _first_to_fall(room, turn == 0, CLOSE * scale)
        if state < 0 or FLAT < slopes[state] < UNIT * growth / SURE:
            return False
        charge += step
        scale = max(scale, abs(charge))
        for s in range(size):
            gaps[s] -= step * slopes[s]
        gaps[state] = 0.0
        out[state] = charge
        if not _holds(room, charge, CLOSE * scale):
            return False
        count = turn % block
        growth = max(growth, _bring_up_to_date(room, state, count))
        if not growth < GROWN:
            return False
        passive[state] = True
        room.turned[count] = state
        if count == block - 1:
            _settle(room, block)
    return True


@kernel
def _first_to_fall(room: WhittleRoom, first: bool, slack: float) -> tuple[int, float]:
    """The active state whose gap reaches 0 first as the charge grows, and by how much; -1 when none ever does."""
    gaps, slopes, passive = room.lines.lines[0], room.lines.lines[1], room.lines.flags[0]
    best, least = -1, np.inf
    for s in range(len(gaps)):
        if not passive[s]:
            gap, slope = gaps[s], slopes[s]
            if not first and gap <= slack and abs(slope) <= FLAT:
                step = 0.0  # it stays at 0: passive is as good as active from here on
            elif slope > FLAT:
                step = gap / slope if first else max(gap, 0.0) / slope
            else:
                continue
            if step < least:
                best, least = s, step
    return best, least


@kernel
def _holds(room: WhittleRoom, charge: float, slack: float) -> bool:
    """Whether all gaps have the sign they should, and solve the equations as far as random combinations tell."""
    gaps, passive = room.lines.lines[0], room.lines.flags[0]
    for s in range(len(gaps)):
        if not ((gaps[s] <= slack) if passive[s] else (gaps[s] >= -slack)):
            return False
    for k in range(PROBES):
        signs, image = room.probes[k, 0], room.probes[k, 1]
        fixed, charged = room.offsets[k, 0], charge * room.offsets[k, 1]
        left, large = 0.0, abs(fixed) + abs(charged)
        for s in range(len(gaps)):
            part = (signs[s] + (image[s] if passive[s] else 0.0)) * gaps[s]
            left += part
            large += abs(part)
        if not abs(left - fixed + charged) <= WRONG * large:
            return False
    return True


@kernel(inline=False)
def _weigh(room: WhittleRoom, state: int, count: int) -> None:
    """How much of each of the last `count` steps the column of `state` has still to take."""
    weights, row = room.weights[state], room.tableau[state]
    for k in range(count):
        total = row[room.turned[k]]
        for earlier in range(k):
            total -= weights[earlier] * room.steps[earlier, room.turned[k]]
        weights[k] = total


@kernel
def _bring_up_to_date(room: WhittleRoom, state: int, count: int) -> float:
    """Write w of `state` as the next step and change the slopes by it; return the largest entry there was."""
    slopes, step, row = room.lines.lines[1], room.steps[count], room.tableau[state]
    for s in range(len(slopes)):
        step[s] = row[s]
    _weigh(room, state, count)
    less_product(step, room.weights[state], room.steps, 0, count)
    pivot = 1.0 + step[state]
    if not pivot > SINGULAR:
        return np.inf
    slope, largest = slopes[state], 0.0
    for s in range(len(slopes)):
        largest = max(largest, abs(step[s]))
        step[s] /= pivot
        slopes[s] -= slope * step[s]
    return float(largest * max(1.0, 1.0 / pivot))


@kernel
def _settle(room: WhittleRoom, count: int) -> None:
    """Let all columns that are still to come take the last steps at once."""
    passive = room.lines.flags[0]
    for state in range(len(passive)):
        if not passive[state]:
            _weigh(room, state, count)
            less_product(room.tableau[state], room.weights[state], room.steps, 0, count)
