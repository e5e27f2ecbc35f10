"""Which window to use, block after block: exponential weights over windows from one round to the whole block.

    J_j = floor(H^(j / Delta)), j = 0 .. Delta = ceil(ln H)                        the windows for blocks of H rounds
    p_j = (1 - gamma) s_j / sum s + gamma / |J|                                   the chance of window j
    s_j *= exp(gamma x / (|J| p_j))                                               after a block that earned x in [0, 1]
    gamma = min(1, sqrt(|J| ln |J| / ((e - 1) ceil(T / H))))                      for T rounds in all

This is EXP3 (Auer, Cesa-Bianchi, Freund & Schapire 2002) as Bandit-over-Bandit plays it. The weights s are kept as
their logarithms (`numerics/weights.py`), so that no run is too long for them.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Shared
from driftwise.numerics.weights import Weights, draw, raise_weight

ROUNDING = 1e-9  # added before a power is rounded down: H^(Delta / Delta) is H


class Hedge(NamedTuple):
    """Windows and their weights, the first `used` of which are in use, for `rounds` in blocks of `block`.

    `rate` is gamma. `chosen` is the place of the window drawn last, -1 before the first draw, and `chance` was its
    chance.
    """

    windows: Shared
    logs: Shared
    powers: Shared
    used: Shared
    block: Shared
    rounds: Shared
    rate: Shared
    chosen: Shared
    chance: Shared


def new_hedge(longest: int) -> Hedge:
    """Room for the windows of blocks of up to `longest` rounds; `plan` says which there are."""
    most = math.ceil(math.log(longest)) + 1
    return Hedge(
        windows=np.zeros(most, np.int64),
        logs=np.zeros(most),
        powers=np.ones(most),
        used=np.zeros(1, np.int64),
        block=np.zeros(1, np.int64),
        rounds=np.zeros(1, np.int64),
        rate=np.zeros(1),
        chosen=np.full(1, -1, np.int64),
        chance=np.ones(1),
    )


@kernel
def plan(hedge: Hedge, block: int, rounds: int, shortest: int) -> None:
    """Level weights for the windows of blocks of `block` rounds, `rounds` in all, without those below `shortest`."""
    steps = math.ceil(math.log(block))
    count = 0
    for j in range(steps + 1):
        window = block if j == steps else math.floor(block ** (j / steps) + ROUNDING)
        if window >= shortest or j == steps:
            hedge.windows[count] = window
            count += 1
    for j in range(len(hedge.windows)):
        hedge.logs[j], hedge.powers[j] = 0.0, 1.0
        if j >= count:
            hedge.windows[j] = 0
    blocks = (rounds + block - 1) // block
    hedge.used[0], hedge.block[0], hedge.rounds[0] = count, block, rounds
    hedge.rate[0] = min(1.0, math.sqrt(count * math.log(count) / ((math.e - 1.0) * blocks)))
    hedge.chosen[0] = -1


@kernel
def pick(hedge: Hedge, rng: Any) -> int:
    """Draw the window of the next block."""
    hedge.chosen[0], hedge.chance[0] = draw(hedge.powers[: hedge.used[0]], hedge.rate[0], rng)
    return int(hedge.windows[hedge.chosen[0]])


@kernel
def credit(hedge: Hedge, gain: float) -> None:
    """The block of the window drawn last earned `gain`."""
    count = hedge.used[0]
    weights = Weights(hedge.logs[:count], hedge.powers[:count])
    raise_weight(weights, hedge.chosen[0], hedge.rate[0] * gain / (count * hedge.chance[0]))
