"""How late rewards came, and how many never did."""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats

QUANTILES = (0.5, 0.9, 0.99)


class Delays(NamedTuple):
    """Quantiles of the time from decision to reward in seconds, the same in rows, and shares that are odd."""

    known: int
    median: float
    p90: float
    p99: float
    longest: float
    median_rows: float
    p99_rows: float
    negative: int


def delays_of(times: Floats | None, rewarded_at: Floats | None) -> Delays | None:
    """The delays of a log that has both times; a reward before its decision is counted and left out."""
    if times is None or rewarded_at is None:
        return None
    waits = rewarded_at - times
    arrives = ~np.isnan(waits)
    negative = arrives & (waits < 0.0)
    rows = np.flatnonzero(arrives & ~negative)
    if not len(rows):
        return None
    median, p90, p99 = np.quantile(waits[rows], QUANTILES)
    behind = np.searchsorted(times, rewarded_at[rows]) - rows  # decisions made while the reward was under way
    short, long = np.quantile(np.maximum(behind, 0), (0.5, 0.99))
    longest = float(waits[rows].max())
    return Delays(
        len(rows), float(median), float(p90), float(p99), longest, float(short), float(long), int(negative.sum())
    )
