"""What a decision service asks of contextual knapsacks: of features as of contextual problems, else as of knapsacks."""

from typing import Any

from driftwise.core.problem import ProblemValue
from driftwise.core.service_hooks import Track
from driftwise.families.contextual.schemas import ContextualArm, ContextualRequest
from driftwise.families.contextual.service import ContextualService
from driftwise.families.contextual_knapsack.problem import ContextualKnapsack
from driftwise.families.knapsack.service import KnapsackService


class ContextualKnapsackService(KnapsackService):
    """Requests bring features, outcomes have costs."""

    request, arm = ContextualRequest, ContextualArm

    def dim(self, problem: ProblemValue) -> int:
        """Features of an action, and those of the context for each."""
        assert isinstance(problem, ContextualKnapsack)
        return ContextualService().dim(problem.without_budgets())

    def default_outcome(self, problem: ProblemValue) -> dict[str, Any] | None:
        """Nothing was earned, and the most was spent: budgets are safe."""
        assert isinstance(problem, ContextualKnapsack)
        return super().default_outcome(problem.without_features())

    def tracks(self, problem: ProblemValue) -> list[Track]:
        """What is left of each budget."""
        assert isinstance(problem, ContextualKnapsack)
        return super().tracks(problem.without_features())
