"""How much the value of a policy that learns depends on its luck: a parametric bootstrap of its path.

With other rewards from the same world the policy would have learned something else, and chosen other arms. Rows say
nothing of that: their spread is that of an estimate for the path that was replayed. So the log is drawn again, with the
same choices and with rewards of the means that rows before and after suggest, and the policy is replayed on each of
these logs. Added to the variance of the estimate are the variance of what its paths are worth, and twice the covariance
of that with the noise of the rewards they followed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.seeding import generator
from driftwise.core.types import Floats, Ints
from driftwise.evaluate.reward_model import RewardModel

MAX_LOGS, LEAST_LOGS = 20, 4
MAX_ROWS = 4_000_000  # in all logs together


class Redraws(NamedTuple):
    """Rewards of logs that are drawn again, a row each, the means they are drawn from, and the model of these."""

    rewards: Floats
    means: Floats
    model: RewardModel


class Paths(NamedTuple):
    """What paths are worth, and the noise of estimates along them: sums over each period, a row per log."""

    values: Floats
    noises: Floats
    sizes: Ints

    def variance(self, period: int | None = None) -> float:
        """What the luck of paths adds to the variance of the mean over a period, or over all of them."""
        own = slice(None) if period is None else slice(period, period + 1)
        rows = self.sizes[own].sum()
        values, noises = self.values[:, own].sum(axis=1) / rows, self.noises[:, own].sum(axis=1) / rows
        values, noises = values - values.mean(), noises - noises.mean()
        return max(0.0, float(values @ values + 2.0 * (values @ noises)) / (len(values) - 1))

    def minus(self, other: "Paths") -> "Paths":
        """The paths of a difference."""
        return Paths(self.values - other.values, self.noises - other.noises, self.sizes)


def redraw(
    model: RewardModel,
    actions: Ints,
    rewards: Floats,
    ends: tuple[float, float] | None,
    reward_range: tuple[float, float],
    seed: int,
) -> Redraws:
    """Logs with other rewards: of two values, or predictions with the errors of other rows; lost ones stay lost."""
    mask = ~np.isnan(rewards)
    n_logs = int(np.clip(MAX_ROWS // len(rewards), LEAST_LOGS, MAX_LOGS))
    rng, means = generator(seed, "redraw"), model.predict(actions)
    out = np.empty((n_logs, len(rewards)))
    if ends is not None:
        means = np.clip(means, *ends)
        chances = (means - ends[0]) / (ends[1] - ends[0])
        for row in out:
            row[:] = np.where(rng.random(len(row)) < chances, ends[1], ends[0])
    else:
        errors = (rewards - means)[mask]
        errors -= errors.mean()
        for row in out:
            row[:] = np.clip(means + errors[rng.integers(0, len(errors), len(row))], *reward_range)
    out[:, ~mask] = np.nan
    return Redraws(out, means, model)


class PathSums:
    """Collects paths, one redrawn log after another."""

    def __init__(self, redraws: Redraws, known: NDArray[np.bool_], starts: Ints) -> None:
        self._redraws, self._known, self._starts = redraws, known, starts
        self._sizes = np.diff(np.append(starts, known.sum()))
        self._values: list[Floats] = []
        self._noises: list[Floats] = []

    def add(self, weights: Floats, expectations: Floats) -> None:
        """The path in the next log: weights and predicted rewards of what was chosen, by row."""
        rewards = self._redraws.rewards[len(self._values)]
        noise = (weights * (rewards - self._redraws.means))[self._known]
        self._values.append(np.add.reduceat(expectations[self._known], self._starts))
        self._noises.append(np.add.reduceat(noise, self._starts))

    def paths(self) -> Paths:
        """All of them."""
        return Paths(np.array(self._values), np.array(self._noises), self._sizes)
