"""CUSUM-UCB: UCB that forgets an arm when a CUSUM test says its mean has changed.

    with probability alpha any arm, else the largest    index_k = mean_k + sqrt(xi ln n / n_k)

mean_k and n_k over the rewards of arm k since its last restart, n = sum of the n_k, rewards on the scale [0, 1]. The
first M rewards after a restart make the baseline u_k of the test; every later reward y moves two walks,

    rise <- max(0, rise + y - u_k - epsilon)        fall <- max(0, fall + u_k - y - epsilon)

and when one of them reaches h the arm restarts: it is forgotten, and tried again at once.

| symbol | field | |
|---|---|---|
| alpha | alpha | share of rounds that explore |
| epsilon | epsilon | slack: changes smaller than that go unseen |
| h | h | height of the alarm |
| M | warmup | rewards that make a baseline |
| xi | xi | exploration |
| tau_k | starts | first round since the last restart of arm k |

Liu, Lee & Shroff, *A change-detection based framework for piecewise-stationary multi-armed bandit problem*, AAAI 2018,
algorithms 1 and 2.
Known in advance: the reward range; how large changes are, for epsilon; their number and the horizon, for `for_changes`.
Regret: O(sqrt(T changes ln(T / changes))) for changes larger than 3 epsilon, far enough apart.
Rewards without a range are scaled by twice their noise.
Late rewards enter when they come; one whose decision is older than its arm's last restart is dropped and counted as
stale. Decisions under way count as tries until their arm restarts, see `numerics/pending.py`.
"""

import math
from typing import NamedTuple

from driftwise.core.kernel import kernel
from driftwise.core.types import About, Decision, Outcome, Problem
from driftwise.core.verbs import register
from driftwise.families.multi_armed.restarting_ucb import (
    Watched,
    judge,
    new_watched,
    select_watched,
    settle_watched,
    summarise_watched,
    take,
    tuned,
)
from driftwise.numerics.detectors import cusum
from driftwise.numerics.pending import pend_arm


class CusumUCB(NamedTuple):
    """UCB with a CUSUM test on every arm.

    Parameters
    ----------
    alpha : float
        Share of rounds in which any arm is tried.
    epsilon : float
        Slack of the test, as a share of the reward range.
    h : float
        Height at which the test gives an alarm.
    warmup : int
        Rewards that make a baseline.
    xi : float
        Exploration.

    >>> CusumUCB.for_changes(horizon=20_000, changes=4)
    CusumUCB(alpha=0.0412727, epsilon=0.15, h=8.51719, warmup=40, xi=0.5)
    """

    alpha: float = 0.05
    epsilon: float = 0.15
    h: float = 6.0
    warmup: int = 40
    xi: float = 0.5

    @classmethod
    def for_changes(cls, horizon: int, changes: int) -> "CusumUCB":
        """The paper's alpha = sqrt(changes ln(T / changes) / T) and h = ln(T / changes)."""
        alpha, h = tuned(horizon, changes)
        return cls(alpha=alpha, h=h)

    def init(self, problem: Problem) -> Watched:
        """Every arm untried."""
        return new_watched("cusum-ucb", self, problem, least_warmup=1)


@kernel
def _update(policy: CusumUCB, state: Watched, decision: Decision, outcome: Outcome, now: int) -> None:
    arm, reward = decision.action, take(state, decision, outcome)
    if not math.isnan(reward):
        height = cusum(state.walks, arm, reward, state.counts[arm], policy.warmup, policy.epsilon)
        judge(state, arm, height >= policy.h, now)


register(
    CusumUCB,
    about=About(
        "the reward range; how large changes are; their number and the horizon to tune by",
        "O(sqrt(changes T log(T / changes)))",
        "Liu, Lee & Shroff 2018",
    ),
    select=select_watched,
    pend=pend_arm,
    settle=settle_watched,
    update=_update,
    summarise=summarise_watched,
)
