"""What a decision service asks of points."""

from collections.abc import Mapping
from typing import Any

from driftwise.core.problem import ProblemValue
from driftwise.core.protocols import Policy
from driftwise.core.service_hooks import MAX_NUMBERS, ServiceHooks
from driftwise.errors import ParameterError
from driftwise.families.convex.problem import Convex
from driftwise.families.convex.schemas import ConvexFields


class ConvexService(ServiceHooks):
    """Outcomes have gradients; there is no default for them."""

    outcome = ConvexFields
    sticky = False
    no_estimate = "a point has no propensity: the journal does not tell what another point would have cost"
    one_arm = False

    def check_limits(self, policy: Policy, problem: ProblemValue, propensity_samples: int) -> None:
        """Coordinates and constraints must fit into memory."""
        super().check_limits(policy, problem, propensity_samples)
        assert isinstance(problem, Convex)
        points = sum(part.dim for part in problem.domain)
        if points * (problem.n_constraints + 1) > MAX_NUMBERS:
            raise ParameterError(
                f"{points} coordinates, each in {problem.n_constraints} constraints, exceed the limit of {MAX_NUMBERS}"
            )

    def default_outcome(self, problem: ProblemValue) -> dict[str, Any] | None:
        """Nobody knows the gradient of an outcome that did not come."""
        return None

    def rewards(self, action: object, outcome: Mapping[str, Any]) -> tuple[list[Any], list[float]] | None:
        """A point is no arm."""
        return None

    def earned(self, outcome: Mapping[str, Any], value: Any) -> float | None:
        """The loss, where the outcome has it."""
        loss = outcome.get("loss")
        return None if loss is None else -float(loss)
