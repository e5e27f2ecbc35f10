"""Exponential weights that cannot overflow, and a draw in proportion to them.

    p_k = (1 - mixing) w_k / (w_1 + ... + w_K) + mixing / K

A weight is kept as its logarithm, and beside it as its power: one reward changes one weight, so a round costs one
exponential and O(K) sums. Only ratios of weights matter, so the logarithms are moved together to keep the largest
within [-SLACK, SLACK]: nothing overflows however long a run, a weight whose power underflowed keeps its logarithm and
can come back, and an arm that joins (logarithm 0) starts level with the leader, up to a factor e.

`draw` sums the powers anew: the chances are right, and add up to one, also after arms came or went.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import uniform
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import Floats, PerArm

SLACK = 1.0
TINY = 1e-280


class Weights(NamedTuple):
    """Logarithms of weights, and the weights."""

    logs: PerArm
    powers: PerArm


def new_weights(n_arms: int) -> Weights:
    """Every arm with weight one."""
    return Weights(np.zeros(n_arms), np.ones(n_arms))


@kernel
def level(weights: Weights) -> None:
    """Make all weights one again."""
    for k in range(len(weights.logs)):
        weights.logs[k], weights.powers[k] = 0.0, 1.0


@kernel
def raise_weight(weights: Weights, arm: int, exponent: float) -> None:
    """Multiply one weight by exp(exponent)."""
    log = weights.logs[arm] + exponent
    weights.logs[arm], weights.powers[arm] = log, math.exp(log)
    if abs(log) > SLACK:
        _recentre(weights)


@kernel(inline=False)
def _recentre(weights: Weights) -> None:
    """Bring the largest logarithm back to zero if it has left [-SLACK, SLACK]."""
    top = weights.logs[0]
    for k in range(1, len(weights.logs)):
        top = max(top, weights.logs[k])
    if abs(top) > SLACK:
        for k in range(len(weights.logs)):
            weights.logs[k] -= top
            weights.powers[k] = math.exp(weights.logs[k])


@kernel
def _mix(powers: Floats, mixing: float) -> tuple[float, float]:
    """What a power is multiplied by, and what is added, to become a chance."""
    n_arms = len(powers)
    total = 0.0
    for power in powers:
        total += power
    if total > TINY:
        return (1.0 - mixing) / total, mixing / n_arms
    return 0.0, 1.0 / n_arms


@kernel
def summarise_chances(out: Summary, powers: Floats, mixing: float) -> None:
    """The index of an arm is its chance; weights are no estimates of rewards, and nothing else is kept."""
    clear_summary(out)
    scale, floor = _mix(powers, mixing)
    for arm in range(len(powers)):
        out.index[arm] = scale * powers[arm] + floor


@kernel
def draw(powers: Floats, mixing: float, rng: Any) -> tuple[int, float]:
    """An arm drawn with the chances above, and its chance. All powers vanished (their leader left): any arm."""
    n_arms = len(powers)
    scale, floor = _mix(powers, mixing)
    u, rng = uniform(rng)
    for k in range(n_arms):
        share = scale * powers[k] + floor
        if u < share:
            return k, share
        u -= share
    arm = n_arms - 1  # the chances added up to a little less than one: the last arm that has any
    while scale * powers[arm] + floor == 0.0:
        arm -= 1
    return arm, scale * powers[arm] + floor


@kernel
def place(reward: float, range: Floats) -> float:
    """Where a reward lies between the lowest and the highest, from 0 to 1; `range` holds the lowest and the span."""
    return float((reward - range[0]) / range[1])
