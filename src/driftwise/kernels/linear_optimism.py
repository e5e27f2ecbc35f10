"""Optimism for linear rewards: how far the truth may lie from least squares, and the row that could pay most.

    beta = scale (R sqrt(d ln((1 + n L^2 / lambda) / delta)) + sqrt(lambda) S u)
    index of x = <x, theta> + beta sqrt(x' V^-1 x)

After at most n pairs the parameter lies within beta of theta, in the norm of V, but with probability delta
(Abbasi-Yadkori, Pal & Szepesvari 2011, theorem 2). A policy that is optimistic this way has the parameters `ridge`,
`norm`, `reach`, `confidence` and `scale`, which are lambda, S, L, delta and the factor in front. R and the unit u of S
are those of the rewards (`kernels/reward_scale.py`).
"""

import math
from typing import Any

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.rules import number
from driftwise.core.types import Floats, Problem
from driftwise.kernels.reward_scale import RewardScale
from driftwise.kernels.ridge import Ridge
from driftwise.kernels.row_forms import LANES, measure_rows

UNKNOWN_HORIZON = 0.01  # the confidence taken when nobody knows how long the run will be


def failure_chance(policy: Any, problem: Problem) -> float:
    """delta: as the policy has it, or 1 / horizon; the other parameters of a radius are checked with it."""
    for name in ("ridge", "norm", "reach", "scale"):
        number(name, getattr(policy, name), above=0.0)
    number("confidence", policy.confidence, above=0.0, below=1.0, closed="[")
    return float(policy.confidence or (1.0 / problem.horizon if problem.horizon else UNKNOWN_HORIZON))


@kernel
def doubt_after(policy: Any, delta: float, dim: int, rounds: int) -> float:
    """The square root in beta, for at most `rounds` pairs."""
    return math.sqrt(dim * math.log((1.0 + rounds * policy.reach * policy.reach / policy.ridge) / delta))


@kernel
def radius_for(policy: Any, scale: RewardScale, doubt: float) -> float:
    """The beta with this square root."""
    return float(policy.scale * (scale.noise[0] * doubt + math.sqrt(policy.ridge) * policy.norm * scale.unit[0]))


@kernel
def most_promising_row(ridge: Ridge, context: Floats, radius: float) -> int:
    """The row with the largest upper bound, the first among equals; `theta` must be solved for."""
    best, top, forms = 0, -np.inf, ridge.forms
    for first in range(0, len(context), LANES):
        count = min(LANES, len(context) - first)
        measure_rows(forms, ridge.inverse, ridge.theta, context, first, count)
        for lane in range(count):
            forms.means[lane] += radius * math.sqrt(max(0.0, forms.squares[lane]))
        for lane in range(count):
            if forms.means[lane] > top:
                best, top = first + lane, forms.means[lane]
    return best
