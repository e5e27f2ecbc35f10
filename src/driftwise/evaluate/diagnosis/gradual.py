"""Gradual changes, told apart from steps: a mean that glides would be cut into several changes in the same direction.

Over the stretch of such changes (one, or several that follow each other) a ramp is compared with the steps:

    mean(row) = before + (after - before) clip((row - start) / (end - start), 0, 1)

by BIC: twice the log likelihood, less ln(rewards) for every mean and every date, of which a ramp has two each and m
steps have m + 1 and m; against a single step, a ramp counts one more. The longest run of changes that a ramp explains
better becomes one gradual change. Its size, start and end are averages and quantiles over all ramps on a grid, each as
likely as the rewards are under it; that a ramp begins or ends where the stretch does is as likely beforehand as that it
does so anywhere inside.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.evaluate.diagnosis.change_points import ChangePoint

SINGLE = 2.0  # parameters that a slope counts more than one step: most single changes are sudden
POINTS = 64  # of the grid on which ramps start and end


class GradualChange(NamedTuple):
    """An arm whose mean glides. Rows of the log: `start` and `end`, each with `.._low` to `.._high` with 95 %."""

    arm: int
    start: int
    start_low: int
    start_high: int
    end: int
    end_low: int
    end_high: int
    before: float
    after: float
    standard_error: float

    @property
    def size(self) -> float:
        """How far the mean went."""
        return self.after - self.before


class Stretch(NamedTuple):
    """Rewards of one arm: rows of the log, values, and weights, 1 / noise^2."""

    rows: Ints
    values: Floats
    weights: Floats

    def between(self, first: int, last: int) -> "Stretch":
        """From one row of the log to before another."""
        own = slice(*np.searchsorted(self.rows, (first, last)))
        return Stretch(self.rows[own], self.values[own], self.weights[own])


def split_gradual(
    changes: Sequence[ChangePoint], arms: Ints, rows: Ints, values: Floats, noise: Floats, edges: Ints
) -> tuple[list[ChangePoint], list[GradualChange]]:
    """The changes that are steps, and gradual ones in place of the others, both in order of time.

    Rewards `values` stand at the log's `rows`; `noise` is that of each bin and arm, and bins end at `edges`.
    """
    steps: list[ChangePoint] = []
    gradual: list[GradualChange] = []
    for arm in sorted({change.arm for change in changes}):
        own = arms == arm
        bins = np.searchsorted(edges, rows[own], side="right")
        stretch = Stretch(rows[own], values[own], noise[bins, arm] ** -2.0)
        mine = [change for change in changes if change.arm == arm]
        bounds = [0, *(change.row for change in mine), int(edges[-1])]
        for first, last in _runs(mine):
            more, remaining = _explained(mine, bounds, first, last, stretch)
            steps, gradual = [*steps, *remaining], [*gradual, *more]
    return sorted(steps, key=lambda each: each.row), sorted(gradual, key=lambda each: each.start)


def _runs(changes: Sequence[ChangePoint]) -> list[tuple[int, int]]:
    """Changes in the same direction that follow each other: the first of each run, and the one after its last."""
    turns = [i for i, (a, b) in enumerate(pairwise(changes), start=1) if (a.size > 0.0) != (b.size > 0.0)]
    return [*pairwise([0, *turns, len(changes)])]


def _explained(
    changes: Sequence[ChangePoint], bounds: Sequence[int], first: int, last: int, stretch: Stretch
) -> tuple[list[GradualChange], list[ChangePoint]]:
    """Gradual changes among `changes[first:last]`, the longest first, and the steps that are left."""
    for length in range(last - first, 0, -1):
        for start in range(first, last - length + 1):
            stop = start + length
            part = stretch.between(bounds[start], bounds[stop + 1])
            ramp = _ramp(changes[start].arm, part, bounds[start + 1 : stop + 1])
            if ramp is not None:
                before = _explained(changes, bounds, first, start, stretch)
                after = _explained(changes, bounds, stop, last, stretch)
                return [*before[0], ramp, *after[0]], [*before[1], *after[1]]
    return [], [*changes[first:last]]


def _ramp(arm: int, part: Stretch, dates: Sequence[int]) -> GradualChange | None:
    """The ramp, where one explains the rewards better than steps at these dates; an average over likely ones."""
    n = len(part.values)
    grid = np.unique(part.rows[np.linspace(0, n - 1, min(n, POINTS)).astype(np.int64)])
    if len(grid) < 2:
        return None
    ramps = fit_ramps(part, grid)
    most = float(ramps.gains.max())
    pieces = [part.between(a, b) for a, b in pairwise([0, *dates, int(part.rows[-1]) + 1])]
    stepped = sum(_square(piece) for piece in pieces) - _square(part)
    more = SINGLE if len(dates) == 1 else 3.0 - 2.0 * len(dates)  # parameters beyond those of the steps
    if most - stepped <= more * np.log(n):
        return None
    edges = (ramps.starts == grid[0]).astype(float) + (ramps.ends == grid[-1])
    shares = np.exp(0.5 * (ramps.gains - most)) * float(len(grid)) ** edges
    shares /= shares.sum()
    before, size = float(shares @ ramps.befores), float(shares @ ramps.sizes)
    error = float(np.sqrt(shares @ (ramps.variances + (ramps.sizes - size) ** 2)))
    start, end = _quantiles(ramps.starts, shares), _quantiles(ramps.ends, shares)
    return GradualChange(arm, *start, *end, before, before + size, error)


def _square(part: Stretch) -> float:
    """What a mean of its own explains of a stretch: sum^2 / weight."""
    weight = float(part.weights.sum())
    return float(part.weights @ part.values) ** 2 / weight if weight > 0.0 else 0.0


class Ramps(NamedTuple):
    """All ramps from one point of a grid to a later one: what each explains beyond the mean, and its coefficients."""

    starts: Ints
    ends: Ints
    gains: Floats
    befores: Floats
    sizes: Floats
    variances: Floats


def fit_ramps(part: Stretch, grid: Ints) -> Ramps:
    """Least squares for every pair of grid points, from sums over the cells between points."""
    n, origin = len(grid), float(part.rows[0])
    cells, at = np.searchsorted(grid, part.rows, side="right") - 1, part.rows - origin
    mean = float(np.average(part.values, weights=part.weights))
    w, y = part.weights, part.weights * (part.values - mean)
    sums = [
        np.concatenate([[0.0], np.cumsum(np.bincount(cells, weights=each, minlength=n))])
        for each in (w, w * at, w * at * at, y, y * at)
    ]
    a, b = np.triu_indices(n, 1)
    s, width = grid[a] - origin, (grid[b] - grid[a]).astype(float)
    w0, w1, w2, y0, y1 = (each[b] - each[a] for each in sums)  # rewards from the start of the ramp to before its end
    w_after, y_after = (sums[i][-1] - sums[i][b] for i in (0, 3))
    f1 = (w1 - s * w0) / width + w_after
    f2 = (w2 - 2.0 * s * w1 + s * s * w0) / width**2 + w_after
    fy = (y1 - s * y0) / width + y_after
    total = sums[0][-1]
    spread = np.maximum(f2 - f1 * f1 / total, 1e-9 * total)
    sizes = fy / spread
    return Ramps(grid[a], grid[b], fy * sizes, mean - sizes * f1 / total, sizes, 1.0 / spread)


def _quantiles(points: Ints, shares: Floats) -> tuple[int, int, int]:
    """The median, and the ends of the interval that has 95 % of the shares."""
    order = np.argsort(points, kind="stable")
    places = np.searchsorted(np.cumsum(shares[order]), (0.5, 0.025, 0.975))
    median, low, high = (int(points[order[min(place, len(order) - 1)]]) for place in places)
    return median, low, high
