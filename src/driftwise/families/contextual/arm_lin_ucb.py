"""LinUCB where every arm has a parameter of its own: a regression per arm, and the radius of `lin_ucb.py` for all.

    index of arm k = <x, theta_k> + beta_t sqrt(x' V_k^-1 x)

The d of beta_t is that of all parameters together. O(d^2) an arm to choose, O(d^2) to learn, whatever the number of
arms; an arm with rewards under way costs O(d^3) to choose (`families/contextual/arm_ridges.py`).
Li, Chu, Langford & Schapire, *A contextual-bandit approach to personalized news article recommendation*, WWW 2010,
algorithm 1, with the radius of Abbasi-Yadkori et al.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import Decision, Derived, Floats, Outcome, Problem
from driftwise.core.verbs import register
from driftwise.families.contextual.arm_ridges import (
    ArmPendingRows,
    ArmRidges,
    absorb_for,
    measure_arm,
    new_arm_pending_rows,
    new_arm_ridges,
    pending_of,
)
from driftwise.families.contextual.linear_optimism import doubt_after, radius_for
from driftwise.families.contextual.pending_rows import add_row, drop_row
from driftwise.families.contextual.summaries import put_row, rewards_worth
from driftwise.numerics.quadratic_forms import measure_row
from driftwise.numerics.reward_scale import RewardScale, measure, new_scale
from driftwise.numerics.ridge import dot


class ArmLinUCBState(NamedTuple):
    """The fields of `LinUCBState`, with a regression and rows under way for every arm."""

    ridges: ArmRidges
    pending: ArmPendingRows
    scale: RewardScale
    delta: Derived


def new_arm_lin_ucb(problem: Problem, ridge: float, delta: float) -> ArmLinUCBState:
    """Nothing seen; `problem.dim` counts the features of all arms."""
    n_arms, dim = problem.n_arms, problem.dim // problem.n_arms
    return ArmLinUCBState(
        new_arm_ridges(n_arms, dim, ridge),
        new_arm_pending_rows(n_arms, dim),
        new_scale(problem),
        np.array([delta]),
    )


@kernel
def _radius(policy: Any, state: ArmLinUCBState, t: int) -> float:
    """The beta of round `t`."""
    doubt = doubt_after(policy, state.delta[0], state.ridges.moment.size, t + 1)
    return radius_for(policy, state.scale, doubt)


@kernel
def _select(policy: Any, state: ArmLinUCBState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    radius = _radius(policy, state, t)
    best, top = 0, -np.inf
    for arm in range(len(context)):
        mean, square = measure_arm(state.ridges, state.pending, arm, context[arm])
        index = mean + radius * math.sqrt(max(0.0, square))
        if index > top:
            best, top = arm, index
    return best, 1.0


@kernel
def _pend(policy: Any, state: ArmLinUCBState, decision: Decision) -> None:
    add_row(pending_of(state.pending, decision.action), decision.context, 1.0)


@kernel
def _settle(policy: Any, state: ArmLinUCBState, decision: Decision) -> None:
    drop_row(pending_of(state.pending, decision.action), decision.context, 1.0)


@kernel
def _update(policy: Any, state: ArmLinUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    measure(state.scale, outcome.reward)
    absorb_for(state.ridges, decision.action, decision.context, outcome.reward)


@kernel
def _summarise(policy: Any, state: ArmLinUCBState, t: int, context: Floats, out: Summary) -> None:
    clear_summary(out)
    ridges, radius = state.ridges, _radius(policy, state, t)
    for arm in range(len(context)):
        x = context[arm]
        _, square = measure_row(ridges.inverse[arm], ridges.theta[arm], x, ridges.crosses)
        out.count[arm] = rewards_worth(square, dot(x, x) / ridges.prior[0])
        mean, square = measure_arm(ridges, state.pending, arm, x)
        put_row(out, arm, mean, radius * math.sqrt(max(0.0, square)), True)


register(ArmLinUCBState, select=_select, pend=_pend, settle=_settle, update=_update, summarise=_summarise)
