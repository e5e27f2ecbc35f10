"""The problem value of contextual bandits with knapsacks: actions with rows of features, and budgets."""

from typing import Literal

from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.fields import Amounts
from driftwise.families.contextual.problem import Contextual, FeatureProblem
from driftwise.families.knapsack.problem import Knapsack


class ContextualKnapsack(FeatureProblem, frozen=True, kw_only=True, tag="contextual-knapsack"):
    """One action is chosen by its row of features, or none; it pays, and costs something of each budget.

    Parameters
    ----------
    arms, n_features, context_dim
        Where rows of features come from: see `driftwise.Contextual`.
    budgets, max_cost, reserve, allow_overspend
        What may be spent until the horizon: see `driftwise.Knapsack`.
    horizon : int
        For how many rounds budgets must last.
    reward_range, noise
        See `driftwise.core.problem.RewardProblem`; the range starts at 0, which is what choosing nothing pays.

    >>> problem = ContextualKnapsack(["low", "high"], context_dim=3, budgets={"units": 500}, horizon=30_000)
    >>> problem.without_budgets().context_dim, problem.without_features().budgets
    (3, {'units': 500})
    """

    budgets: Amounts
    max_cost: Amounts | None = None
    reserve: Literal["maximum", "estimate"] = "maximum"
    allow_overspend: bool = False

    def arm_registry(self) -> ArmRegistry:
        """The arms; none where actions have no names."""
        return self.without_budgets().arm_registry()

    def without_budgets(self) -> Contextual:
        """The actions and their features alone."""
        return Contextual(self.arms, self.n_features, self.context_dim)

    def without_features(self) -> Knapsack:
        """The arms and their budgets alone; actions without names count as one arm."""
        return Knapsack(
            len(self.arm_registry()) or 1,
            self.budgets,
            self.max_cost,
            self.reserve,
            self.allow_overspend,
            horizon=self.horizon,
        )
