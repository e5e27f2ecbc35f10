"""What pending decisions may cost, while their outcomes are under way.

The *maximum* is the most a decision can cost, times how many are pending. It can never be too little, but where few
decisions cost anything it is far too much: of quotes that sell one unit in six times, six times.

The *estimate* asks what decisions for the same arm have cost of late. With k of an arm pending, n answered, m the mean
of their costs as a share of the most, and v the most that their variance can be, it is

    sum k m + z sqrt(sum k v (1 + k / n)) + z^2 / 6                     sums over arms, z = 4.5; never above the maximum

What pending decisions cost in all is above that with a chance of at most about 1 in 100,000 (measured), if costs are
independent, and pending decisions on average no dearer than answered ones: z sets the chance, z^2 / 6 makes up for
skewness, k / n for how far the mean may be off, and v is m (1 - m) at the centre of Wilson's interval. An arm of which
nothing is known costs the most, and so do decisions for arms that were retired. Answered costs fade, so that a mean
follows a drift; a jump of all costs while many decisions are pending can still be more. When few are pending, the
estimate is the maximum.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats

Z = 4.5
FADE = 0.998  # what a cost of one answer ago counts


class Reserve(NamedTuple):
    """Per arm: decisions pending, the weight of those answered, and the weighted sum of what they cost, in shares.

    It does not change: every step makes another. `left` has one number, of decisions pending for arms that have left.
    """

    pending: Floats
    weights: Floats
    costs: Floats
    left: Floats

    @property
    def decisions(self) -> float:
        """How many are pending."""
        return float(self.pending.sum() + self.left[0])

    def hold(self, arm: int) -> "Reserve":
        """One more decision for an arm is pending."""
        return self._replace(pending=_with(self.pending, arm, self.pending[arm] + 1.0))

    def release(self, arm: int | None, costs: Floats | None = None) -> "Reserve":
        """One is pending no longer; what it cost, if that is known, counts. An arm that has left is None."""
        if arm is None:
            return self._replace(left=self.left - 1.0)
        pending = _with(self.pending, arm, self.pending[arm] - 1.0)
        if costs is None:
            return self._replace(pending=pending)
        weights = _with(self.weights, arm, FADE * self.weights[arm] + 1.0)
        return self._replace(
            pending=pending, weights=weights, costs=_with(self.costs, arm, FADE * self.costs[arm] + costs)
        )

    def moved(self, old_indices: Sequence[int]) -> "Reserve":
        """For other arms: `old_indices[new]` is the old place of arm `new`, or -1 for one that was not there."""
        moved = new_reserve(len(old_indices), self.costs.shape[1])
        old = np.asarray(old_indices, np.int64)
        new = np.flatnonzero(old >= 0)
        for after, before in zip(moved[:3], self[:3], strict=True):
            after[new] = before[old[new]]
        return moved._replace(left=self.left + self.pending.sum() - moved.pending.sum())

    def maximum(self) -> Floats:
        """The most that pending decisions can cost of each resource, in shares of the most one can."""
        return np.full(self.costs.shape[1], self.decisions)

    def estimate(self) -> Floats:
        """What they cost at most, but for a small chance."""
        if not self.decisions:
            return self.maximum()
        pending, answered = self.pending, self.weights + 1.0
        means = (self.costs + 1.0) / answered[:, None]
        centres = (self.costs + 0.5 * Z * Z) / (self.weights + Z * Z)[:, None]
        spread = (pending * (1.0 + pending / answered)) @ (centres * (1.0 - centres))
        estimate: Floats = self.left[0] + pending @ means + Z * np.sqrt(spread) + Z * Z / 6.0
        return np.minimum(estimate, self.decisions)


RESERVES: dict[str, Callable[[Reserve], Floats]] = {"maximum": Reserve.maximum, "estimate": Reserve.estimate}


def new_reserve(n_arms: int, resources: int) -> Reserve:
    """Nothing pending, nothing known."""
    return Reserve(np.zeros(n_arms), np.zeros(n_arms), np.zeros((n_arms, resources)), np.zeros(1))


def _with(values: Floats, place: int, value: Floats | float) -> Floats:
    changed = values.copy()
    changed[place] = value
    return changed
