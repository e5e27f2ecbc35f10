"""Whittle indices of an arm whose transitions have changed in a few rows since last time.

Two thirds of the work is the tableau X0 = g (P1 - P0) A^-1 of the policy that is always active. Kept from last time,
with A^-1, it follows a change of one row by steps of O(S^2) (Sherman & Morrison): for row s of P1, which changes A by
e_s u', u = -g (new row - old row),

    y' = u' A^-1,   A^-1 <- A^-1 - (A^-1 e_s) y' / (1 + y_s),   X0 <- X0 - (X0 e_s) y' / (1 + y_s)

and rows of X0 whose own difference P1 - P0 changed are worked out anew. So a few rows cost little, all of them more
than a fresh start, which is then made. What rounding does to the two matrices in the long run is not trusted either:
the tests of the pass notice it, and they are made afresh.

Transitions that moved everywhere, however little, gain nothing from last time: the order in which states turned passive
could be foreseen, but looking for the next one is the least part of the work.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Cache, Floats
from driftwise.families.restless.whittle.advantage_lines import SINGULAR, RestlessArm
from driftwise.families.restless.whittle.index import WhittleRoom, run_pass
from driftwise.families.restless.whittle.sweep import INDEXABLE, sweep
from driftwise.numerics.lu import BLOCK, back_substitute, factor, less_product


class WhittleMemory(NamedTuple):
    """What is kept of arms, with an axis over them: transitions, (A^-1)' and X0' of the policy that is always active.

    `discounts` are those they are for; 0 where nothing is known yet.
    """

    passive: Cache
    active: Cache
    inverses: Cache
    tableaus: Cache
    discounts: Cache


def new_whittle_memory(n_arms: int, n_states: int) -> WhittleMemory:
    """An empty memory for `whittle_index`, which then takes less time for arms that change little between calls.

    A call writes to it what it worked out for every arm. The next call with the same memory starts from that where few
    rows of an arm's transition matrices have changed, and anew where many have. Results are the same up to rounding.
    Use one memory for one list of arms, and from one thread at a time.

    Parameters
    ----------
    n_arms
        How many arms each call is about.
    n_states
        How many states an arm has; from 30 on a memory pays.

    >>> import driftwise as dw
    >>> passive, active = np.eye(2)[None], np.array([[[0.0, 1.0], [0.0, 1.0]]])
    >>> memory = dw.new_whittle_memory(n_arms=1, n_states=2)
    >>> for reward in (1.0, 2.0):
    ...     dw.whittle_index(passive, active, [0.0, reward], discount=0.5, memory=memory).values.tolist()
    [[1.0, 0.0]]
    [[2.0, 0.0]]
    """
    shape = (n_arms, n_states, n_states)
    return WhittleMemory(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(n_arms))


@kernel(inline=False)
def whittle_again(room: WhittleRoom, memory: WhittleMemory, n: int, arm: RestlessArm, out: Floats) -> int:
    """As `whittle_indices`, for arm `n`, whose last transitions are remembered."""
    known = memory.discounts[n] == arm.discount and _few(memory, n, arm) and _follow(room, memory, n, arm)
    if known and _pass_from(room, memory, n, arm, out):
        return INDEXABLE
    memory.discounts[n] = 0.0
    if _afresh(room, memory, n, arm):
        memory.discounts[n] = arm.discount
        if _pass_from(room, memory, n, arm, out):
            return INDEXABLE
    return sweep(room.lines, arm, out)


@kernel
def _pass_from(room: WhittleRoom, memory: WhittleMemory, n: int, arm: RestlessArm, out: Floats) -> bool:
    for j in range(len(out)):
        for i in range(len(out)):
            room.tableau[j, i] = memory.tableaus[n, j, i]
    return run_pass(room, arm, out)


@kernel
def _changed(old: Floats, new: Floats) -> bool:
    changed = False
    for j in range(len(old)):
        changed |= old[j] != new[j]
    return changed


@kernel(inline=False)
def _few(memory: WhittleMemory, n: int, arm: RestlessArm) -> bool:
    """Whether so few rows have changed that it is worth following them."""
    cost, size = 0, len(arm.idle)
    for s in range(size):
        active = _changed(memory.active[n, s], arm.active[s])
        cost += 3 if active else 0
        cost += 1 if active or _changed(memory.passive[n, s], arm.passive[s]) else 0
    return 2 * cost <= size


@kernel(inline=False)
def _follow(room: WhittleRoom, memory: WhittleMemory, n: int, arm: RestlessArm) -> bool:
    """Bring what is remembered up to date; False when a change leaves no inverse."""
    size, inverse, tableau, image = len(arm.idle), memory.inverses[n], memory.tableaus[n], room.lines.lines[2]
    for s in range(size):
        if _changed(memory.active[n, s], arm.active[s]):
            for j in range(size):
                total = 0.0
                for i in range(size):
                    total += inverse[j, i] * (memory.active[n, s, i] - arm.active[s, i])
                image[j] = arm.discount * total
            pivot = 1.0 + image[s]
            if not abs(pivot) > SINGULAR:
                return False
            _less_outer(inverse, image, pivot, room.lines.lines[0], s)
            _less_outer(tableau, image, pivot, room.lines.lines[0], s)
    for s in range(size):
        if _changed(memory.active[n, s], arm.active[s]) or _changed(memory.passive[n, s], arm.passive[s]):
            for j in range(size):
                total = 0.0
                for i in range(size):
                    total += inverse[j, i] * (arm.active[s, i] - arm.passive[s, i])
                tableau[j, s] = arm.discount * total
            for i in range(size):
                memory.active[n, s, i], memory.passive[n, s, i] = arm.active[s, i], arm.passive[s, i]
    return True


@kernel
def _less_outer(matrix: Floats, image: Floats, pivot: float, row: Floats, s: int) -> None:
    """Take the product of `image` / pivot and row s away."""
    for i in range(len(row)):
        row[i] = matrix[s, i]
    for j in range(len(image)):
        weight, target = image[j] / pivot, matrix[j]
        if weight != 0.0:
            for i in range(len(row)):
                target[i] -= weight * row[i]


@kernel(inline=False)
def _afresh(room: WhittleRoom, memory: WhittleMemory, n: int, arm: RestlessArm) -> bool:
    """Remember these transitions, the inverse and the tableau; False when there are none."""
    size, spread, inverse, tableau = len(arm.idle), 1.0 / len(arm.idle), memory.inverses[n], memory.tableaus[n]
    for i in range(size):
        for j in range(size):
            room.lines.factors[j, i] = spread - arm.discount * arm.active[i, j]
            room.tableau[j, i] = arm.discount * (arm.passive[i, j] - arm.active[i, j])
            inverse[j, i] = tableau[j, i] = 0.0
            memory.active[n, i, j], memory.passive[n, i, j] = arm.active[i, j], arm.passive[i, j]
    for i in range(size):
        room.lines.factors[i, i] += 1.0
        inverse[i, i] = 1.0
    if factor(room.lines.factors, inverse, room.lines.pivots) < SINGULAR:
        return False
    back_substitute(room.lines.factors, inverse)
    for start in range(0, size, BLOCK):
        for j in range(size):
            less_product(tableau[j], inverse[j], room.tableau, start, min(size, start + BLOCK))
    return True
