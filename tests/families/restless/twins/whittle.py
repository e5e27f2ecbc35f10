"""Whittle indices and optimistic transitions the slow way: every policy tried, or value iteration to its end."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

from driftwise.core.types import Floats
from driftwise.families.restless.whittle.advantage_lines import RestlessArm

Index = tuple[Floats, bool]


def gaps_at(arm: RestlessArm, charge: float, policies: list[tuple[Any, Any]]) -> Floats:
    """What activating gains in each state, where the best of all policies is played ever after."""
    values = np.max([alpha - charge * beta for alpha, beta in policies], axis=0)
    gaps: Floats = arm.busy - arm.idle - charge + arm.discount * (arm.active - arm.passive) @ values
    return gaps


def brute_force(arm: RestlessArm, tolerance: float = 1e-9) -> Index:
    """The charge from which on each state is passive, and whether none comes back: by all 2^S policies.

    The optimal gaps are straight between any two neighbours among the charges at which a gap of some policy is 0.
    """
    policies: list[tuple[Floats, Floats]] = []
    charges: list[float] = []
    for choice in product((False, True), repeat=len(arm.idle)):
        chosen = np.array(choice)
        kernel = np.where(chosen[:, None], arm.active, arm.passive)
        matrix = np.eye(len(chosen)) - arm.discount * kernel
        alpha: Floats = np.linalg.solve(matrix, np.where(chosen, arm.busy, arm.idle)).astype(np.float64)
        beta: Floats = np.linalg.solve(matrix, chosen.astype(np.float64)).astype(np.float64)
        policies.append((alpha, beta))
        moved = arm.discount * (arm.active - arm.passive)
        tops, slopes = arm.busy - arm.idle + moved @ alpha, 1.0 + moved @ beta
        charges += [top / slope for top, slope in zip(tops, slopes, strict=True) if abs(slope) > 1e-12]
    charges.sort()
    gaps = [gaps_at(arm, (low + high) / 2, policies) for low, high in pairwise(charges)]
    index, indexable = np.full(len(arm.idle), charges[0]), True
    below = np.zeros(len(arm.idle), bool)
    for high, gap in zip(charges[1:], gaps, strict=True):
        index[gap > tolerance] = high
        indexable &= not (below & (gap > tolerance)).any()
        below |= gap < -tolerance
    return index, bool(indexable)


def exact(passive: Any, active: Any, idle: Any, busy: Any, discount: Fraction) -> tuple[list[Fraction], bool]:
    """The same in fractions: nothing is rounded, ties are ties."""
    size = len(idle)
    moved = [[discount * (active[i][j] - passive[i][j]) for j in range(size)] for i in range(size)]
    policies, charges = [], set()
    for choice in product((False, True), repeat=size):
        kernel = [active[i] if choice[i] else passive[i] for i in range(size)]
        rewards = [[busy[i] if choice[i] else idle[i], Fraction(choice[i])] for i in range(size)]
        matrix = [[Fraction(i == j) - discount * kernel[i][j] for j in range(size)] for i in range(size)]
        values = _solve(matrix, rewards)
        policies.append(values)
        for i in range(size):
            top = busy[i] - idle[i] + sum(moved[i][j] * values[j][0] for j in range(size))
            slope = 1 + sum(moved[i][j] * values[j][1] for j in range(size))
            if slope:
                charges.add(top / slope)
    ordered = sorted(charges)
    index, indexable, below = [ordered[0]] * size, True, [False] * size
    for low, high in pairwise(ordered):
        charge = (low + high) / 2
        best = [max(values[j][0] - charge * values[j][1] for values in policies) for j in range(size)]
        for i in range(size):
            gap = busy[i] - idle[i] - charge + sum(moved[i][j] * best[j] for j in range(size))
            if gap > 0:
                index[i] = high
                indexable &= not below[i]
            below[i] |= gap < 0
    return index, indexable


def exact_average(passive: Any, active: Any, idle: Any, busy: Any) -> tuple[list[Fraction], bool]:
    """For the average reward, in fractions. A policy is best when its own gaps all have the sign they should.

    Every policy must bring all states together in the end; gain and relative values are then unique.
    """
    size = len(idle)
    moved = [[active[i][j] - passive[i][j] for j in range(size)] for i in range(size)]
    lines, charges = [], set()
    for choice in product((False, True), repeat=size):
        kernel = [active[i] if choice[i] else passive[i] for i in range(size)]
        rewards = [[busy[i] if choice[i] else idle[i], Fraction(choice[i])] for i in range(size)]
        matrix = [[Fraction(i == j) - kernel[i][j] + Fraction(1, size) for j in range(size)] for i in range(size)]
        values = _solve(matrix, rewards)
        tops = [busy[i] - idle[i] + sum(moved[i][j] * values[j][0] for j in range(size)) for i in range(size)]
        slopes = [1 + sum(moved[i][j] * values[j][1] for j in range(size)) for i in range(size)]
        lines.append((choice, tops, slopes))
        charges |= {top / slope for top, slope in zip(tops, slopes, strict=True) if slope}
    ordered = sorted(charges)
    index, indexable, below = [ordered[0]] * size, True, [False] * size
    for low, high in pairwise(ordered):
        gap = next(_optimal_gaps(lines, (low + high) / 2))
        for i in range(size):
            if gap[i] > 0:
                index[i] = high
                indexable &= not below[i]
            below[i] |= gap[i] < 0
    return index, indexable


def _optimal_gaps(lines: Any, charge: Fraction) -> Iterator[list[Fraction]]:
    for choice, tops, slopes in lines:
        gaps = [top - charge * slope for top, slope in zip(tops, slopes, strict=True)]
        if all(gap >= 0 if chosen else gap <= 0 for gap, chosen in zip(gaps, choice, strict=True)):
            yield gaps


def by_bisection(arm: RestlessArm, tolerance: float = 1e-10) -> Floats:
    """The index of every state of an indexable arm: the charge is halved in on, with value iteration at each."""
    index = np.zeros(len(arm.idle))
    for state in range(len(index)):
        low, high = -1e3, 1e3
        while high - low > tolerance:
            charge = (low + high) / 2
            values = np.zeros(len(index))
            while True:
                passive = arm.idle + arm.discount * arm.passive @ values
                active = arm.busy - charge + arm.discount * arm.active @ values
                moved = np.abs(np.maximum(passive, active) - values).max()
                values = np.maximum(passive, active)
                if moved < 1e-2 * tolerance * (1.0 - arm.discount):
                    break
            low, high = (charge, high) if active[state] > passive[state] else (low, charge)
        index[state] = (low + high) / 2
    return index


def extended_values(ball: Any, rewards: Floats, discount: float, charge: float, tolerance: float = 1e-9) -> Floats:
    """V under the most hopeful transitions, by value iteration that chooses every row anew, a linear program each."""
    values: Floats = np.zeros(rewards.shape[1])
    while True:
        order = np.argsort(-values, kind="stable")
        worth = np.array(
            [
                [
                    rewards[action, s]
                    - charge * action
                    + discount
                    * hopeful(ball.centre[action, s], ball.allowed[action, s], ball.radii[action, s], order)
                    @ values
                    for s in range(len(values))
                ]
                for action in range(2)
            ]
        )
        moved = np.abs(worth.max(axis=0) - values).max()
        values = worth.max(axis=0)
        if moved < tolerance * (1.0 - discount):
            return np.asarray(values, float)


def hopeful(centre: Floats, allowed: Any, radius: float, order: Any) -> Floats:
    """The best row of a ball: half the radius goes to the best state allowed, and comes from the worst."""
    row = np.where(allowed, centre, 0.0)
    best = next(s for s in order if allowed[s])
    row[best] = min(1.0, row[best] + radius / 2)
    for s in order[::-1]:
        if s != best:
            row[s] = max(0.0, row[s] - max(0.0, row.sum() - 1.0))
    return row


def _solve(matrix: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    """Gauss and Jordan."""
    rows, size = [[*a, *b] for a, b in zip(matrix, right, strict=True)], len(matrix)
    for k in range(size):
        best = next(i for i in range(k, size) if rows[i][k])
        rows[k], rows[best] = rows[best], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]
