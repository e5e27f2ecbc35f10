"""Means that wander, seen through noise: the local level model, filtered, smoothed and sampled; all arms at once.

    mean of bin b + 1    = mean of bin b + step x normal
    mean reward of bin b = mean of bin b + noise / sqrt(n_b) x normal

Kalman's filter goes forward; Rauch, Tung & Striebel's smoother goes back; a path drawn backwards, bin by bin, is a
sample of all means together (Carter & Kohn 1994). The step is that of largest likelihood, zero included: an arm that
does not move gets a level line. Everything is in units of the noise of one reward.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats

STEPS = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 25)])
WIDE = 1e4  # the variance of what nobody knows yet


class SmoothMeans(NamedTuple):
    """Means and their standard deviations (bin, arm), and the step of each arm from bin to bin."""

    means: Floats
    sds: Floats
    steps: Floats


def smooth(counts: Floats, sums: Floats, noise: Floats) -> SmoothMeans:
    """Smooth means of all arms, from the count and the sum of rewards in each bin (bin, arm)."""
    centre = sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1.0)
    values = _values(counts, sums, centre, noise)
    likelihoods = _likelihoods(counts, values)
    likelihoods[1:] -= 1.0  # a step above zero must be earned: a parameter costs about one unit of likelihood
    steps: Floats = STEPS[likelihoods.argmax(axis=0)]
    level, variance = _filter(counts, values, steps)
    means, variances = level.copy(), variance.copy()
    for b in range(len(counts) - 2, -1, -1):
        ahead = variance[b] + steps**2
        gain = variance[b] / ahead
        means[b] += gain * (means[b + 1] - level[b])
        variances[b] += gain**2 * (variances[b + 1] - ahead)
    return SmoothMeans(means * noise + centre, np.sqrt(np.maximum(variances, 0.0)) * noise, steps * noise)


def sample_path(counts: Floats, sums: Floats, noise: Floats, steps: Floats, random: np.random.Generator) -> Floats:
    """A path of all means (bin, arm) that could have been behind the rewards."""
    centre = sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1.0)
    steps = steps / noise
    level, variance = _filter(counts, _values(counts, sums, centre, noise), steps)
    path = np.empty_like(level)
    path[-1] = level[-1] + np.sqrt(variance[-1]) * random.standard_normal(len(noise))
    for b in range(len(counts) - 2, -1, -1):
        gain = variance[b] / (variance[b] + steps**2)
        mean = level[b] + gain * (path[b + 1] - level[b])
        path[b] = mean + np.sqrt(variance[b] * (1.0 - gain)) * random.standard_normal(len(noise))
    drawn: Floats = path * noise + centre
    return drawn


def _values(counts: Floats, sums: Floats, centre: Floats, noise: Floats) -> Floats:
    """The mean reward of each bin, from that of its arm; 0 in empty bins, which count for nothing."""
    values: Floats = np.where(counts > 0.0, sums / np.maximum(counts, 1.0) - centre, 0.0) / noise
    return values


def _likelihoods(counts: Floats, values: Floats) -> Floats:
    """Of every step, for every arm."""
    likelihood = np.zeros((len(STEPS), counts.shape[1]))
    state = np.zeros_like(likelihood), np.full_like(likelihood, WIDE)
    for count, value in zip(counts, values, strict=True):
        spread, error = state[1] + _noise(count), value - state[0]
        scale = np.where(count > 0.0, spread, 1.0)
        likelihood -= np.where(count > 0.0, 0.5 * (np.log(scale) + error**2 / scale), 0.0)
        state = _step(state, spread, error, STEPS[:, None])[1]
    return likelihood


def _filter(counts: Floats, values: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """After each bin, the level of each arm and its variance."""
    levels, variances = np.zeros(counts.shape), np.zeros(counts.shape)
    state = np.zeros(len(steps)), np.full(len(steps), WIDE)
    for b, (count, value) in enumerate(zip(counts, values, strict=True)):
        (levels[b], variances[b]), state = _step(state, state[1] + _noise(count), value - state[0], steps)
    return levels, variances


def _noise(count: Floats) -> Floats:
    return np.where(count > 0.0, 1.0 / np.maximum(count, 1.0), np.inf)


def _step(
    state: tuple[Floats, Floats], spread: Floats, error: Floats, steps: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Level and variance once a bin is known, and before the next one."""
    level, variance = state
    gain = variance / spread
    posterior = level + gain * error, variance * (1.0 - gain)
    return posterior, (posterior[0], posterior[1] + steps**2)
