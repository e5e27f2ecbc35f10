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
from driftwise.families.contextual.filter_bank import LinearFilterBank, doubt, expect
from driftwise.numerics.ridge import dot

SHORTEST, SCALES = 8, 14
MEMORY = 64
Z = 3.0
NEVER = -1


class ParameterVariogram(NamedTuple):
    """By scale: the row in its unit, its mean and variance, the round it was noted in, E_q and n_q."""

    rows: PerFeature
    means: Shared
    variances: Shared
    rounds: Shared
    rates: Shared
    counts: Shared


def new_variogram(dim: int) -> ParameterVariogram:
    """Nothing noted."""
    return ParameterVariogram(
        rows=np.zeros((SCALES, dim)),
        means=np.zeros(SCALES),
        variances=np.zeros(SCALES),
        rounds=np.full(SCALES, NEVER, np.int64),
        rates=np.zeros(SCALES),
        counts=np.zeros(SCALES),
    )


@kernel
def any_due(variogram: ParameterVariogram, now: int) -> bool:
    """Whether a scale is due."""
    due = False
    for q in range(len(variogram.rounds)):
        due = due or _is_due(variogram, q, now)
    return due


@kernel
def _is_due(variogram: ParameterVariogram, q: int, now: int) -> bool:
    return bool(variogram.rounds[q] == NEVER or now - variogram.rounds[q] >= SHORTEST * 2**q)


@kernel(inline=False)
def compare(variogram: ParameterVariogram, bank: LinearFilterBank, x: Floats, unit: float, now: int) -> None:
    """Compare what is due with the mixture in `bank`, and note the row x / unit in its place."""
    for q in range(len(variogram.rounds)):
        if not _is_due(variogram, q, now):
            continue
        row, since = variogram.rows[q], now - variogram.rounds[q]
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
def stray_pace(variogram: ParameterVariogram) -> float:
    """Squared distance a round, in the unit of rewards."""
    pace = 0.0
    for q in range(len(variogram.rates)):
        pace = max(pace, variogram.rates[q] * variogram.counts[q] / (variogram.counts[q] + 1.0))
    return float(pace)
