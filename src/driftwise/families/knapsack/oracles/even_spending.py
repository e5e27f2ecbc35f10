"""Even spending with the true means: in every round the best mix that spends no faster than what is left allows.

    x_t = argmax mu_t'x  such that  C_t x <= rate_t,  sum x <= 1,  x >= 0       rate_t: what is left, by the rounds left

What a policy that learned everything at once would earn if it solved a program in every round. What it loses to the
best plan (`best-plan`) is what even spending costs, W in the words of Liu, Jiang & Li (2022).
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import not_live
from driftwise.core.kernel import kernel
from driftwise.core.types import About, Decision, Floats, Problem, Shared, Spent
from driftwise.core.verbs import register
from driftwise.families.knapsack.ground_truth import KnapsackGroundTruth
from driftwise.families.knapsack.randomized_action import draw_from
from driftwise.families.knapsack.round_lp import StepLP, new_step_lp, solve_step


class EvenSpendingState(NamedTuple):
    """The means of every segment, and the segment of every round."""

    rewards: Shared
    costs: Shared
    rows: Shared
    lp: StepLP


class EvenSpending(NamedTuple):
    """Knows what every arm pays and costs, and spends evenly."""

    def init(self, problem: Problem) -> EvenSpendingState:
        """Refused: it needs the world."""
        not_live(self, problem)

    def foresee(self, problem: Problem, world: KnapsackGroundTruth, horizon: int, seed: int) -> EvenSpendingState:
        """Look up all means."""
        means = world.means(horizon, seed)
        lp = new_step_lp(problem.n_arms, means.n_resources)
        return EvenSpendingState(means.rewards, means.costs, means.rows.astype(np.int64), lp)


@kernel
def _select(policy: EvenSpending, state: EvenSpendingState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    row = state.rows[t]
    solve_step(state.lp, state.rewards[row], state.costs[row], context)
    return draw_from(state.lp.mix, rng)


@kernel
def _update(policy: EvenSpending, state: EvenSpendingState, decision: Decision, outcome: Spent, now: int) -> None:
    """Nothing to learn."""


register(
    EvenSpending,
    about=About("the world itself", "W", "Liu, Jiang & Li 2022", family="knapsack"),
    select=_select,
    update=_update,
)
