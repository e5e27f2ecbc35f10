"""What a decision service asks of knapsacks."""

from collections.abc import Mapping
from typing import Any

from driftwise.core.adapter import AnyAdapter
from driftwise.core.problem import ProblemValue
from driftwise.core.service_hooks import ServiceHooks, Track
from driftwise.errors import ParameterError
from driftwise.families.knapsack.adapter import KnapsackAdapter
from driftwise.families.knapsack.problem import Knapsack
from driftwise.families.knapsack.schemas import KnapsackAnswer, KnapsackChanges, KnapsackFields


class KnapsackService(ServiceHooks):
    """Outcomes have costs; answers tell what is left of each budget, and so do statistics."""

    outcome, answer, changes = KnapsackFields, KnapsackAnswer, KnapsackChanges
    no_estimate = (
        "with budgets, what one decision spends is missing in later ones: rewards of single decisions do not tell what "
        "another policy would earn"
    )

    def default_outcome(self, problem: ProblemValue) -> dict[str, Any] | None:
        """Nothing was earned, and the most was spent: budgets are safe."""
        assert isinstance(problem, Knapsack)
        max_cost = problem.max_cost or {}
        return {"reward": 0.0, "costs": {name: max_cost.get(name, 1.0) for name in problem.budgets}}

    def check_window(self, *, in_seconds: bool) -> None:
        """Budgets last for a number of rounds."""
        if in_seconds:
            raise ParameterError("window.seconds cannot be used with budgets, which last for a number of rounds")

    def affords(self, adapter: AnyAdapter) -> bool:
        """A unit that keeps its arm gets nothing while the arm cannot be paid for."""
        assert isinstance(adapter, KnapsackAdapter)
        return adapter.account.lasts()

    def status(self, adapter: AnyAdapter, t: int) -> dict[str, Any]:
        """Of each resource the budget in all, what is left, and what of that is reserved."""
        assert isinstance(adapter, KnapsackAdapter)
        account = adapter.account
        amounts = {"total": account.totals, "remaining": account.remaining, "reserved": account.reserved}
        return {"budgets": {name: account.by_name(amount) for name, amount in amounts.items()}}

    def answer_of(self, adapter: AnyAdapter, t: int) -> dict[str, Any]:
        """What is left of each budget."""
        return {"remaining": adapter.views()["remaining"](t)}

    def uniform_share(self, n_arms: int, request: Mapping[str, Any]) -> float | None:
        """Uniform choice would have spent the budgets at another time."""
        return None

    def tracks(self, problem: ProblemValue) -> list[Track]:
        """The share of rounds to come; of each resource what is left, and what there is in all."""
        assert isinstance(problem, Knapsack)
        return [Track("budgets", "last", list(problem.budgets))]

    def at_event(self, adapter: AnyAdapter, t: int) -> dict[str, list[float]]:
        """The budgets as they stand."""
        assert isinstance(adapter, KnapsackAdapter)
        account, horizon = adapter.account, adapter.problem.horizon
        pairs = zip(account.remaining.tolist(), account.totals.tolist(), strict=True)
        return {"budgets": [max(0.0, 1.0 - t / horizon), *(each for pair in pairs for each in pair)]}
