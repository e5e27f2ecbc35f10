"""Kalman filters side by side, one per pace: linear rewards with an offset, in units of the noise.

    model j    theta walks, theta_{t+1} = theta_t + N(0, R^2 rho_j I);  reward = b + <x, theta> + N(0, R^2)
    z = (x, 1)     the row, and the constant that the offset b belongs to
    a round passes     with k_j = 1 - rho_j / ceiling, 0 at least: Sigma_j <- k_j Sigma_j + (1 - k_j) ceiling I on the
                       features, times sqrt(k_j) between features and b, + OFFSET_PACE on b
    Y of x comes       s_j = z' Sigma_j z,  v_j = 1 + age rho_j |x|^2,  e_j = Y - <z, m_j>
                       m_j <- m_j + Sigma_j z e_j / (v_j + s_j)
                       Sigma_j <- Sigma_j - Sigma_j z z' Sigma_j / (v_j + s_j)
    weights            w_j <- w_j exp(-log(v_j + s_j) / 2 - min(e_j^2 / (R^2 (v_j + s_j)), CLIP) / 2), normalised
    offsets            g = POOLED (sum_i w_i b_i - b_j),  m_j <- m_j + g (column of b in Sigma_j) / (variance of b)

Features and the offset are kept apart, because features come and go with arms: `means`, `covariances` of features,
`crosses` between features and offset, `offsets` and `spreads` of the offset. Sigma has the unit R^2, the means that of
rewards. A variance v of features grows by rho_j (1 - v / ceiling) a round, whatever its direction. To scale down single
coordinates that exceed the ceiling would not do: where features span a constant, each coordinate and b stay unknown
while the sums that rewards measure are known, and such sums would become far too certain.
Offsets are pooled, because b hardly moves: after a jump slow filters put into b what their theta cannot explain, and it
would stay there. theta follows by its regression on b, so that predictions of rows that were played hardly change.
The clip is for rewards with heavy tails: a filter that expects anything would gain by every outlier.
The last filter has no weight and no pace of its own: see `stray.py`.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, PerFeature, PerFeaturePair, Scratch, Shared
from driftwise.numerics.ridge import dot

PACES = 10.0 ** np.arange(-8.0, 1.0)
PRIOR = 1e4  # variance of everything before the first reward
OFFSET_PACE = 1e-9  # above rounding, and a memory of some 30,000 rounds
POOLED = 0.01  # of the distance to the offset of the mixture, a reward
CLIP = 9.0
DRIFTS = 1e-6  # a pace that forgets within a thousand rounds
BLEND = 2.0 / 3.0  # of the sum of two covariances
MOST_SWITCHES = 1e-3  # of the pace, a round


class LinearFilterBank(NamedTuple):
    """Beliefs of every filter, weights of all but the last, and the mixture: its last coordinate is the offset's."""

    means: PerFeature
    covariances: PerFeaturePair
    crosses: PerFeature
    offsets: Shared
    spreads: Shared
    weights: Shared
    paces: Shared
    image: Scratch
    fits: Scratch
    room: Scratch
    mean: Scratch
    covariance: Scratch


def new_filter_bank(dim: int) -> LinearFilterBank:
    """The prior in every filter."""
    models = len(PACES)
    return LinearFilterBank(
        means=np.zeros((models + 1, dim)),
        covariances=np.tile(PRIOR * np.eye(dim), (models + 1, 1, 1)),
        crosses=np.zeros((models + 1, dim)),
        offsets=np.zeros(models + 1),
        spreads=np.full(models + 1, PRIOR),
        weights=np.full(models, 1.0 / models),
        paces=np.append(PACES, 0.0),
        image=np.zeros(dim + 1),
        fits=np.zeros(models),
        room=np.zeros((dim, dim)),
        mean=np.zeros(dim + 1),
        covariance=np.zeros((dim + 1, dim + 1)),
    )


@kernel
def walk_bank(bank: LinearFilterBank, rounds: int, ceiling: float) -> None:
    """Some rounds pass."""
    for j in range(len(bank.paces)):
        widen(bank.covariances[j], bank.crosses[j], bank.paces[j], rounds, ceiling)
        bank.spreads[j] += rounds * OFFSET_PACE


@kernel
def widen(covariance: Floats, cross: Floats, pace: float, rounds: int, ceiling: float) -> None:
    """Variances of features move towards the ceiling, at first by `pace` a round."""
    keep, step = 0.0, ceiling
    if pace < ceiling:
        exponent = rounds * math.log1p(-pace / ceiling)
        keep, step = math.exp(exponent), -ceiling * math.expm1(exponent)
    part = math.sqrt(keep)
    for i in range(len(cross)):
        cross[i] *= part
        for k in range(len(cross)):
            covariance[i, k] *= keep
        covariance[i, i] += step


@kernel
def correct(bank: LinearFilterBank, j: int, x: Floats, unit: float, error: float, late: float) -> float:
    """Correct filter `j` by the error of its prediction for row x / unit; return v + s."""
    covariance, cross, image, dim = bank.covariances[j], bank.crosses[j], bank.image, len(x)
    tail, square = bank.spreads[j], 0.0
    for i in range(dim):
        image[i] = cross[i]
    for k in range(dim):
        weight = x[k] / unit
        if weight != 0.0:
            tail += cross[k] * weight
            for i in range(dim):
                image[i] += covariance[k, i] * weight
    for i in range(dim):
        square += image[i] * (x[i] / unit)
    total = 1.0 + late * bank.paces[j] + max(0.0, square + tail)
    for i in range(dim):
        bank.means[j, i] += image[i] * error / total
        cross[i] -= image[i] * tail / total
        for k in range(dim):
            covariance[i, k] -= image[i] * image[k] / total  # in this order it stays symmetric to the bit
    bank.offsets[j] += tail * error / total
    bank.spreads[j] = max(0.0, bank.spreads[j] - tail * tail / total)
    return float(total)


