"""Which window would have predicted best: the squared error of a sliding mean, by the length of its window.

Each reward is predicted by the mean of its arm's rewards in the `window` rows of the log before it, drawn a little
towards the mean of all the arm's rewards so far, as if one more reward had been seen. Rewards count from their row on,
also those that came late.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints

SHORTEST = 16
MOST_PREDICTIONS = 1_000_000
BLOCKS = 40


class WindowCurve(NamedTuple):
    """Mean squared errors of windows, and how much less that is than with all rewards, with its standard error.

    `best` is the window of the least error, None where none is better than all rewards. In a log that does not drift
    it must be better by two standard errors.
    """

    windows: Ints
    errors: Floats
    gains: Floats
    standard_errors: Floats
    all_rewards: float
    best: int | None


def window_curve(
    rows: Ints, arms: Ints, values: Floats, n_rows: int, n_arms: int, *, drifting: bool = False
) -> WindowCurve:
    """The curve of a log: rewards `values` of `arms` at its `rows`."""
    windows = _windows(n_rows)
    stride = -(-len(values) // MOST_PREDICTIONS)
    losses = np.zeros((len(windows) + 1, BLOCKS))
    counts = np.zeros(BLOCKS)
    grand = float(values.mean())
    for arm in range(n_arms):
        own = np.flatnonzero(arms == arm)
        if not len(own):
            continue
        place, reward = rows[own], values[own]
        sums = np.concatenate([[0.0], np.cumsum(reward)])
        targets = np.arange(0, len(own), stride)
        mean = np.where(targets > 0, sums[targets] / np.maximum(targets, 1), grand)
        block = own[targets] * BLOCKS // len(values)
        counts += np.bincount(block, minlength=BLOCKS)
        losses[-1] += np.bincount(block, weights=(reward[targets] - mean) ** 2, minlength=BLOCKS)
        for i, window in enumerate(windows):
            first = np.searchsorted(place, place[targets] - window)
            guess = (sums[targets] - sums[first] + mean) / (targets - first + 1)
            losses[i] += np.bincount(block, weights=(reward[targets] - guess) ** 2, minlength=BLOCKS)
    return _summary(windows, losses, counts, 0.0 if drifting else 2.0)


def _windows(n_rows: int) -> Ints:
    """1, 1.5, 2, 3, 4, 6, 8 ... times the shortest, to half the log."""
    doublings = max(1, int(np.ceil(np.log2(max(2.0, n_rows / 2 / SHORTEST)))) + 1)
    windows = np.outer(SHORTEST * 2 ** np.arange(doublings), [1.0, 1.5]).ravel().astype(np.int64)
    return windows[windows <= max(SHORTEST, n_rows // 2)]


def _summary(windows: Ints, losses: Floats, counts: Floats, needed: float) -> WindowCurve:
    used = counts > 0
    total = counts.sum()
    gains = losses[-1, used] - losses[:-1, used]
    gain = gains.sum(axis=1) / total
    per_block = gains / counts[used] - gain[:, None]
    error = np.sqrt((per_block**2).sum(axis=1) / max(1, used.sum() - 1) / used.sum())
    best = int(np.argmax(gain))
    clear = gain[best] > needed * error[best]
    return WindowCurve(
        windows,
        losses[:-1].sum(axis=1) / total,
        gain,
        error,
        float(losses[-1].sum() / total),
        int(windows[best]) if clear else None,
    )
