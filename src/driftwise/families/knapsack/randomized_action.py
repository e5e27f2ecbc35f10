"""Choosing by a mix of arms: what is left of the mix is the null arm's."""

from typing import Any

from driftwise.core.kernel import kernel
from driftwise.core.random import uniform
from driftwise.core.types import Floats

NULL = -1


@kernel
def draw_from(mix: Floats, rng: Any) -> tuple[int, float]:
    """An arm drawn from the mix, or the null arm, and the chance it had."""
    u, rng = uniform(rng)
    rest = 1.0
    for arm in range(len(mix)):
        if u < mix[arm]:
            return arm, min(1.0, mix[arm])
        u -= mix[arm]
        rest -= mix[arm]
    return NULL, max(0.0, min(1.0, rest))
