"""Random-walk filters of nine paces side by side, for every arm; how well they predict says which to believe.

Filter j takes the mean of an arm for a random walk whose steps have the variance rho_j R^2, R^2 that of the noise.
Variances are kept in units of R^2, so that gains depend on no scale.

    rho_j = 10^-8, 10^-7, ..., 1                            m_kj, p_kj   mean and variance of arm k in filter j
    time passes     p_kj grows by rho_j a round
    y of arm k      e_j = y - m_kj,   w_j <- w_j exp(-e_j^2 / (4 R^2)), normalised
                    g = p_kj / (p_kj + 1 + rho_j lag),   m_kj += g e_j,   p_kj <- (1 - g) p_kj
                    m_kj, p_kj <- a mixture of itself, phi_j = w_j / (w_j + mu / M), and of all, moments matched
                    w <- (1 - s) w + s / M,   s = 0.1 / (t + 10)
    mixture         m_k = sum_j w_j m_kj,   v_k = sum_j w_j (R^2 p_kj + (m_kj - m_k)^2)

Weights go by squared errors, not by likelihoods: those reward wide filters for every outlier, and a click at a rate of
0.03 is one. Their exponent is half of a likelihood's for rewards that are not normal. The share s fades, since slow
paces differ by less evidence a round than any constant share gives away. A filter that nobody believes learns what the
others know, and is right when its turn comes. A late reward is news of `lag` rounds ago: its noise is that much larger.

Time is lazy: what is kept of an arm is as of its last reward, in `rounds`, and the growth since is added when read.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import PerArm, Shared

PACES = 10.0 ** np.arange(-8.0, 1.0)
MODELS = len(PACES)
TEMPER = 0.25
MIXING = 1e-4 / MODELS
SHARE, SHARE_AFTER = 0.1, 10.0


class FilterBank(NamedTuple):
    """Means and variances, a row per arm and a column per filter; weights of the filters; when a row was last right."""

    means: PerArm
    variances: PerArm
    weights: Shared
    rounds: PerArm


def new_bank(n_arms: int) -> FilterBank:
    """Nothing is known, and all filters are believed alike."""
    return FilterBank(
        means=np.zeros((n_arms, MODELS)),
        variances=np.ones((n_arms, MODELS)),
        weights=np.full(MODELS, 1.0 / MODELS),
        rounds=np.zeros(n_arms, np.int64),
    )


@kernel
def start(bank: FilterBank, arm: int, reward: float, t: int) -> None:
    """The first reward of an arm: all that is known of it before round `t`."""
    for j in range(MODELS):
        bank.means[arm, j], bank.variances[arm, j] = reward, 1.0
    bank.rounds[arm] = t


@kernel
def mixture(bank: FilterBank, arm: int, t: int, noise: float, grown: float, most: float) -> tuple[float, float]:
    """Mean and variance of an arm at round `t`, where `noise` is R^2.

    Variances in units of it have grown by `grown` at least since the last reward, and are not above `most`.
    """
    mean, idle = 0.0, float(t - bank.rounds[arm])
    for j in range(MODELS):
        mean += bank.weights[j] * bank.means[arm, j]
    within, between = 0.0, 0.0
    for j in range(MODELS):
        apart = bank.means[arm, j] - mean
        within += bank.weights[j] * min(bank.variances[arm, j] + max(PACES[j] * idle, grown), most)
        between += bank.weights[j] * apart * apart
    return mean, noise * within + between


@kernel
def correct(
    bank: FilterBank, arm: int, reward: float, t: int, lag: int, noise: float, grown: float, most: float, extra: float
) -> None:
    """Learn a reward of an arm, before round `t` and of a decision `lag` rounds ago; `extra` adds to variances."""
    idle, least, total = float(t - bank.rounds[arm]), np.inf, 0.0
    for j in range(MODELS):
        error = reward - bank.means[arm, j]
        least = min(least, error * error)
    for j in range(MODELS):
        error = reward - bank.means[arm, j]
        bank.weights[j] *= math.exp(-TEMPER * (error * error - least) / noise)
        total += bank.weights[j]
        variance = min(bank.variances[arm, j] + max(PACES[j] * idle, grown), most) + extra
        gain = variance / (variance + 1.0 + PACES[j] * lag)
        bank.means[arm, j] += gain * error
        bank.variances[arm, j] = variance * (1.0 - gain)
    share = SHARE / (t - 1 + SHARE_AFTER)
    for j in range(MODELS):
        bank.weights[j] /= total
    _mix_states(bank, arm, noise)
    for j in range(MODELS):
        bank.weights[j] = (1.0 - share) * bank.weights[j] + share / MODELS
    bank.rounds[arm] = t


@kernel
def _mix_states(bank: FilterBank, arm: int, noise: float) -> None:
    """Let filters that nobody believes know of an arm what the mixture does."""
    mean, variance = 0.0, 0.0
    for j in range(MODELS):
        mean += bank.weights[j] * bank.means[arm, j]
    for j in range(MODELS):
        apart = bank.means[arm, j] - mean
        variance += bank.weights[j] * (bank.variances[arm, j] + apart * apart / noise)
    for j in range(MODELS):
        own = bank.weights[j] / (bank.weights[j] + MIXING)
        apart = mean - bank.means[arm, j]
        bank.means[arm, j] += (1.0 - own) * apart
        bank.variances[arm, j] += (1.0 - own) * (variance - bank.variances[arm, j] + own * apart * apart / noise)
