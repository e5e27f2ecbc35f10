"""UCB1: the mean so far plus a bonus for what was seldom tried; right in a world that stands still.

    index_k = mean_k + span sqrt(xi ln t / n_k)

| symbol | field | |
|---|---|---|
| alpha or 2 | xi | exploration; 2 as printed |
| T_k(t) | counts | rewards seen of arm k |

Auer, Cesa-Bianchi & Fischer, *Finite-time analysis of the multiarmed bandit problem*, Machine Learning 2002.
Known in advance: the reward range. Regret: O(sum_k log T / gap_k) when nothing drifts; linear in T when it does.
Decisions whose rewards are under way count as tries, see `numerics/pending.py`.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.numerics.optimism import NEVER_LEFT, log_scale, most_promising, tally
from driftwise.numerics.pending import Pending, middle_of, new_pending, pend_arm, settle_arm
from driftwise.numerics.summaries import summarise_bounds


class UCB1State(NamedTuple):
    """Counts and sums over all history, and the two parts of each bound."""

    counts: PerArm
    sums: PerArm
    pending: Pending
    means: PerArm
    roots: PerArm
    span: Shared


class UCB1(NamedTuple):
    """Mean plus bonus over all history.

    Parameters
    ----------
    xi : float
        Exploration; 2 is the constant of the theorem, smaller ones often do better.
    """

    xi: float = 2.0

    def init(self, problem: Problem) -> UCB1State:
        """Every arm untried."""
        number("xi", self.xi, above=0.0)
        n_arms = whole("n_arms", problem.n_arms)
        return UCB1State(
            counts=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            pending=new_pending(n_arms, middle_of(problem)),
            means=np.full(n_arms, np.inf),
            roots=np.zeros(n_arms),
            span=np.array([problem.span]),
        )


@kernel
def _refresh(state: UCB1State, arm: int) -> None:
    tally(
        *(state.means, state.roots, arm, state.counts[arm], state.sums[arm]),
        *(state.pending.counts[arm], state.pending.middle[0], NEVER_LEFT),
    )


@kernel
def _select(policy: UCB1, state: UCB1State, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return most_promising(state.means, state.roots, log_scale(state.span[0], policy.xi, t)), 1.0


@kernel
def _update(policy: UCB1, state: UCB1State, decision: Decision, outcome: Outcome, now: int) -> None:
    arm = decision.action
    state.counts[arm] += 1
    state.sums[arm] += outcome.reward
    _refresh(state, arm)


@kernel
def _summarise(policy: UCB1, state: UCB1State, t: int, context: Any, out: Summary) -> None:
    scale = log_scale(state.span[0], policy.xi, t)
    summarise_bounds(out, state.counts, state.sums, state.pending.counts, state.means, state.roots, scale)


register(UCB1State, refresh=_refresh)
register(
    UCB1,
    about=About(
        "the reward range", "O(K log T / gap) without drift", "Auer, Cesa-Bianchi & Fischer 2002", drifts=False
    ),
    select=_select,
    pend=pend_arm,
    settle=settle_arm,
    update=_update,
    summarise=_summarise,
)