@kernel
def predict(bank: LinearFilterBank, j: int, x: Floats, unit: float) -> float:
    """What filter `j` expects of row x / unit."""
    return float(bank.offsets[j] + dot(x, bank.means[j]) / unit)


@kernel
def drift_belief(bank: LinearFilterBank) -> float:
    """The weight of paces that forget within a thousand rounds, slower ones in part: 0 where nothing drifts."""
    belief = 0.0
    for j in range(len(bank.weights)):
        belief += bank.weights[j] * min(1.0, bank.paces[j] / DRIFTS)
    return belief


@kernel
def reweigh(bank: LinearFilterBank, share: float) -> None:
    """Weights by `fits`, logarithms; then a share is dealt out evenly."""
    best, total, weights = -np.inf, 0.0, bank.weights
    for fit in bank.fits:
        best = max(best, fit)
    for j in range(len(weights)):
        weights[j] *= math.exp(bank.fits[j] - best)
        total += weights[j]
    for j in range(len(weights)):
        weights[j] = (1.0 - share) * weights[j] / total + share / len(weights)


@kernel
def pool_offsets(bank: LinearFilterBank) -> None:
    """The offset of every filter comes closer to that of the mixture, and theta by regression on it."""
    common = dot(bank.weights, bank.offsets[: len(bank.weights)])
    for j in range(len(bank.paces)):
        gap = POOLED * (common - bank.offsets[j])
        bank.offsets[j] += gap
        if bank.spreads[j] > 0.0:
            for i in range(len(bank.mean) - 1):
                bank.means[j, i] += bank.crosses[j, i] / bank.spreads[j] * gap


@kernel
def mix_means(bank: LinearFilterBank) -> None:
    """Write the mean of the mixture."""
    dim = len(bank.mean) - 1
    for i in range(dim + 1):
        bank.mean[i] = 0.0
    for j in range(len(bank.weights)):
        bank.mean[dim] += bank.weights[j] * bank.offsets[j]
        for i in range(dim):
            bank.mean[i] += bank.weights[j] * bank.means[j, i]


@kernel(inline=False)
def mix(bank: LinearFilterBank, noise: float, ahead: int, ceiling: float) -> None:
    """Write mean and covariance of the mixture, `ahead` rounds from now, for noise R^2.

    Where the last filter has a pace, it is BLEND times the sum of that covariance and of the last filter's.
    """
    dim, models = len(bank.mean) - 1, len(bank.weights)
    mix_means(bank)
    for i in range(dim + 1):
        for k in range(dim + 1):
            bank.covariance[i, k] = 0.0
    strays = bank.paces[models] > 0.0
    share = BLEND if strays else 1.0
    for j in range(models):
        _add_covariance(bank, j, share * bank.weights[j] * noise, ahead, ceiling)
        _add_spread_between(bank, j, share * bank.weights[j])
    if strays:
        _add_covariance(bank, models, share * noise, ahead, ceiling)


@kernel
def _add_covariance(bank: LinearFilterBank, j: int, weight: float, ahead: int, ceiling: float) -> None:
    """Add a multiple of Sigma_j, some rounds from now."""
    dim, own, cross, out = len(bank.mean) - 1, bank.covariances[j], bank.crosses[j], bank.covariance
    spread = bank.spreads[j]
    if ahead > 0:
        own, cross = bank.room, bank.image[:dim]
        for i in range(dim):
            cross[i] = bank.crosses[j, i]
            for k in range(dim):
                own[i, k] = bank.covariances[j, i, k]
        widen(own, cross, bank.paces[j], ahead, ceiling)
        spread += ahead * OFFSET_PACE
    for i in range(dim):
        for k in range(dim):
            out[i, k] += weight * own[i, k]
        out[i, dim] += weight * cross[i]
        out[dim, i] += weight * cross[i]
    out[dim, dim] += weight * spread


@kernel
def _add_spread_between(bank: LinearFilterBank, j: int, weight: float) -> None:
    """Add what the mean of filter `j` differs from the mixture's."""
    dim, apart, out = len(bank.mean) - 1, bank.image, bank.covariance
    for i in range(dim):
        apart[i] = bank.means[j, i] - bank.mean[i]
    apart[dim] = bank.offsets[j] - bank.mean[dim]
    for i in range(dim + 1):
        for k in range(dim + 1):
            out[i, k] += weight * (apart[i] * apart[k])


@kernel
def expect(bank: LinearFilterBank, x: Floats, unit: float) -> float:
    """What the mixture expects of row x / unit."""
    dim = len(x)
    return float(bank.mean[dim] + dot(x, bank.mean[:dim]) / unit)


@kernel
def doubt(bank: LinearFilterBank, x: Floats, unit: float) -> float:
    """The variance of the mixture for row x / unit."""
    dim, covariance = len(x), bank.covariance
    square, cross = 0.0, 0.0
    for i in range(dim):
        if x[i] != 0.0:
            row = 0.0
            for k in range(i):
                row += covariance[i, k] * x[k]
            square += x[i] * (covariance[i, i] * x[i] + 2.0 * row)
            cross += x[i] * covariance[dim, i]
    return float(max(0.0, square / unit / unit + 2.0 * cross / unit + covariance[dim, dim]))
