"""95 % intervals of a mean over the rows of a log, when rewards drift and rows of one unit resemble each other.

The variance is that of rows around the mean of their neighbourhood, about a hundred rows: drift moves the mean that is
estimated, but it is no error of the estimate. Rows of one unit are added before they are squared. Student's quantile
has the effective number of rows as its degrees of freedom. Where rewards have two values, the interval is Wilson's for
as many rows as have this variance, and no more than the effective ones where one of the values is rare: then the spread
of rows says little. It is right for rare rewards too, and never empty where none was seen.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints

NEIGHBOURS = 100
LEVEL = 0.975  # each end of an interval is exceeded in 2.5 %


class Interval(NamedTuple):
    """An estimate and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    def as_dict(self) -> dict[str, object]:
        """As JSON; an end that is not known is None."""
        return {"mean": self.mean, "ci95": [end if math.isfinite(end) else None for end in (self.low, self.high)]}


def mean_interval(
    contributions: Floats,
    *,
    size: float | None = None,
    units: Ints | None = None,
    ends: tuple[float, float] | None = None,
    rare: bool = False,
    variance: float = 0.0,
) -> Interval:
    """The mean of contributions, with its interval.

    `size` is the effective number of rows, all of them where it is None. `ends` are the two values that rewards have,
    where they have just two; `rare` says that one of them was hardly seen. `variance` is added to that of the mean.
    """
    mean, n = float(contributions.mean()), len(contributions)
    size = float(n) if size is None else min(float(n), size)
    if n < 2 or size < 2.0:
        return Interval(mean, -math.inf, math.inf)
    error, groups = standard_error(contributions, units)
    return interval_of(mean, math.hypot(error, math.sqrt(variance)), size, min(size, groups), ends=ends, rare=rare)


def interval_of(
    mean: float,
    error: float,
    size: float,
    n_groups: float,
    *,
    ends: tuple[float, float] | None = None,
    rare: bool = False,
) -> Interval:
    """The interval of a mean whose standard error is known, from `n_groups` independent ones; see `mean_interval`."""
    if size < 2.0:
        return Interval(mean, -math.inf, math.inf)
    from scipy.special import stdtrit  # slow to import

    quantile = float(stdtrit(max(1.0, n_groups - 1.0), LEVEL))
    if ends is not None and (rare or ends[0] <= mean <= ends[1]):
        return _wilson(mean, error, size, ends, quantile, rare)
    return Interval(mean, mean - quantile * error, mean + quantile * error)


def standard_error(contributions: Floats, units: Ints | None = None) -> tuple[float, int]:
    """The standard error of the mean of contributions, and of how many independent groups of rows it is made."""
    n = len(contributions)
    n_blocks = max(1, n // NEIGHBOURS)
    starts = np.arange(n_blocks) * n // n_blocks
    sizes = np.diff(np.append(starts, n))
    means = np.add.reduceat(contributions, starts) / sizes
    # What a block's own mean takes away of the spread is given back.
    residuals = (contributions - np.repeat(means, sizes)) * np.repeat(np.sqrt(sizes / (sizes - 1.0)), sizes)
    if units is None:
        return float(np.sqrt(residuals @ residuals)) / n, n
    sums = np.bincount(units, weights=residuals)
    return float(np.sqrt(sums @ sums)) / n, int(np.count_nonzero(np.bincount(units)))


def _wilson(mean: float, error: float, size: float, ends: tuple[float, float], quantile: float, rare: bool) -> Interval:
    """Wilson's interval for a share whose standard error is known, by the number of rows that would have that error."""
    low, span = ends[0], ends[1] - ends[0]
    share, spread = min(1.0, max(0.0, (mean - low) / span)), (error / span) ** 2
    variance = share * (1.0 - share)
    rows = variance / spread if spread > 0.0 and variance > 0.0 else size
    square = quantile**2 / (min(rows, size) if rare else rows)
    centre = (share + 0.5 * square) / (1.0 + square)
    half = math.sqrt(square * variance + 0.25 * square**2) / (1.0 + square)
    bottom, top = low + span * max(0.0, centre - half), low + span * (centre + half)
    return Interval(mean, min(mean, bottom), max(mean, top))
