"""The linear program of one round with budgets: which mix of arms earns most without spending faster than allowed.

    max mu'x   such that   C x <= b,   sum x <= 1,   x >= 0        what is left of sum x is the null arm's
    min b'q + alpha   such that   mu - C'q - alpha <= 0,   q >= 0,   alpha >= 0            the prices of resources

`b >= 0`, so playing nothing is always allowed, and the program is never infeasible nor unbounded, whatever the signs of
mu and C. A dense simplex: start from playing nothing, let the arm with the largest reduced reward in, and after a run
of steps that gain nothing take the lowest-numbered one (Bland's rule, which cannot cycle). With a single resource the
optimum mixes at most two arms, and is found by turning the price until neither of them can be bettered.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints, Scratch

ZERO = 1e-12  # reduced rewards and pivots below it are rounding
PATIENCE = 30  # steps without gain before Bland's rule


class StepLP(NamedTuple):
    """Room to solve in, and the answer: the mix of arms, the price of each resource, and that of a round, alpha.

    `budget` is room for what may be spent, `line` for the row of the tableau that a step turns on.
    """

    tableau: Scratch
    line: Scratch
    basis: Scratch
    budget: Scratch
    mix: Scratch
    prices: Scratch
    alpha: Scratch


def new_step_lp(n_arms: int, resources: int) -> StepLP:
    """Room for programs of this size."""
    return StepLP(
        tableau=np.zeros((resources + 2, n_arms + resources + 2)),
        line=np.zeros(n_arms + resources + 2),
        basis=np.zeros(resources + 1, np.int64),
        budget=np.zeros(resources),
        mix=np.zeros(n_arms),
        prices=np.zeros(resources),
        alpha=np.zeros(1),
    )


@kernel
def solve_step(lp: StepLP, rewards: Floats, costs: Floats, budget: Floats) -> float:
    """Write the best mix and the prices for it; return what it earns. `costs` has a row per resource."""
    if len(budget) == 1:
        return _one_resource(lp, rewards, costs[0], budget[0])
    return _simplex(lp, rewards, costs, budget)


@kernel(inline=False)
def _one_resource(lp: StepLP, rewards: Floats, costs: Floats, budget: float) -> float:
    """Two arms at most: `rich` spends more than the budget, `lean` does not (-1: the null arm)."""
    for arm in range(len(rewards)):
        lp.mix[arm] = 0.0
    lp.prices[0] = 0.0
    rich = _best_at(rewards, costs, 0.0)
    if rich < 0:
        lp.alpha[0] = 0.0
        return 0.0
    if costs[rich] <= budget:
        lp.mix[rich] = 1.0
        lp.alpha[0] = rewards[rich]
        return float(rewards[rich])
    lean, lean_reward, lean_cost = -1, 0.0, 0.0
    while True:
        price = (rewards[rich] - lean_reward) / (costs[rich] - lean_cost)
        level = lean_reward - price * lean_cost
        better = _best_at(rewards, costs, price)
        if better < 0 or rewards[better] - price * costs[better] <= level + ZERO * (1.0 + abs(level)):
            break
        if better in (rich, lean):
            break
        if costs[better] > budget:
            rich = better
        else:
            lean, lean_reward, lean_cost = better, rewards[better], costs[better]
    share = (budget - lean_cost) / (costs[rich] - lean_cost)
    lp.mix[rich] = share
    if lean >= 0:
        lp.mix[lean] = 1.0 - share
    lp.prices[0] = price
    lp.alpha[0] = max(0.0, level)
    return float(share * rewards[rich] + (1.0 - share) * lean_reward)


@kernel
def _best_at(rewards: Floats, costs: Floats, price: float) -> int:
    """The arm with the largest reward after its cost is paid for, the first among equals; -1 when none is worth it."""
    best, top = -1, 0.0
    for arm in range(len(rewards)):
        worth = rewards[arm] - price * costs[arm]
        if worth > top:
            best, top = arm, worth
    return best


@kernel(inline=False)
def _simplex(lp: StepLP, rewards: Floats, costs: Floats, budget: Floats) -> float:
    _set_up(lp, rewards, costs, budget)
    idle, gains = 0, lp.tableau[len(lp.basis)]
    while True:
        entering = _entering(gains, idle >= PATIENCE)
        if entering < 0:
            break
        leaving = _leaving(lp.tableau, lp.basis, entering)
        idle = idle + 1 if lp.tableau[leaving, -1] <= ZERO else 0
        _pivot(lp.tableau, lp.line, lp.basis, leaving, entering)
    return _read(lp)


@kernel
def _set_up(lp: StepLP, rewards: Floats, costs: Floats, budget: Floats) -> None:
    """Rows: resources, the round, and the objective with its sign turned; columns: arms, slacks, right-hand side."""
    table, resources, arms = lp.tableau, len(budget), len(rewards)
    for arm in range(arms):
        for row in range(resources):
            table[row, arm] = costs[row, arm]
        table[resources, arm] = 1.0
    for row in range(resources + 1):
        for slack in range(resources + 1):
            table[row, arms + slack] = 1.0 if slack == row else 0.0
        table[row, -1] = budget[row] if row < resources else 1.0
        lp.basis[row] = arms + row
    for column in range(arms + resources + 2):
        table[resources + 1, column] = -rewards[column] if column < arms else 0.0


@kernel
def _entering(gains: Floats, first: bool) -> int:
    """The column with the most to gain, or the first with anything; -1 when there is none."""
    if first:
        return _first(gains)
    least, column = _least(gains), 0
    if least == -ZERO:
        return -1
    while gains[column] != least:
        column += 1
    return column


@kernel
def _least(gains: Floats) -> float:
    """The least gain below -ZERO, or that. Four lanes: in one, each minimum would wait for the one before."""
    columns = len(gains) - 1
    a = b = c = d = -ZERO
    for block in range(columns // 4):
        a = min(a, gains[4 * block])
        b = min(b, gains[4 * block + 1])
        c = min(c, gains[4 * block + 2])
        d = min(d, gains[4 * block + 3])
    for column in range(4 * (columns // 4), columns):
        a = min(a, gains[column])
    return min(min(a, b), min(c, d))


@kernel(inline=False)
def _first(gains: Floats) -> int:
    for column in range(len(gains) - 1):
        if gains[column] < -ZERO:
            return column
    return -1


@kernel
def _leaving(table: Floats, basis: Ints, entering: int) -> int:
    """The row that runs out first; among equals the one whose variable has the lowest number."""
    best, least = -1, np.inf
    for row in range(len(basis)):
        if table[row, entering] > ZERO:
            ratio = table[row, -1] / table[row, entering]
            if ratio < least or (ratio == least and basis[row] < basis[best]):
                best, least = row, ratio
    return best


@kernel
def _pivot(table: Floats, line: Floats, basis: Ints, leaving: int, entering: int) -> None:
    """Let one variable in for another. The row it turns on is copied: a loop over two rows of a table stays scalar."""
    scale = 1.0 / table[leaving, entering]
    for column in range(len(line)):
        line[column] = scale * table[leaving, column]
        table[leaving, column] = line[column]
    for row in range(len(table)):
        weight = table[row, entering]
        if row != leaving and weight != 0.0:
            for column in range(len(line)):
                table[row, column] -= weight * line[column]
            table[row, entering] = 0.0
    for row in range(len(basis)):
        if table[row, -1] < 0.0:  # rounding: a basis is feasible
            table[row, -1] = 0.0
    basis[leaving] = entering


@kernel
def _read(lp: StepLP) -> float:
    arms, resources = len(lp.mix), len(lp.prices)
    for arm in range(arms):
        lp.mix[arm] = 0.0
    for row in range(resources + 1):
        if lp.basis[row] < arms:
            lp.mix[lp.basis[row]] = lp.tableau[row, -1]
    for resource in range(resources):
        lp.prices[resource] = max(0.0, lp.tableau[-1, arms + resource])
    lp.alpha[0] = max(0.0, lp.tableau[-1, arms + resources])
    return float(lp.tableau[-1, -1])
