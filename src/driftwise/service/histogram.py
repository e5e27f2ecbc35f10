"""A histogram of fixed bounds: an addition costs a search and three additions, with no lock."""

import bisect
from collections.abc import Sequence

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)


class Histogram:
    """Counts of values up to each bound, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value.

        >>> sizes = Histogram(SIZES)
        >>> sizes.add(2.0)
        >>> sizes.cumulative()[:3]
        [('1.0', 0), ('2.0', 1), ('5.0', 1)]
        """
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[str, int]]:
        """For each bound how many values were at most that; the last bound is infinite."""
        total, pairs = 0, []
        for bound, count in zip([*map(str, self.bounds), "+Inf"], self.counts, strict=True):
            total += count
            pairs.append((bound, total))
        return pairs
