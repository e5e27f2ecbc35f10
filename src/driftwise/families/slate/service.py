"""What a decision service asks of slates."""

from collections.abc import Mapping
from typing import Any

from driftwise.core.problem import ProblemValue
from driftwise.core.service_hooks import ServiceHooks
from driftwise.families.slate.problem import Slate
from driftwise.families.slate.schemas import SlateFields


class SlateService(ServiceHooks):
    """An outcome has a reward for each item."""

    outcome = SlateFields
    one_arm = False

    def default_outcome(self, problem: ProblemValue) -> dict[str, Any] | None:
        """No item earned anything."""
        assert isinstance(problem, Slate)
        return {"rewards": [0.0] * problem.slate_size}

    def uniform_share(self, n_arms: int, request: Mapping[str, Any]) -> float | None:
        """The propensity of a slate is not that of an arm."""
        return None
