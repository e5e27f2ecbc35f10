"""How much a world drifts: the budgets that windows are tuned by and regret is bounded with, exactly and not by bound.

l2        sum_t |theta_{t+1} - theta_t|                 of the parameter; of the means, where there is none behind them
sup       sum_t max_k |mean_{t+1,k} - mean_{t,k}|       of the means; nan where every round has actions of its own
changes   the rounds at which something jumps
W         sum_t sum_i sup_x |g_{t,i} - mean of g_i|     of constraints on points (`measure/convex/regrets.py`)
epsilon   max_e max_row |P_{e+1} - P_e|_1               of kernels of restless arms (`measure/restless/kernel_drift.py`)

Cheung, Simchi-Levi & Zhu call the first B_T, Besbes, Gur & Zeevi the second V_T. Bare arms are basis vectors, and their
means the parameter.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.validation import whole
from driftwise.core.types import Floats
from driftwise.families.convex.loss_history import past_of
from driftwise.families.convex.constraint_violation import wandering
from driftwise.families.restless.transitions.drift import epsilon
from driftwise.families.multi_armed.worlds.base import BLOCK, Levels


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


def variation(world: Any, horizon: int, seed: int) -> Variation:
    """Go through a world block by block and add up every step it takes, those between blocks included.

    >>> from driftwise.families import Abrupt, SinePair
    >>> round(variation(SinePair(variation=1.0), 30_000, seed=0).l2, 3)  # 3 sqrt(2), not sqrt(2) as printed
    4.242
    >>> variation(Abrupt(phases=3), 900, seed=0).changes
    2
    """
    l2, sup = 0.0, 0.0
    before: Course | None = None
    for course in courses(world, horizon, seed):
        l2 += float(np.linalg.norm(_steps(course.parameters, before and before.parameters), axis=1).sum())
        if course.means is None:
            sup = math.nan
        else:
            sup += float(np.abs(_steps(course.means, before and before.means)).max(axis=1).sum())
        before = course
    return Variation(l2, sup, len(world.changes(horizon, seed)))


def norms_of(world: Any, horizon: int, seed: int) -> dict[str, float | None]:
    """How far one run of a world goes, by the names of measures; None where a measure says nothing of it.

    >>> from driftwise.families import ConvexHard
    >>> norms_of(ConvexHard(delta=0.2), 1000, seed=0)
    {'W': 200.0}
    """
    family = world.problem(horizon).family
    if family == "convex":
        return {"W": round(wandering(past_of(world, horizon, seed)), 9)}
    if family == "restless":
        return {"epsilon": epsilon(world, horizon, seed)}
    moved = variation(world, horizon, seed)
    return {"l2": moved.l2, "sup": None if math.isnan(moved.sup) else moved.sup}


def courses(world: Any, horizon: int, seed: int) -> Iterator[Course]:
    """What drifts in a world, block by block; of fresh actions, and behind kernels, only the parameter is drawn."""
    inner, horizon = getattr(world, "world", world), whole("horizon", horizon)
    if inner.problem(horizon).family == "restless":
        path, which = inner.segments(horizon, seed)
        yield Course(0, Levels(inner.lines(path), which[np.arange(horizon) // inner.episode].astype(np.int32)), None)
        return
    if lasting(world):
        for tape in world.tapes(horizon, seed, getattr(world, "block", BLOCK)):
            yield Course(tape.start, _parameters(tape), levels_of(tape))
        return
    path = inner.path(horizon, seed)
    for start in range(0, horizon, BLOCK):
        yield Course(start, Levels.of_each_round(path(start, min(horizon, start + BLOCK))), None)


def lasting(world: Any) -> bool:
    """Whether action k is the same action in every round; of fresh actions, no mean can be followed through time."""
    return bool(getattr(getattr(world, "world", world), "lasting", True))


def levels_of(tape: Any) -> Any:
    """The means a tape was made from; a delayed one carries another inside."""
    return getattr(tape, "tape", tape).levels


def _parameters(tape: Any) -> Levels:
    """The parameter behind a tape; its means, where there is none."""
    path = getattr(getattr(tape, "tape", tape), "path", None)
    means: Levels = levels_of(tape)
    return means if path is None or path.shape[1] == 0 else Levels.of_each_round(path)


def _steps(levels: Levels, before: Levels | None) -> Floats:
    """Every step of a stretch of rounds that is not known to be zero, with the one that led into it."""
    moved = np.flatnonzero(np.diff(levels.rows))
    steps = levels.table[levels.rows[moved + 1]] - levels.table[levels.rows[moved]]
    return steps if before is None else np.vstack([levels.table[levels.rows[0]] - before.table[before.rows[-1]], steps])
