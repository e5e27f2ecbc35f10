"""What a run earned and missed, kept at about 200 checkpoints, not at T: half log-spaced, half evenly spaced.

The log-spaced ones show the first rounds, the even ones what happens after a late change.

dynamic pseudo-regret   sum_t (max_k mean_{t,k} - mean_{t,a_t})         against the best arm of every round
static regret           max_k sum_t mean_{t,k} - sum_t mean_{t,a_t}     against the best single arm in hindsight
optimal-arm rate        share of rounds in which no arm had a larger mean
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.context import worth
from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints, Trace

REGRET, REWARD, OPTIMAL = 0, 1, 2
SAME = 1e-12  # a slate's sum depends on the order of its items in the last bits


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
    """Empty books for `horizon` rounds; `good` says of each whether the best arm was chosen."""
    rounds = checkpoints(horizon, marks)
    return Ledger(
        rounds,
        np.full((len(rounds), 3), np.nan),
        np.zeros(3),
        np.zeros(1, np.int64),
        np.zeros(horizon, np.bool_),
    )


@kernel
def enter(ledger: Ledger, levels: Any, best: Floats, trace: Trace, played: int) -> None:
    """Book the first `played` rounds of a trace; `best` is the largest mean of each row of `levels`."""
    for i in range(played):
        row = levels.rows[i]
        gap = best[row] - worth(levels.table[row], trace.actions[i])
        ledger.totals[REGRET] += gap
        ledger.totals[REWARD] += trace.rewards[i]
        t = trace.start + i
        if gap <= SAME:
            ledger.totals[OPTIMAL] += 1.0
            ledger.good[t] = True
        if t + 1 == ledger.rounds[ledger.next_row[0]]:
            for column in range(3):
                ledger.curve[ledger.next_row[0], column] = ledger.totals[column]
            ledger.next_row[0] += 1


class Offer(NamedTuple):
    """What a world offered over a run: the sum of the best means, and each arm's sum."""

    best: float
    arms: Floats


def levels_of(tape: Any) -> Any:
    """The means a tape was made from; a delayed one carries another inside."""
    return getattr(tape, "tape", tape).levels


def best_of(levels: Any, slate: int = 0) -> Floats:
    """The most each row of means could pay: its largest mean, or the sum of the largest that fill a slate."""
    top = levels.table if not slate else np.partition(levels.table, -slate, axis=1)[:, -slate:]
    best: Floats = top.sum(axis=1) if slate else top.max(axis=1)
    return best


def offer(levels: Any, best: Floats) -> Offer:
    """What a stretch of rounds offered."""
    shares = np.bincount(levels.rows, minlength=len(levels.table)).astype(float)
    return Offer(float(shares @ best), shares @ levels.table)


def static_regret(offers: list[Offer], dynamic_regret: float, slate: int = 0) -> float:
    """Against the best arm or slate that never changes; negative when following the drift earned more."""
    best_arm = float(np.sort(np.sum([each.arms for each in offers], axis=0))[-max(slate, 1) :].sum())
    earned = sum(each.best for each in offers) - dynamic_regret
    return best_arm - earned
