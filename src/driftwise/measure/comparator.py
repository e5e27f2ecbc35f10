"""What a run is compared with, round by round.

    ByMeans   every segment of rounds has the mean of each action, and what the standard earns in it
    ByPath    the rewards of somebody else in the same rounds

Each family has a class that makes one for a block of rounds (`block`), and says at the end what else there is to tell
of a run (`tell`). For bare arms, rows of features and slates that is `BestChoice`:

dynamic pseudo-regret   sum_t (max_k mean_{t,k} - mean_{t,a_t})         against the best arm of every round
static regret           max_k sum_t mean_{t,k} - sum_t mean_{t,a_t}     against the best single arm in hindsight
optimal-arm rate        share of rounds in which no arm had a larger mean
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.dispatch import worth
from driftwise.core.kernel import kernel
from driftwise.core.protocols import Tape, World
from driftwise.core.types import Floats
from driftwise.core.verbs import register
from driftwise.measure.ledger import REGRET, Ledger

SAME = 1e-9  # what is the same may differ in the last bits of a sum, or of a price


class ByMeans(NamedTuple):
    """Round i is in segment `rows[i]`. `table` has the mean of every action, `best` what the standard earns.

    A choice counts as the best when none is worth more; where things cost, what it is `worths` is not what it earns.
    """

    rows: NDArray[np.int32]
    table: Floats
    best: Floats
    worths: Floats
    tops: Floats


class ByPath(NamedTuple):
    """What somebody else was paid in each round."""

    rewards: Floats


@kernel
def _missed_by_means(standard: ByMeans, i: int, action: Any, reward: float) -> tuple[float, bool]:
    row = standard.rows[i]
    gap = standard.best[row] - worth(standard.table[row], action)
    return gap, standard.tops[row] - worth(standard.worths[row], action) <= SAME


@kernel
def _missed_by_path(standard: ByPath, i: int, action: Any, reward: float) -> tuple[float, bool]:
    gap = standard.rewards[i] - reward
    return gap, gap <= SAME


register(ByMeans, missed=_missed_by_means)
register(ByPath, missed=_missed_by_path)


class BestChoice:
    """The best arm, row or slate of every round."""

    def __init__(self, world: World, horizon: int, seed: int) -> None:
        self._slate = world.problem(horizon).slate
        self._lasts = world.lasting
        self._offered = 0.0
        self._each: Floats | float = 0.0

    def block(self, tape: Tape) -> ByMeans:
        """The means of a tape; what they offer is summed up."""
        levels = tape.levels
        best = best_of(levels, self._slate)
        shares = np.bincount(levels.rows, minlength=len(levels.table)).astype(float)
        self._offered += float(shares @ best)
        if self._lasts:
            self._each = self._each + shares @ levels.table
        return ByMeans(levels.rows, levels.table, best, levels.table, best)

    def tell(self, ledger: Ledger, nature: Any) -> Mapping[str, float]:
        """Regret against the best that never changes; negative when following the drift earned more."""
        results = {"benchmark": self._offered}
        if self._lasts:
            best_arm = float(np.sort(self._each)[-max(self._slate, 1) :].sum())
            results["static_regret"] = best_arm - (self._offered - float(ledger.totals[REGRET]))
        return results


def best_of(levels: Any, slate: int = 0) -> Floats:
    """The most each row of means could pay: its largest mean, or the sum of the largest that fill a slate."""
    top = levels.table if not slate else np.partition(levels.table, -slate, axis=1)[:, -slate:]
    best: Floats = top.sum(axis=1) if slate else top.max(axis=1)
    return best
