"""What a decision service asks of slates."""

from typing import Any

from driftwise.core.problem import ProblemValue
from driftwise.core.service_hooks import ServiceHooks
from driftwise.families.slate.problem import Slate
from driftwise.families.slate.schemas import SlateFields


class SlateService(ServiceHooks):
    """An outcome has a reward for each item."""

    outcome = SlateFields

    def default_outcome(self, problem: ProblemValue) -> dict[str, Any] | None:
        """No item earned anything."""
        assert isinstance(problem, Slate)
        return {"rewards": [0.0] * problem.slate_size}
