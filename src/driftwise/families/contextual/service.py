"""What a decision service asks of contextual problems."""

from collections.abc import Mapping
from typing import Any

from driftwise.core.problem import ProblemValue
from driftwise.core.service_hooks import ServiceHooks
from driftwise.families.contextual.problem import Contextual
from driftwise.families.contextual.schemas import ContextualArm, ContextualRequest


class ContextualService(ServiceHooks):
    """Requests bring rows of features or a context."""

    request, arm = ContextualRequest, ContextualArm

    def dim(self, problem: ProblemValue) -> int:
        """Features of an action, and those of the context for each."""
        assert isinstance(problem, Contextual)
        rows = problem.arms.values() if isinstance(problem.arms, dict) else ()
        width = problem.n_features or max(map(len, rows), default=0) or len(problem.arm_registry())
        return max(1, width) * (problem.context_dim or 1)

    def uniform_share(self, n_arms: int, request: Mapping[str, Any]) -> float | None:
        """A request may offer actions of its own."""
        return super().uniform_share(len(request.get("actions") or ()) or n_arms, request)
