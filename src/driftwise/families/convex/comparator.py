"""The comparator of convex worlds: the best fixed point of those that keep constraints on average."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.families.convex.constraint_violation import losses_at
from driftwise.families.convex.ground_truth import ConvexGroundTruth
from driftwise.families.convex.hindsight import best_on_average
from driftwise.families.convex.loss_history import past_of
from driftwise.measure.comparator import ByPath
from driftwise.measure.ledger import Ledger


class BestPoint:
    """What it would have been paid in each round."""

    def __init__(self, world: ConvexGroundTruth, horizon: int, seed: int) -> None:
        self._best = best_on_average(past_of(world, horizon, seed, summed=True))

    def block(self, tape: Any) -> ByPath:
        """Its rewards on a tape."""
        return ByPath(-losses_at(tape.losses, self._best.point))

    def tell(self, ledger: Ledger, nature: Any) -> Mapping[str, float]:
        """All it would have been paid, and by how much the run overdrew constraints; points are not found again."""
        overdrawn = float(np.maximum(nature.sums, 0.0).sum())
        return {"benchmark": -self._best.value, "violation": overdrawn, "recovery": np.nan}
