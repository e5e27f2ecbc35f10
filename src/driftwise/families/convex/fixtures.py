"""What policies that choose points are tried with."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from driftwise.core.fixtures import DIM, FOREIGN_OPTIONS, HORIZON, Arguments, Fixtures, Rng, Usage, foreign
from driftwise.core.protocols import Policy
from driftwise.core.types import Floats, Problem, Slopes
from driftwise.families.convex.problem import Ball, Box, Convex, Simplex
from driftwise.families.convex.worlds import ConvexLinear

N_CONSTRAINTS = 2


class ConvexFixtures(Fixtures):
    """A point; gradients come back."""

    has_arms = False
    has_gradients = True
    zero_is_arbitrary = False  # losses have no range

    @classmethod
    def small_world(cls, policy: Policy | None) -> ConvexLinear:
        """Few coordinates; losses wander."""
        return ConvexLinear(dim=DIM, variation=1.0, noise=0.3)

    @property
    def usages(self) -> dict[str, Usage]:
        """A product of sets of every kind."""
        problem = Convex(
            [Box([0.0], [1.0]), Ball([0.0], 1.0), Simplex(2)], n_constraints=N_CONSTRAINTS, horizon=HORIZON
        )
        return {"points": Usage(problem, bad_arms=[{}, *foreign(FOREIGN_OPTIONS)])}

    def action(self, rng: Rng) -> Floats:
        """Any point of the domain."""
        point: Floats = self.problem.structure.domain.project(rng.standard_normal(self.problem.dim))
        return point

    def exists(self, action: object) -> bool:
        """Whether the point is in the domain."""
        return bool(self.problem.structure.domain.contains(action))

    def every_action(self) -> Iterator[Floats]:
        """Points all over the domain."""
        domain = self.problem.structure.domain
        yield from (domain.project(point) for point in (domain.lows, domain.centres, domain.highs))

    def kernel_outcome(self, rng: Rng) -> Slopes:
        """A loss, its gradient, and constraints."""
        count = int(self.problem.structure.constraints[0])
        gradient, values = rng.standard_normal(self.problem.dim), rng.standard_normal(count)
        return Slopes(-float(rng.random()), gradient, values, rng.standard_normal((count, self.problem.dim)))

    def outcome(self, rng: Rng, arms: Sequence[Any]) -> Arguments:
        """Gradients at the point."""
        gradient, (values, *jacobian) = rng.standard_normal(DIM), rng.standard_normal((DIM + 1, N_CONSTRAINTS))
        return {"gradient": gradient, "values": values, "jacobian": np.transpose(jacobian)}

    def bad_outcomes(self, rng: Rng) -> list[Arguments]:
        """Something missing, bad gradients, and what other families learn from."""
        good, wrong = self.outcome(rng, ()), [np.full(DIM, each) for each in (np.nan, np.inf)]
        less = [{name: good[name] for name in good if name != missing} for missing in good]
        bad = [good | {"gradient": each} for each in (*wrong, [0.0], "much")]
        return [*less, *bad, {"reward": 1.0}, good | {"reward": 1.0}, good | {"unknown": 1.0}]

    def external_action(self, problem: Problem, arms: Sequence[Any]) -> tuple[float, ...]:
        """The middle of the domain."""
        return tuple(problem.structure.domain.centres.tolist())

    @property
    def bad_external_actions(self) -> tuple[Any, ...]:
        """Too few coordinates, and bad ones."""
        return [0.5] * (DIM - 1), ["much"] * DIM, [np.nan] * DIM, [1e300] * DIM

    def reward_scales(self, factor: float) -> list[Arguments]:
        """There are losses, not rewards: the policy weighs them."""
        return []
