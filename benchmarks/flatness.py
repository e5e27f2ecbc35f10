"""Does a size that goes up and down grow? A rule for saw-teeth, such as a store that is cut again and again.

Neighbours on a saw-tooth are not independent, so that a line through all samples has an interval that means nothing.
So the time after a first part (`WARM`) is split into windows that each hold several whole teeth, and of each window
only the highest size counts: the room that must be there. Through these peaks goes a line; its slope has an interval by
Student's t with two degrees of freedom less than windows.

    grows       the whole 95 % interval of the growth is above `MARGIN` an hour: one false alarm in forty at most
    flat        the whole interval is below `MARGIN`
    undecided   neither: the run is too short, or the teeth too uneven. `detectable` says what would have been found

`detectable` is the growth an hour that the rule finds in nine of ten runs with teeth as uneven as these, in three of
four if teeth grow with the size (`tests/benchmarks/test_flatness.py`); a run twice as long finds about half of it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

WARM = 0.25  # of the time, in which sizes come to where they stay
WINDOWS = 8
LEAST_TEETH = 3  # whole teeth in a window
MARGIN = 0.1  # of the size, gained in an hour
CONFIDENCE, POWER = 0.95, 0.9


class Growth(NamedTuple):
    """What a line through the peaks says; growth is per hour, in shares of the size where the line begins."""

    verdict: str
    growth: tuple[float, float]
    detectable: float
    peaks: list[int]


def judge(times: Sequence[float], sizes: Sequence[float], *, tooth: float, warm: float = WARM) -> Growth:
    """The growth of sizes sampled at these times in seconds, whose teeth last `tooth` seconds at most."""
    t, size = np.asarray(times, float), np.asarray(sizes, float)
    start, end = t[0] + warm * (t[-1] - t[0]), t[-1]
    width = (end - start) / WINDOWS
    if width < LEAST_TEETH * tooth:
        least = LEAST_TEETH * tooth * WINDOWS / (1 - warm)
        raise ValueError(
            f"{end - t[0]:.0f} s are too short for teeth of {tooth:g} s: at least {least:.0f} s are needed"
        )
    window = np.minimum((t - start) // width, WINDOWS - 1)
    peaks = np.array([size[window == i].max() for i in range(WINDOWS)])
    middles = start + width * (np.arange(WINDOWS) + 0.5)
    line = stats.linregress(middles, peaks)
    share = 3600 / (line.intercept + line.slope * start)
    slope, error, quantile = line.slope * share, line.stderr * share, stats.t.ppf((1 + CONFIDENCE) / 2, WINDOWS - 2)
    low, high = slope - quantile * error, slope + quantile * error
    verdict = "grows" if low > MARGIN else "flat" if high < MARGIN else "undecided"
    detectable = MARGIN + error * _errors_above(quantile, WINDOWS - 2)
    return Growth(verdict, (float(low), float(high)), float(detectable), [int(each) for each in peaks])


def _errors_above(quantile: float, free: int) -> float:
    """How many standard errors a slope must be above a margin, to be found there with the chance `POWER`."""
    return float(optimize.brentq(lambda distance: stats.nct.sf(quantile, free, distance) - POWER, 0.0, 50.0))
