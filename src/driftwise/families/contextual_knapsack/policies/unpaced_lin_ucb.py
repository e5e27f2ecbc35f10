"""Linear UCB that knows nothing of budgets: it takes the action that may earn most, until nothing is left to spend.

    action = argmax <x, theta> + beta sqrt(x' V^-1 x)

The regression, its bounds and the parameters are those of `lin-pacing`, without prices: what lies between the two is
what pacing is worth.

Known in advance: a discount fit for the drift.
Regret: grows with the horizon wherever a budget binds.
Late outcomes enter by their decision's round; those under way narrow the bounds of rows like theirs.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, Problem, Spent
from driftwise.core.validation import budgeted, whole
from driftwise.core.verbs import register
from driftwise.families.contextual_knapsack.joint_ridge import (
    JointRidge,
    absorb,
    absorb_row,
    fade,
    fade_to_round,
    mean_of,
    new_joint_ridge,
    pend_joint,
    put_mean,
    settle_joint,
    solve,
    width_of,
)
from driftwise.families.contextual_knapsack.policies.lin_pacing import radius_of


class UnpacedLinUCBState(NamedTuple):
    """The regression of rewards; `radius` is beta, `unit` the largest reward."""

    ridge: JointRidge
    radius: Derived
    unit: Derived


class UnpacedLinUCB(NamedTuple):
    """Linear estimates that fade and a bonus; budgets are ignored.

    Parameters
    ----------
    gamma : float
        What is left of a weight after one round.
    ridge : float
        Regularisation lambda.
    rho : float
        Width of the bounds: larger explores more.
    """

    gamma: float = 0.999
    ridge: float = 1.0
    rho: float = 0.1

    def init(self, problem: Problem) -> UnpacedLinUCBState:
        """Nothing known."""
        _, _, unit = budgeted("unpaced-lin-ucb", problem)
        radius = radius_of(self, problem.horizon)
        return UnpacedLinUCBState(new_joint_ridge(whole("dim", problem.dim), 1), np.array([radius]), np.array([unit]))


@kernel
def _upper(state: UnpacedLinUCBState, x: Floats) -> float:
    """The most an action may earn."""
    return mean_of(state.ridge, 0, x) + float(state.radius[0]) * width_of(state.ridge, x)


@kernel
def _select(policy: UnpacedLinUCB, state: UnpacedLinUCBState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    solve(state.ridge, policy.ridge)
    best, top = 0, -np.inf
    for row in range(len(context)):
        upper = _upper(state, context[row])
        if upper > top:
            best, top = row, upper
    return best, 1.0


@kernel
def _update(policy: UnpacedLinUCB, state: UnpacedLinUCBState, decision: Decision, outcome: Spent, now: int) -> None:
    fade(state.ridge, policy.gamma, now + 1)
    if decision.action >= 0:
        absorb_row(state.ridge, policy.gamma, decision.t, decision.context)
        absorb(state.ridge, policy.gamma, decision.t, decision.context, 0, outcome.reward / state.unit[0])


@kernel
def _summarise(policy: UnpacedLinUCB, state: UnpacedLinUCBState, t: int, context: Floats, out: Summary) -> None:
    clear_summary(out)
    solve(state.ridge, policy.ridge)
    for row in range(len(context)):
        put_mean(out, row, state.ridge, policy.ridge, state.radius[0], context[row], state.unit[0])
        out.index[row] = state.unit[0] * _upper(state, context[row])


register(
    UnpacedLinUCB,
    about=About("a discount fit for the drift", "none with budgets", "driftwise", family="contextual-knapsack"),
    advance=fade_to_round,
    select=_select,
    pend=pend_joint,
    settle=settle_joint,
    update=_update,
    summarise=_summarise,
)
