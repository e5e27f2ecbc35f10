"""What a run with budgets is made of: the mean rewards and costs of every arm, and which of them each round has.

What stands still is stored once: a segment has one table of means, however many rounds it lasts. Most measures ask only
how many rounds that is; those that follow the steps from round to round ask `rows` for the order as well.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftwise.core.types import Floats
from driftwise.errors import ParameterError


class Means(NamedTuple):
    """Round t has mean rewards `rewards[rows[t]]` and mean costs `costs[rows[t]]`.

    S segments, m arms and d resources; the null arm, which pays and costs nothing, is not among them. Make one with
    `Means.of`, which checks it.

    Parameters
    ----------
    rewards : Floats
        Shape (S, m).
    costs : Floats
        Shape (S, d, m): a row per resource.
    rows : NDArray[np.int32]
        Shape (T,): the segment of every round.
    """

    rewards: Floats
    costs: Floats
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, rewards: ArrayLike, costs: ArrayLike, rows: ArrayLike | None = None) -> "Means":
        """Checked means; without `rows` every segment is one round.

        >>> means = Means.of([[1.0, 0.5], [0.0, 0.5]], [[[0.4, 1.0]], [[1.0, 0.4]]], rows=[0, 0, 1])
        >>> means.n_arms, means.n_resources, means.horizon, means.counts
        (2, 1, 3, array([2., 1.]))
        """
        rewards, costs = np.ascontiguousarray(rewards, np.float64), np.ascontiguousarray(costs, np.float64)
        if rewards.ndim != 2 or 0 in rewards.shape:
            raise ParameterError(f"rewards of shape {rewards.shape} are not a row of arms for each segment")
        if costs.ndim != 3 or costs.shape[::2] != rewards.shape or 0 in costs.shape:
            raise ParameterError(f"costs of shape {costs.shape} do not fit rewards of shape {rewards.shape}")
        if not np.isfinite([rewards.min(), rewards.max(), costs.min(), costs.max()]).all():
            raise ParameterError("a mean reward or cost is not a finite number")
        return cls(rewards, costs, _checked_rows(rows, len(rewards)))

    @property
    def n_arms(self) -> int:
        """How many arms there are, m."""
        return int(self.rewards.shape[1])

    @property
    def n_resources(self) -> int:
        """How many resources there are, d."""
        return int(self.costs.shape[1])

    @property
    def horizon(self) -> int:
        """How many rounds there are, T."""
        return len(self.rows)

    @property
    def counts(self) -> Floats:
        """How many rounds each segment has."""
        return np.bincount(self.rows, minlength=len(self.rewards)).astype(np.float64)


def amounts(means: Means, budgets: ArrayLike) -> Floats:
    """Checked budgets: what may be spent of each resource over the whole run.

    >>> amounts(Means.of([[1.0]], [[[0.5]]]), [0.3])
    array([0.3])
    """
    checked = np.ascontiguousarray(budgets, np.float64)
    if checked.shape != (means.n_resources,):
        many = f"of which there are {means.n_resources}"
        raise ParameterError(f"budgets of shape {checked.shape} are not one amount for each resource, {many}")
    return positive(checked)


def positive(budgets: Floats) -> Floats:
    """Budgets of any shape that can be lived with."""
    bad = budgets[~(np.isfinite(budgets) & (budgets > 0.0))]
    if len(bad):
        raise ParameterError(f"budget={bad[0]:g} is not a finite number above 0")
    return budgets


def _checked_rows(rows: ArrayLike | None, segments: int) -> NDArray[np.int32]:
    if rows is None:
        return np.arange(segments, dtype=np.int32)
    rounds = np.asarray(rows)
    if rounds.ndim != 1 or not len(rounds) or not np.issubdtype(rounds.dtype, np.integer):
        raise ParameterError(
            f"rows of shape {rounds.shape} and type {rounds.dtype} do not name a segment for each round"
        )
    if rounds.min() < 0 or rounds.max() >= segments:
        raise ParameterError(f"rows from {rounds.min()} to {rounds.max()} do not fit {segments} segments")
    return np.ascontiguousarray(rounds, np.int32)
