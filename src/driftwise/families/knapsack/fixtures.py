"""What policies with budgets are tried with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.core.fixtures import HORIZON, N_ARMS, NAMES, Arguments, Fixtures, Rng, Usage
from driftwise.core.protocols import Policy
from driftwise.core.types import Floats, Spent
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.problem import Knapsack
from driftwise.families.knapsack.worlds import BudgetSwitching
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.families.knapsack.worlds.even_budgets import EvenBudgets

N_RESOURCES = 2
BUDGETS = {"euros": 0.2 * HORIZON, "units": 0.5 * HORIZON}


@dataclass(frozen=True, kw_only=True)
class PoorArms(EvenBudgets):
    """Arms that cost a little and pay nothing: any that was not tried seems better than one that was."""

    def means(self, horizon: int, seed: int) -> Means:
        """The same for all."""
        costs = np.full((1, self.resources, self.n_arms), 0.1)
        return Means.of(np.zeros((1, self.n_arms)), costs, np.zeros(horizon, int))


class KnapsackFixtures(Fixtures):
    """One arm or none, a reward and costs."""

    has_costs = True
    zero_is_arbitrary = False  # choosing nothing pays 0
    lowest_action = -1  # nothing

    @classmethod
    def small_world(cls, policy: Policy | None) -> BudgetWorld:
        """Few arms and resources; rewards and costs change twice."""
        return BudgetSwitching(n_arms=N_ARMS, resources=N_RESOURCES, phases=3, rate=0.4)

    @property
    def usages(self) -> dict[str, Usage]:
        """Two budgets."""
        return {"budgets": Usage(Knapsack([*NAMES], budgets=BUDGETS, horizon=HORIZON))}

    def late_world(self) -> BudgetWorld:
        """Budgets are scarce, and arms change once."""
        return BudgetSwitching(phases=2, rate=0.1)

    def stationary_world(self, n_arms: int) -> BudgetWorld | None:
        """No arm pays."""
        return PoorArms(n_arms=n_arms)

    def action(self, rng: Rng) -> int:
        """An arm, or nothing."""
        return int(rng.integers(self.lowest_action, self.problem.n_arms))

    def context(self, rng: Rng) -> Floats:
        """What may be spent of each resource a round."""
        return rng.uniform(0.1, 0.5, N_RESOURCES)

    def kernel_outcome(self, rng: Rng) -> Spent:
        """A reward and costs."""
        return Spent(float(rng.integers(2)), rng.random(N_RESOURCES))

    def available(self, tape: Any, t: int) -> Floats:
        """Budgets come in stages."""
        stages = getattr(tape, "tape", tape).stages
        budgets: Floats = stages.there[np.searchsorted(stages.starts, t, side="right") - 1]
        return budgets

    def outcome_of(self, rewards: Sequence[float]) -> Arguments:
        """The more it earns, the more it costs of one resource; always the same of the other."""
        return {"reward": rewards[0], "costs": {"euros": 0.1 + 0.3 * rewards[0], "units": 0.25}}

    def bad_outcomes(self, rng: Rng) -> list[Arguments]:
        """Bad rewards, bad costs, and too few or too many of them."""
        good = self.outcome(rng, ())
        whole: Arguments = {"euros": 0.5, "units": 0.5}
        wrong = [whole | {"units": each} for each in (np.nan, np.inf, 1.5, -0.1, "much", None)]
        costs: list[Any] = [None, 0.5, {"euros": 0.5}, whole | {"hours": 0.0}, *wrong]
        return [*super().bad_outcomes(rng), *(good | {"costs": each} for each in costs)]

    @property
    def changes(self) -> list[Arguments]:
        """Horizons and budgets, alone and together."""
        more = {"budgets": {"euros": 0.4 * HORIZON}}
        return [*super().changes, more, {"budgets": {"units": 0.3 * HORIZON}, "horizon": 3 * HORIZON}]

    def bad_changes(self, agent: Any) -> list[Arguments]:
        """Also good budgets beside something bad, and one below what is spent."""
        more = {name: 2.0 * amount for name, amount in agent.remaining.items()}
        mixed: list[Arguments]
        mixed = [{"budgets": more | {"gold": 1.0}}, {"budgets": more, "horizon": 1}, {"budgets": more, "n_active": 1}]
        return [*super().bad_changes(agent), *mixed, {"budgets": {"units": 1e-6}}]

    def further_calls(self, agent: Any) -> Iterator[tuple[str, str, Arguments]]:
        """Budgets are cut to what is spent or reserved, so that nothing can be chosen, and raised again."""
        least = {"units": BUDGETS["units"] - agent.remaining["units"] + agent.reserved["units"]}
        yield "change", "change", {"budgets": least, "horizon": HORIZON + 10}
        yield "decide nothing", "decide", {}
        yield "change", "change", {"budgets": {"units": 1.0 * HORIZON}}
        yield "decide", "decide", {}

    def reward_scales(self, factor: float) -> list[Arguments]:
        """Rewards must be bounded."""
        return super().reward_scales(factor)[:1]

    def cost_scale(self, factor: float) -> Arguments:
        """Budgets and the most a decision can cost."""
        budgets = {name: factor * amount for name, amount in BUDGETS.items()}
        return {"budgets": budgets, "max_cost": dict.fromkeys(budgets, factor)}
