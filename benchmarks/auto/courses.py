"""How means move: a course is the table of means of the first `LENGTH` rounds, one row a round.

Every function takes a random generator first and returns an array of shape (LENGTH, K). Paces are in rounds and do not
depend on how long a run lasts: a run of 1,000 rounds sees the first hundredth.
"""

import numpy as np
from scipy.signal import lfilter

from driftwise.core.types import Floats

LENGTH = 100_000
Rng = np.random.Generator
ROUNDS = np.arange(LENGTH)


def constant(rng: Rng, means: Floats) -> Floats:
    """Nothing moves; which arm has which mean is drawn."""
    return np.broadcast_to(rng.permutation(means), (LENGTH, len(means)))


def walk(rng: Rng, arms: int, step: float, high: float = 1.0) -> Floats:
    """A random walk, reflected at 0 and `high`: what leaves the interval is folded back into it."""
    path = rng.random(arms) * high + np.cumsum(rng.normal(0.0, step, (LENGTH, arms)), axis=0)
    return high - np.abs(np.mod(path, 2.0 * high) - high)


def ou(rng: Rng, arms: int, pace: float, spread: float) -> Floats:
    """Ornstein-Uhlenbeck: stationary around 0 with this spread, forgotten within `pace` rounds."""
    keep = np.exp(-1.0 / pace)
    shocks = rng.normal(0.0, spread * np.sqrt(1.0 - keep**2), (LENGTH, arms))
    shocks[0] = rng.normal(0.0, spread, arms)
    return np.asarray(lfilter([1.0], [1.0, -keep], shocks, axis=0))


def sines(rng: Rng, arms: int, period: float, amplitude: float, centre: float = 0.5) -> Floats:
    """Sine waves with phases drawn."""
    phases = rng.random(arms) * 2.0 * np.pi
    return centre + amplitude * np.sin(2.0 * np.pi * ROUNDS[:, None] / period + phases)


def knots(rng: Rng, arms: int, every: int) -> Floats:
    """Straight lines between levels drawn every so many rounds."""
    places = np.arange(0, LENGTH + every, every)
    levels = rng.random((len(places), arms))
    return np.stack([np.interp(ROUNDS, places, levels[:, arm]) for arm in range(arms)], axis=1)


def jumps(rng: Rng, arms: int, changes: int, low: float = 0.0, high: float = 1.0) -> Floats:
    """All arms get new means at `changes` rounds drawn."""
    starts = np.sort(rng.choice(np.arange(1, LENGTH), changes, replace=False))
    levels = rng.uniform(low, high, (changes + 1, arms))
    return np.asarray(levels[np.searchsorted(starts, ROUNDS, side="right")])


def local_jumps(rng: Rng, arms: int, changes: int) -> Floats:
    """One arm at a time gets a new mean."""
    starts = np.sort(rng.choice(np.arange(1, LENGTH), changes, replace=False))
    levels = np.empty((changes + 1, arms))
    levels[0] = rng.random(arms)
    for change in range(1, changes + 1):
        levels[change] = levels[change - 1]
        levels[change, rng.integers(arms)] = rng.random()
    return np.asarray(levels[np.searchsorted(starts, ROUNDS, side="right")])


def swap(rng: Rng) -> Floats:
    """After half the time the idle arm becomes the best, and the played one does not move."""
    means = np.full((LENGTH, 2), 0.5)
    means[: LENGTH // 2, 1] = 0.2
    means[LENGTH // 2 :, 1] = 0.8
    return means[:, rng.permutation(2)]


def risers(rng: Rng, arms: int) -> Floats:
    """The incumbent never moves; every now and then an idle arm rises above it for a while."""
    means = np.full((LENGTH, arms), 0.6)
    means[:, 1:] = rng.uniform(0.1, 0.4, arms - 1)
    for arm in range(1, arms):
        start = int(rng.integers(5_000, 25_000))
        while start < LENGTH:
            stop = start + int(rng.integers(5_000, 12_000))
            means[start:stop, arm] = 0.9
            start = stop + int(rng.integers(15_000, 45_000))
    return means[:, rng.permutation(arms)]


def sawtooth(rng: Rng, arms: int, every: float, decay: float) -> Floats:
    """Arms are renewed at times drawn, and rot from then on."""
    means = np.empty((LENGTH, arms))
    for arm in range(arms):
        start, level = -int(rng.exponential(every)), 0.0
        while start < LENGTH:
            stop = start + 1 + int(rng.exponential(every))
            level = rng.uniform(0.5, 1.0)
            rounds = np.arange(max(0, start), min(LENGTH, stop))
            means[rounds, arm] = level * np.exp(-(rounds - start) / decay)
            start = stop
    return means


def half_still(rng: Rng, arms: int, step: float) -> Floats:
    """Half of the time nothing moves, then all arms walk."""
    path = walk(rng, arms, step)
    path[LENGTH // 2 :] = path[: LENGTH - LENGTH // 2]
    path[: LENGTH // 2] = path[LENGTH // 2]
    return path


def fading_leader(rng: Rng, arms: int, pace: float) -> Floats:
    """The best arm sinks slowly below the others, which stand still."""
    means = np.broadcast_to(rng.uniform(0.3, 0.6, arms), (LENGTH, arms)).copy()
    means[:, 0] = 0.2 + 0.7 * np.exp(-ROUNDS / pace)
    return means[:, rng.permutation(arms)]


def logistic(values: Floats) -> Floats:
    """To the unit interval."""
    return 1.0 / (1.0 + np.exp(-values))
