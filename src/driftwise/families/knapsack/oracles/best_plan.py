"""The best plan in hindsight, played: nobody earns more than LP(T), and this comes within the luck of a run of it.

In every round one of the plans of the lottery (`knapsack/hindsight/hindsight_lp.py`) is drawn, and its arm
for the round is chosen. Rewards and costs are random where plans are not: a run may run out a little early.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import not_live
from driftwise.core.kernel import kernel
from driftwise.core.random import uniform
from driftwise.core.types import About, Decision, Floats, Problem, Shared, Spent
from driftwise.core.verbs import register
from driftwise.families.knapsack.ground_truth import KnapsackGroundTruth
from driftwise.families.knapsack.hindsight.hindsight_lp import plan_of


class BestPlanOracleState(NamedTuple):
    """The plans with their weights, and which part of them each round is in."""

    weights: Shared
    choices: Shared
    rows: Shared


class BestPlanOracle(NamedTuple):
    """Computes the best plan in hindsight from the world itself, and plays it."""

    def init(self, problem: Problem) -> BestPlanOracleState:
        """Refused: it needs the world."""
        not_live(self, problem)

    def foresee(self, problem: Problem, world: KnapsackGroundTruth, horizon: int, seed: int) -> BestPlanOracleState:
        """Work the plan out."""
        plan, _ = plan_of(world, horizon, seed)
        choices, rows = plan.choices.astype(np.int64), plan.units.rows.astype(np.int64)
        return BestPlanOracleState(plan.weights, choices, rows)


@kernel
def _select(policy: BestPlanOracle, state: BestPlanOracleState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    u, rng = uniform(rng)
    for plan in range(len(state.weights)):
        if u < state.weights[plan]:
            return int(state.choices[plan, state.rows[t]]), np.nan
        u -= state.weights[plan]
    return -1, np.nan


@kernel
def _update(policy: BestPlanOracle, state: BestPlanOracleState, decision: Decision, outcome: Spent, now: int) -> None:
    """Nothing to learn."""


register(
    BestPlanOracle,
    about=About("the world itself", "the luck of one run", "Liu, Jiang & Li 2022", family="knapsack"),
    select=_select,
    update=_update,
)
