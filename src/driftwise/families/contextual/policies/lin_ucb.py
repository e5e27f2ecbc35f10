"""LinUCB: ridge regression on all that was seen, and a bonus for what is unknown; for rewards that stand still.

    theta = V^-1 b       V = lambda I + sum x x',  b = sum x Y      over all rounds so far
    index of x = <x, theta> + beta_t sqrt(x' V^-1 x)
    beta_t = scale (R sqrt(d ln((1 + t L^2 / lambda) / delta)) + sqrt(lambda) S u),    t = 1 in the first round

| symbol | field | |
|---|---|---|
| lambda | ridge | regularisation |
| S | norm | bound on the length of the parameter, in units u |
| L | reach | bound on the length of features |
| delta | confidence | chance that a bound fails; 0 takes 1 / horizon |
| R, u | | noise and unit of the rewards, from the problem, or learned |

Abbasi-Yadkori, Pal & Szepesvari, *Improved algorithms for linear stochastic bandits*, NeurIPS 2011, theorem 2 (there it
is called OFUL). Known in advance: the range of rewards or their noise, S and L.
Regret: O(d sqrt(T) log T) without drift; linear in T with it.
Late rewards enter when they come; one told twice counts twice. O(d^2) a round and O(d^2) a row.
Decisions whose rewards are under way count as tries, see
`families/contextual/pending_rows.py`, at O(d^3) a round. Where every arm has a parameter of its own there is a
regression per arm (`families/contextual/arm_lin_ucb.py`).
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Derived, Floats, Outcome, Problem
from driftwise.core.validation import whole
from driftwise.core.verbs import register
from driftwise.families.contextual.arm_lin_ucb import ArmLinUCBState, new_arm_lin_ucb
from driftwise.families.contextual.linear_optimism import doubt_after, failure_chance, most_promising_row, radius_for
from driftwise.families.contextual.pending_rows import PendingRows, new_pending_rows, pend_row, settle_row
from driftwise.families.contextual.problem import Disjoint
from driftwise.families.contextual.summaries import summarise_rows
from driftwise.numerics.reward_scale import RewardScale, measure, new_scale
from driftwise.numerics.ridge import Ridge, absorb, audit, new_ridge, solve


class LinUCBState(NamedTuple):
    """The regression, the rows under way, and what the radius is made from: R and u, and delta."""

    ridge: Ridge
    pending: PendingRows
    scale: RewardScale
    delta: Derived


class LinUCB(NamedTuple):
    """Linear estimate plus bonus over all history.

    Parameters
    ----------
    ridge : float
        Regularisation lambda.
    norm : float
        Bound on the length of the parameter, in units of the largest reward.
    reach : float
        Bound on the length of features.
    confidence : float
        Chance that a bound fails; 0 takes 1 / horizon, or 0.01 where no horizon is known.
    scale : float
        Factor on the bonus; 1 is the theorem's.

    >>> LinUCB(ridge=0.1)
    LinUCB(ridge=0.1, norm=1.0, reach=1.0, confidence=0.0, scale=1.0)
    """

    ridge: float = 1.0
    norm: float = 1.0
    reach: float = 1.0
    confidence: float = 0.0
    scale: float = 1.0

    def init(self, problem: Problem) -> LinUCBState | ArmLinUCBState:
        """Nothing seen."""
        dim = whole("dim", problem.dim)
        whole("n_arms", problem.n_arms)
        delta = failure_chance(self, problem)
        if isinstance(problem.structure, Disjoint):
            return new_arm_lin_ucb(problem, self.ridge, delta)
        return LinUCBState(new_ridge(dim, self.ridge), new_pending_rows(dim), new_scale(problem), np.array([delta]))


@kernel
def _radius(policy: LinUCB, state: LinUCBState, t: int) -> float:
    """The beta of round `t`."""
    doubt = doubt_after(policy, state.delta[0], len(state.ridge.moment), t + 1)
    return radius_for(policy, state.scale, doubt)


@kernel
def _select(policy: LinUCB, state: LinUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    solve(state.ridge)
    return most_promising_row(state.ridge, state.pending, context, _radius(policy, state, t)), 1.0


@kernel
def _update(policy: LinUCB, state: LinUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    measure(state.scale, outcome.reward)
    absorb(state.ridge, decision.context, outcome.reward)
    audit(state.ridge)


@kernel
def _summarise(policy: LinUCB, state: LinUCBState, t: int, context: Floats, out: Summary) -> None:
    summarise_rows(out, state.ridge, state.pending, context, _radius(policy, state, t), True)


register(
    LinUCB,
    about=About(
        "the reward range, or the noise; lengths",
        "O(d sqrt(T) log T) without drift",
        "Abbasi-Yadkori, Pal & Szepesvari 2011",
        drifts=False,
        family="contextual",
        disjoint=True,
    ),
    select=_select,
    pend=pend_row,
    settle=settle_row,
    update=_update,
    summarise=_summarise,
)
