"""What a run earned and missed, kept at about 200 checkpoints, not at T: half log-spaced, half evenly spaced.

The log-spaced ones show the first rounds, the even ones what happens after a late change. What a choice missed is said
by what it is compared with (`measure/comparator.py`): the best arm of the round, the best plan for a budget, ...
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints, Trace
from driftwise.core.verbs import missed

REGRET, REWARD, OPTIMAL = 0, 1, 2


def checkpoints(horizon: int, marks: Sequence[int] = (), *, count: int = 200) -> Ints:
    """At most `count` rounds from 1 to `horizon`, both ends included, and the `marks` besides."""
    spaced = [spacing(1, horizon, count // 2).round() for spacing in (np.geomspace, np.linspace)]
    return np.unique(np.concatenate([*spaced, np.asarray(marks)]).astype(np.int64))


class Ledger(NamedTuple):
    """The books of one run. `curve[i]` holds regret, reward and optimal choices after `rounds[i]` rounds."""

    rounds: Ints
    curve: Floats
    totals: Floats
    next_row: Ints
    good: NDArray[np.bool_]


def new_ledger(horizon: int, marks: Sequence[int] = ()) -> Ledger:
    """Empty books for `horizon` rounds; `good` says of each whether the best was chosen."""
    rounds = checkpoints(horizon, marks)
    return Ledger(
        rounds,
        np.full((len(rounds), 3), np.nan),
        np.zeros(3),
        np.zeros(1, np.int64),
        np.zeros(horizon, np.bool_),
    )


@kernel
def enter(ledger: Ledger, standard: Any, trace: Trace, rounds: int) -> None:
    """Book the first `rounds` rounds of a trace."""
    for i in range(rounds):
        gap, best = missed(standard, i, trace.actions[i], trace.rewards[i])
        ledger.totals[REGRET] += gap
        ledger.totals[REWARD] += trace.rewards[i]
        t = trace.start + i
        if best:
            ledger.totals[OPTIMAL] += 1.0
            ledger.good[t] = True
        if t + 1 == ledger.rounds[ledger.next_row[0]]:
            for column in range(3):
                ledger.curve[ledger.next_row[0], column] = ledger.totals[column]
            ledger.next_row[0] += 1
