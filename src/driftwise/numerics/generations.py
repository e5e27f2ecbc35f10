"""Decisions under way in two generations: those that wait far longer than rewards take are no longer expected.

    D    mean delay of rewards in rounds, over the last MEMORY or so
    round t opens a new generation when the young one began more than SPAN D rounds before: the young decisions become
    the old ones, and what is left of the old ones is dropped

A reward that is lost never settles, or settles when nobody can expect it any more. To count its decision until then
would narrow bounds by rewards that never come. A decision counts for SPAN D rounds at least and for about 2 SPAN D at
most. Until the first reward has come nothing is known of delays, and all decisions count.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Shared

SPAN = 2.0
MEMORY = 2000.0
YOUNG, OLD, DROPPED = range(3)


class Generations(NamedTuple):
    """The rounds in which the young and the old generation began; number and mean of delays."""

    starts: Shared
    delays: Shared


def new_generations() -> Generations:
    """No decision yet."""
    return Generations(starts=np.zeros(2, np.int64), delays=np.zeros(2))


@kernel
def learn_delay(generations: Generations, rounds: int) -> None:
    """A reward came so many rounds after its decision."""
    delays = generations.delays
    delays[0] = min(delays[0] + 1.0, MEMORY)
    delays[1] += (rounds - delays[1]) / delays[0]


@kernel
def opens_generation(generations: Generations, t: int) -> bool:
    """Whether round `t` opens a new generation; if so, the caller drops the old decisions and ages the young."""
    starts, delays = generations.starts, generations.delays
    opens = delays[0] > 0.0 and t - starts[YOUNG] > SPAN * delays[1]
    if opens:
        starts[OLD] = starts[YOUNG]
        starts[YOUNG] = t
    return bool(opens)


@kernel
def generation_of(generations: Generations, t: int) -> int:
    """YOUNG, OLD or DROPPED."""
    starts = generations.starts
    return YOUNG if t >= starts[YOUNG] else OLD if t >= starts[OLD] else DROPPED
