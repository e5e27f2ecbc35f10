"""How far a parameter strays while nobody looks: a variogram along the rows that are played.

    every 2^q rounds, q = 3 .. 16: the row x played then, what the mixture expected of it (mu) and its variance (v) are
    noted, and compared with what the mixture expects of that row now (mu', v'):

        d = (mu - mu')^2, and 0 unless d >= Z^2 (v + v')
        rate = d / ((|x|^2 + 1) rounds between)          averaged over the last MEMORY comparisons of this q: E_q, n_q

    pace = max over q of E_q n_q / (n_q + 1)

A walk has the same rate at every lag, and the filters find it by themselves. What drifts steadily has a rate that grows
with the lag: filters that predict the next reward best take it for slower than it is, and rows that were not played for
long are not tried again. The threshold keeps the variogram from feeding on its own doubts.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, PerFeature, Shared
from driftwise.families.contextual.filter_bank import FilterBank, doubt, expect
from driftwise.numerics.ridge import dot

SCALES = 2 ** np.arange(3, 17)
MEMORY = 64
Z = 3.0
NEVER = -1


class Variogram(NamedTuple):
    """By scale: the row in its unit, its mean and variance, the round it was noted in, E_q and n_q."""

    rows: PerFeature
    means: Shared
    variances: Shared
    rounds: Shared
    rates: Shared
    counts: Shared


def new_variogram(dim: int) -> Variogram:
    """Nothing noted."""
    number = len(SCALES)
    return Variogram(
        rows=np.zeros((number, dim)),
        means=np.zeros(number),
        variances=np.zeros(number),
        rounds=np.full(number, NEVER, np.int64),
        rates=np.zeros(number),
        counts=np.zeros(number),
    )


@kernel
def any_due(variogram: Variogram, now: int) -> bool:
    """Whether a scale is due: the shortest always is, when one is."""
    return bool(variogram.rounds[0] == NEVER or now - variogram.rounds[0] >= 8)


@kernel(inline=False)
def compare(variogram: Variogram, bank: FilterBank, x: Floats, unit: float, now: int) -> None:
    """Compare what is due with the mixture in `bank`, and note the row x / unit in its place."""
    for q in range(len(variogram.rounds)):
        since = now - variogram.rounds[q]
        if variogram.rounds[q] != NEVER and since < 8 * 2**q:
            continue
        row = variogram.rows[q]
        if variogram.rounds[q] != NEVER:
            apart = expect(bank, row, 1.0) - variogram.means[q]
            square = apart * apart
            if square < Z * Z * (doubt(bank, row, 1.0) + variogram.variances[q]):
                square = 0.0
            variogram.counts[q] = min(variogram.counts[q] + 1.0, MEMORY)
            rate = square / ((dot(row, row) + 1.0) * since)
            variogram.rates[q] += (rate - variogram.rates[q]) / variogram.counts[q]
        for i in range(len(x)):
            row[i] = x[i] / unit
        variogram.means[q], variogram.variances[q] = expect(bank, x, unit), doubt(bank, x, unit)
        variogram.rounds[q] = now


@kernel
def stray_pace(variogram: Variogram) -> float:
    """Squared distance a round, in the unit of rewards."""
    pace = 0.0
    for q in range(len(variogram.rates)):
        pace = max(pace, variogram.rates[q] * variogram.counts[q] / (variogram.counts[q] + 1.0))
    return float(pace)
