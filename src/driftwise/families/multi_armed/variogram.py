"""How far the mean of an arm strays in n rounds, learned from all arms that were played: a variogram.

Every 2^q rounds, q = 3 .. 19, each arm played since is looked at, and compared with what it was 2^q rounds before:

    d = (mean now - mean then)^2,  0 unless d >= 9 (variance now + variance then)
    n_q <- min(n_q + 1, 64),   E_q += (d - E_q) / n_q
    D_q = (2 D_{q-1} + n_q E_q) / (1 + n_q),   D_2 = 0           a scale never seen goes on as a random walk
    D(n) = D_q at n = 2^q, linear between; below 2^3 in proportion, and above 2^19 constant

Without the threshold of three standard deviations it would feed on its own exploration.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, PerArm, Shared

SHORTEST = 8
SCALES = 17
ALL = (1 << SCALES) - 1
DOUBT = 9.0
MEMORY = 64.0


class Variogram(NamedTuple):
    """By scale the squared moves E, how many were seen, and the variogram D; by arm what it was when last looked at.

    Bit q of `played` says that the arm was rewarded since scale q was last looked at, and bit q of `fresh` that it had
    been by then, too.
    """

    moves: Shared
    seen: Shared
    levels: Shared
    played: PerArm
    fresh: PerArm
    means: PerArm
    variances: PerArm


def new_variogram(n_arms: int) -> Variogram:
    """No arm ever moved."""
    return Variogram(
        moves=np.zeros(SCALES),
        seen=np.zeros(SCALES),
        levels=np.zeros(SCALES),
        played=np.zeros(n_arms, np.int64),
        fresh=np.zeros(n_arms, np.int64),
        means=np.zeros((n_arms, SCALES)),
        variances=np.zeros((n_arms, SCALES)),
    )


@kernel
def straying(variogram: Variogram, rounds: int) -> float:
    """D(n)."""
    levels = variogram.levels
    if rounds < SHORTEST:
        return float(levels[0] * rounds / SHORTEST)
    scale, size = 0, SHORTEST
    while rounds >= 2 * size and scale < SCALES - 1:
        scale, size = scale + 1, 2 * size
    if scale == SCALES - 1:
        return float(levels[scale])
    return float(levels[scale] + (levels[scale + 1] - levels[scale]) * (rounds - size) / size)


@kernel
def look(variogram: Variogram, before: int, now: int, means: Floats, variances: Floats) -> None:
    """Time has come from round `before` to round `now`: look at the arms at every scale whose turn has come."""
    learned = False
    for scale in range(SCALES):
        turns = now // (SHORTEST << scale) - before // (SHORTEST << scale)
        if turns == 0:
            break
        for arm in range(len(means)):
            learned |= _look_at(variogram, scale, arm, means[arm], variances[arm])
            if turns > 1:
                variogram.fresh[arm] &= ~(1 << scale)
    if learned:
        level = 0.0
        for scale in range(SCALES):
            level = (2.0 * level + variogram.seen[scale] * variogram.moves[scale]) / (1.0 + variogram.seen[scale])
            variogram.levels[scale] = level


@kernel
def _look_at(variogram: Variogram, scale: int, arm: int, mean: float, variance: float) -> bool:
    """Look at one arm at one scale; whether something was learned."""
    bit = 1 << scale
    if not variogram.played[arm] & bit:
        variogram.fresh[arm] &= ~bit
        return False
    compared = bool(variogram.fresh[arm] & bit)
    if compared:
        move = (mean - variogram.means[arm, scale]) ** 2
        if move < DOUBT * (variance + variogram.variances[arm, scale]):
            move = 0.0
        variogram.seen[scale] = min(variogram.seen[scale] + 1.0, MEMORY)
        variogram.moves[scale] += (move - variogram.moves[scale]) / variogram.seen[scale]
    variogram.means[arm, scale], variogram.variances[arm, scale] = mean, variance
    variogram.fresh[arm] |= bit
    variogram.played[arm] &= ~bit
    return compared
