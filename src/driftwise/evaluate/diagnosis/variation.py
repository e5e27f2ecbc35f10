"""How far the means of a log went in all: the sum of their steps, arm by arm and together, with an interval.

Steps are those of the segments that changes cut a log into, and those of ramps where a change is gradual. The interval
is a parametric bootstrap: rewards are drawn anew around the segments and cut again, and the interval has 95 % of the
variations so found; segments cut a ramp short, which is corrected for by the median of the draws. Its upper end is at
least `unseen`, the step at mid-log that would be found with 95 %. Many moves smaller than that may hide in the noise of
any log.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.seeding import generator
from driftwise.core.types import Floats, Ints
from driftwise.evaluate.diagnosis.change_points import ChangePoint, segments
from driftwise.evaluate.diagnosis.gradual import GradualChange

DRAWS = 200
MOST_PATHS = 20_000  # draws times arms


class MeanVariation(NamedTuple):
    """A variation and its 95 % interval, in units of rewards."""

    value: float
    low: float
    high: float


def variations(
    counts: Floats,
    sums: Floats,
    noise: Floats,
    penalty: float,
    *,
    found: bool,
    edges: Ints,
    changes: Sequence[ChangePoint] = (),
    gradual: Sequence[GradualChange] = (),
    seed: int = 0,
) -> tuple[list[MeanVariation], MeanVariation]:
    """Of each arm, and of all: the sum over time of the largest step of any arm.

    `noise` is that of each bin and arm; `found` tells whether the log drifts; changes stand in rows of the log, of
    which bins end at `edges`. Arms that changed at one date took one step together, wherever each is cut by itself.
    """
    n_arms, cut = counts.shape[1], penalty if found else np.inf
    path = np.stack([_fitted(counts[:, k], sums[:, k], noise[:, k], cut) for k in range(n_arms)], axis=1)
    _put_ramps(path, gradual, edges)
    compared = _compared(changes, gradual, edges)
    unseen = 2.0 * noise.mean(axis=0) * (np.sqrt(penalty) + 1.645) / np.sqrt(np.maximum(counts.sum(axis=0), 1.0))
    own, moving = np.abs(np.diff(path, axis=0)).sum(axis=0), np.ptp(path, axis=0) > 0.0
    random, draws = generator(seed, "variation"), max(20, min(DRAWS, MOST_PATHS // max(1, moving.sum())))
    each, whole = np.zeros((draws, n_arms)), np.zeros(draws)
    for i in range(draws if moving.any() else 0):
        again = path.copy()
        for k in np.flatnonzero(moving):
            luck = noise[:, k] * np.sqrt(counts[:, k]) * random.standard_normal(len(counts))
            again[:, k] = _fitted(counts[:, k], path[:, k] * counts[:, k] + luck, noise[:, k], cut)
        each[i], whole[i] = np.abs(np.diff(again, axis=0)).sum(axis=0), _together(again[compared])
    if gradual:
        ramped = [*{move.arm for move in gradual}]
        each[:, ramped] += own[ramped] - np.median(each[:, ramped], axis=0)
        whole += _together(path[compared]) - np.median(whole)
    arms = [_interval(float(own[k]), each[:, k], float(unseen[k])) for k in range(n_arms)]
    return arms, _interval(_together(path[compared]), whole, float(unseen.max()))


def _fitted(counts: Floats, sums: Floats, noise: Floats, penalty: float) -> Floats:
    """The mean of the segment that a bin is in."""
    starts: Ints = np.concatenate([[0], segments(counts, sums, noise, penalty)]).astype(np.int64)
    means = np.add.reduceat(sums, starts) / np.maximum(np.add.reduceat(counts, starts), 1.0)
    return np.repeat(means, np.diff(np.append(starts, len(counts))))


def _put_ramps(path: Floats, gradual: Sequence[GradualChange], edges: Ints) -> None:
    """Let the means of bins follow gradual changes."""
    middles = edges - np.diff(edges, prepend=0) / 2.0
    for move in gradual:
        first, last = np.searchsorted(edges, (move.start, move.end))
        bins = slice(int(first), int(last) + 1)
        share = np.clip((middles[bins] - move.start) / max(1, move.end - move.start), 0.0, 1.0)
        path[bins, move.arm] = move.before + move.size * share


def _compared(changes: Sequence[ChangePoint], gradual: Sequence[GradualChange], edges: Ints) -> NDArray[np.bool_]:
    """Which bins to compare with the next: not those about a date of several arms, up to half way to other dates."""
    compared = np.ones(len(edges), np.bool_)
    dates = Counter(change.row for change in changes)
    moves = (row for move in gradual for row in (move.start, move.end))
    rows = sorted({0, *dates, *moves, int(edges[-1])})
    for before, row, after in zip(rows, rows[1:], rows[2:], strict=False):
        if dates[row] > 1:
            first, last = np.searchsorted(edges, ((before + row) / 2.0, (row + after) / 2.0))
            compared[first + 1 : last] = False
    return compared


def _together(path: Floats) -> float:
    return float(np.abs(np.diff(path, axis=0)).max(axis=1, initial=0.0).sum())


def _interval(value: float, draws: Floats, unseen: float) -> MeanVariation:
    low, high = np.quantile(draws, [0.025, 0.975])
    return MeanVariation(value, min(value, float(low)), max(value, float(high), unseen))
