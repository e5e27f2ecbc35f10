"""How much a world drifts: the budgets that windows are tuned by and regret is bounded with, exactly and not by bound.

l2        sum_t |theta_{t+1} - theta_t|                 of the parameter; of the means, where there is none behind them
sup       sum_t max_k |mean_{t+1,k} - mean_{t,k}|       of the means; nan where every round has actions of its own
changes   the rounds at which something jumps
W         sum_t sum_i sup_x |g_{t,i} - mean of g_i|     of constraints on points (`families/convex`)
epsilon   max_e max_row |P_{e+1} - P_e|_1               of transitions of restless arms (`families/restless`)

Cheung, Simchi-Levi & Zhu call the first B_T, Besbes, Gur & Zeevi the second V_T. Bare arms are basis vectors, and their
means the parameter.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from driftwise.core.protocols import World
from driftwise.core.types import Floats
from driftwise.core.validation import whole
from driftwise.measure.levels import Levels


class Variation(NamedTuple):
    """How far one run of a world has gone."""

    l2: float
    sup: float
    changes: int


class Course(NamedTuple):
    """A stretch of rounds from `start` on: the parameter of each, and the means; no means where actions do not last."""

    start: int
    parameters: Levels
    means: Levels | None


def variation(world: World, horizon: int, seed: int) -> Variation:
    """Go through a world block by block and add up every step it takes, those between blocks included.

    >>> from driftwise.families import Abrupt, SinePair
    >>> round(variation(SinePair(variation=1.0), 30_000, seed=0).l2, 3)  # 3 sqrt(2), not sqrt(2) as printed
    4.242
    >>> variation(Abrupt(phases=3), 900, seed=0).changes
    2
    """
    l2, sup = 0.0, 0.0
    before: Course | None = None
    for course in world.courses(horizon, seed):
        l2 += float(np.linalg.norm(_steps(course.parameters, before and before.parameters), axis=1).sum())
        if course.means is None:
            sup = math.nan
        else:
            sup += float(np.abs(_steps(course.means, before and before.means)).max(axis=1).sum())
        before = course
    return Variation(l2, sup, len(world.changes(horizon, seed)))


def norms(world: World, horizon: int, seed: int) -> dict[str, float | None]:
    """How far one run of a world goes, by the names of measures; None where a measure does not apply."""
    moved = variation(world, horizon, seed)
    return {"l2": moved.l2, "sup": None if math.isnan(moved.sup) else moved.sup}


def courses(world: World, horizon: int, seed: int) -> Iterator[Course]:
    """What drifts in a world, block by block, from its tapes: the parameter behind them, and the means."""
    for tape in world.tapes(whole("horizon", horizon), seed, world.block):
        path = getattr(tape, "path", None)
        parameters = tape.levels if path is None or path.shape[1] == 0 else Levels.of_each_round(path)
        yield Course(tape.start, parameters, tape.levels)


def _steps(levels: Levels, before: Levels | None) -> Floats:
    """Every step of a stretch of rounds that is not known to be zero, with the one that led into it."""
    moved = np.flatnonzero(np.diff(levels.rows))
    steps = levels.table[levels.rows[moved + 1]] - levels.table[levels.rows[moved]]
    return steps if before is None else np.vstack([levels.table[levels.rows[0]] - before.table[before.rows[-1]], steps])
