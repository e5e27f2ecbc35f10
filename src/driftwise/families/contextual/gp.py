"""Gaussian process regression that takes pairs in and gives them back, one at a time: O(w^2) each.

    k(x, z) = variance exp(-|x - z|^2 / (2 length^2))      A = K + rho I
    mean of x = k_x' A^-1 y        spread^2 of x = k(x, x) - k_x' A^-1 k_x        k_x = (k(x, x_i))_i
    information gain = 1/2 ln det(I + K / rho)

A is kept as its Cholesky factor. A pair that comes adds a row; one that goes takes its row away, and what it held
together is handed to the rows below by one rank-one update. Pairs may come and go in any order: `slots` says which
slot of the caller's ring stands in which row.

Both steps only ever add squares, so errors grow slowly; still they are measured, not trusted. Every round the whole of
E = L L' - A is felt with a vector z of random signs: the mean square of |E z| is |E|^2. The spread of x is off by at
most |E| / (2 rho) of itself, since |A^-1 k_x|^2 is at most spread^2 / rho; the mean by at most |E| / rho times |y| /
sqrt(rho) spreads. When |E z| / rho exceeds one part in 10^9 and what a fresh factor had left, the factor is computed
afresh; a rho so small that a fresh factor is off by one part in 10^6 is refused with an error.

The factor is stored as U = L', so that every loop runs along a row of memory.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import stream, uniform
from driftwise.core.types import Cache, Floats, Scratch, Shared

TOLERANCE = 1e-9  # error of a spread, relatively, at which the factor is computed afresh
HOPELESS = 1e-6  # and at which even a fresh one is refused
WORSE = 4.0  # a fresh factor has rounding errors too: it is not computed again before they have grown so much
COLUMNS = 32  # points that are predicted together


class Process(NamedTuple):
    """The factor and whose rows it has; K, by slots; the error as last measured, and that of the last fresh factor."""

    factor: Cache
    gram: Cache
    slots: Cache
    n_pairs: Cache
    error: Cache
    fresh: Cache
    repairs: Shared
    length: Shared
    variance: Shared
    ridge: Shared
    row: Scratch
    signs: Scratch
    image: Scratch
    weights: Scratch
    block: Scratch
    means: Scratch
    squares: Scratch


def new_process(window: int, length: float, variance: float, ridge: float) -> Process:
    """No pairs yet, and room for `window`."""
    return Process(
        factor=np.zeros((window, window)),
        gram=np.zeros((window, window)),
        slots=np.zeros(window, np.int64),
        n_pairs=np.zeros(1, np.int64),
        error=np.zeros(1),
        fresh=np.zeros(1),
        repairs=np.zeros(1, np.int64),
        length=np.array([float(length)]),
        variance=np.array([float(variance)]),
        ridge=np.array([float(ridge)]),
        row=np.zeros(window),
        signs=np.zeros(window),
        image=np.zeros(window),
        weights=np.zeros(window),
        block=np.zeros((window, COLUMNS)),
        means=np.zeros(COLUMNS),
        squares=np.zeros(COLUMNS),
    )


@kernel
def forget_all(process: Process) -> None:
    """As if no pair had ever come."""
    process.n_pairs[0] = 0
    process.error[0] = 0.0
    process.fresh[0] = 0.0


@kernel
def covariance(process: Process, x: Floats, z: Floats) -> float:
    """k(x, z)."""
    square = 0.0
    for i in range(len(x)):
        square += (x[i] - z[i]) * (x[i] - z[i])
    return float(process.variance[0] * math.exp(-0.5 * square / (process.length[0] * process.length[0])))


@kernel(inline=False)
def include(process: Process, features: Floats, slot: int) -> None:
    """Add a row for the pair in `slot`."""
    count, factor, row = process.n_pairs[0], process.factor, process.row
    process.slots[count] = slot
    process.n_pairs[0] = count + 1
    _compare(process, features, count)
    for i in range(count):
        row[i] = process.gram[slot, process.slots[i]]
    rest = process.variance[0] + process.ridge[0]
    for k in range(count):
        value = row[k] / factor[k, k]
        factor[k, count] = value
        rest -= value * value
        for j in range(k + 1, count):
            row[j] -= value * factor[k, j]
    if rest > 0.5 * process.ridge[0]:  # in exact arithmetic it is never below the whole
        factor[count, count] = math.sqrt(rest)
    else:
        refactor(process, slot)


@kernel
def _compare(process: Process, features: Floats, place: int) -> None:
    """K of the slot at `place` in the factor with those before it and itself."""
    slot = process.slots[place]
    for i in range(place + 1):
        other = process.slots[i]
        process.gram[slot, other] = covariance(process, features[slot], features[other])
        process.gram[other, slot] = process.gram[slot, other]


@kernel(inline=False)
def exclude(process: Process, slot: int) -> None:
    """Take the row of `slot` away; nothing happens when it has none."""
    place = 0
    while place < process.n_pairs[0] and process.slots[place] != slot:
        place += 1
    if place == process.n_pairs[0]:
        return
    last, factor, row = process.n_pairs[0] - 1, process.factor, process.row
    for j in range(place, last):
        row[j] = factor[place, j + 1]
        process.slots[j] = process.slots[j + 1]
    for k in range(place):
        for j in range(place, last):
            factor[k, j] = factor[k, j + 1]
    process.n_pairs[0] = last
    _close_gap(factor, row, place, last)


@kernel
def _close_gap(factor: Floats, row: Floats, place: int, last: int) -> None:
    """Move the rows below `place` up, where r r' is added to their L L' by rotations; r, in `row`, is used up."""
    for k in range(place, last):
        old, extra = factor[k + 1, k + 1], row[k]
        size = math.hypot(old, extra)
        cosine, sine = old / size, extra / size
        factor[k, k] = size
        for j in range(k + 1, last):
            above = factor[k + 1, j + 1]
            factor[k, j] = cosine * above + sine * row[j]
            row[j] = cosine * row[j] - sine * above


@kernel
def audit(process: Process, turn: int) -> None:
    """Feel for errors, with other signs on every turn, and compute the factor afresh when they ask for it."""
    process.error[0] = _felt(process, turn)
    if process.error[0] > max(TOLERANCE, WORSE * process.fresh[0]):
        refactor(process, turn)


@kernel(inline=False)
def _felt(process: Process, turn: int) -> float:
    """|E z| / rho for random signs z."""
    count, factor, row, signs, image = process.n_pairs[0], process.factor, process.row, process.signs, process.image
    rng = stream(0, turn)
    for slot in range(len(image)):
        image[slot] = 0.0
    for i in range(count):
        u, rng = uniform(rng)
        signs[i] = 1.0 if u < 0.5 else -1.0
        for slot in range(len(image)):  # of slots that are empty, too: nobody reads those
            image[slot] += signs[i] * process.gram[process.slots[i], slot]
    for i in range(count):
        row[i] = -image[process.slots[i]] - process.ridge[0] * signs[i]
    for k in range(count):
        product = 0.0
        for j in range(k, count):
            product += factor[k, j] * signs[j]
        for j in range(k, count):
            row[j] += factor[k, j] * product
    total = 0.0
    for i in range(count):
        total += row[i] * row[i]
    return float(math.sqrt(total) / process.ridge[0])


@kernel(inline=False)
def refactor(process: Process, turn: int) -> None:
    """The factor from K itself, and its error."""
    count, factor = process.n_pairs[0], process.factor
    for i in range(count):
        for j in range(i, count):
            factor[i, j] = process.gram[process.slots[i], process.slots[j]]
        factor[i, i] += process.ridge[0]
    for k in range(count):
        if not factor[k, k] > 0.5 * process.ridge[0]:
            raise FloatingPointError("the noise is too small beside the variance for this window: raise the ridge")
        pivot = math.sqrt(factor[k, k])
        for j in range(k, count):
            factor[k, j] /= pivot
        for i in range(k + 1, count):
            weight = factor[k, i]
            for j in range(i, count):
                factor[i, j] -= weight * factor[k, j]
    process.repairs[0] += 1
    process.error[0] = process.fresh[0] = _felt(process, turn)
    if not process.fresh[0] < HOPELESS:
        raise FloatingPointError("the noise is too small beside the variance for this window: raise the ridge")


@kernel(inline=False)
def rebuild(process: Process, features: Floats, filled: Floats, size: int) -> None:
    """A row for every filled slot of the ring, when the factor knows of others than these."""
    there = 0
    for slot in range(size):
        there += filled[slot]
    if there == process.n_pairs[0]:
        return
    process.n_pairs[0] = 0
    for slot in range(size):
        if filled[slot]:
            process.slots[process.n_pairs[0]] = slot
            _compare(process, features, process.n_pairs[0])
            process.n_pairs[0] += 1
    refactor(process, size)


@kernel(inline=False)
def solve(process: Process, rewards: Floats) -> None:
    """Write L^-1 y to `weights`."""
    count, factor, weights = process.n_pairs[0], process.factor, process.weights
    for i in range(count):
        weights[i] = rewards[process.slots[i]]
    for k in range(count):
        weights[k] /= factor[k, k]
        for j in range(k + 1, count):
            weights[j] -= weights[k] * factor[k, j]


@kernel(inline=False)
def predict(process: Process, features: Floats, context: Floats, start: int, stop: int) -> None:
    """Write means and squared spreads of rows start .. stop - 1, at most COLUMNS; `weights` must be solved for."""
    count, block, wide = process.n_pairs[0], process.block, stop - start
    for a in range(wide):
        process.means[a] = 0.0
        process.squares[a] = process.variance[0]
    for j in range(count):
        for a in range(wide):
            block[j, a] = covariance(process, features[process.slots[j]], context[start + a])
        for k in range(j):
            weight = process.factor[k, j]
            for a in range(wide):
                block[j, a] -= weight * block[k, a]
        pivot = process.factor[j, j]
        for a in range(wide):
            block[j, a] /= pivot
            process.means[a] += block[j, a] * process.weights[j]
            process.squares[a] -= block[j, a] * block[j, a]


@kernel
def information_gain(process: Process) -> float:
    """1/2 ln det(I + K / rho)."""
    total = 0.0
    for i in range(process.n_pairs[0]):
        total += math.log(process.factor[i, i])
    return total - 0.5 * float(process.n_pairs[0]) * math.log(process.ridge[0])


def most_gain(points: Floats, rounds: int, *, length: float, variance: float, ridge: float) -> float:
    """A bound on the information that `rounds` choices among `points` (a row each) can gain.

    Always taking the point of largest spread gains at least 1 - 1/e of what is possible (Srinivas et al. 2010, section
    4); dividing by that bounds all.

    >>> line = np.linspace(0.0, 1.0, 20)[:, None]
    >>> round(most_gain(line, 1000, length=0.2, variance=1.0, ridge=0.01), 1)
    53.6
    """
    squares = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    spread, gain = variance * np.exp(-0.5 * squares / length**2), 0.0
    for _ in range(rounds):
        best = int(np.argmax(np.diag(spread)))
        gain += 0.5 * math.log1p(spread[best, best] / ridge)
        spread -= np.outer(spread[best], spread[best]) / (spread[best, best] + ridge)
    return gain / (1.0 - math.exp(-1.0))
