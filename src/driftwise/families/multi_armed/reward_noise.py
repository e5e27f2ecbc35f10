"""The noise of rewards, learned from differences: two rewards in a row of one arm differ by noise, whatever its mean.

    N <- min(N + 1, 20000),   H += ((y - y')^2 / 2 - H) / N,   y' the reward of this arm before
    R^2 = (v_0 + N H) / (1 + N),   v_0 the variance of all rewards so far

While nothing is known R^2 is the variance of all rewards, the spread between arms included: too much rather than too
little.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import PerArm, Shared

MEMORY = 20_000.0
LEAST = 1e-300  # R^2 where all rewards were the same
COUNT, MEAN, SQUARES = range(3)


class RewardNoise(NamedTuple):
    """R^2; N and H; number, mean and summed squared deviations of all rewards; the latest reward of each arm."""

    variance: Shared
    differences: Shared
    moments: Shared
    latest: PerArm


def new_noise(n_arms: int) -> RewardNoise:
    """No reward has come."""
    return RewardNoise(
        variance=np.full(1, LEAST), differences=np.zeros(2), moments=np.zeros(3), latest=np.zeros(n_arms)
    )


@kernel
def learn_noise(noise: RewardNoise, arm: int, reward: float, is_first: bool) -> None:
    """Learn from a reward of an arm, its first or another."""
    moments, differences = noise.moments, noise.differences
    moments[COUNT] += 1.0
    apart = reward - moments[MEAN]
    moments[MEAN] += apart / moments[COUNT]
    moments[SQUARES] += apart * (reward - moments[MEAN])
    if not is_first:
        step = reward - noise.latest[arm]
        differences[0] = min(differences[0] + 1.0, MEMORY)
        differences[1] += (0.5 * step * step - differences[1]) / differences[0]
    noise.latest[arm] = reward
    number = differences[0]
    noise.variance[0] = (total_variance(noise) + number * differences[1]) / (1.0 + number) + LEAST


@kernel
def total_variance(noise: RewardNoise) -> float:
    """The variance of all rewards, of whichever arm; 0 without any."""
    return float(noise.moments[SQUARES] / max(noise.moments[COUNT], 1.0))
