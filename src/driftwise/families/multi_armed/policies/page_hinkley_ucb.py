"""Page-Hinkley UCB: UCB that forgets an arm when a Page-Hinkley test says its mean has changed.

    with probability alpha any arm, else the largest    index_k = mean_k + sqrt(xi ln n / n_k)

as in CUSUM-UCB (`cusum_ucb.py`), but each reward y is compared with the mean of all rewards of its arm since the
restart, itself included: no baseline is frozen, so a slow drift is followed rather than reported.

    rise <- max(0, rise + y - mean_k - epsilon)        fall <- max(0, fall + mean_k - y - epsilon)

When one of them reaches h the arm restarts: it is forgotten, and tried again at once.

| symbol | field | |
|---|---|---|
| alpha | alpha | share of rounds that explore |
| epsilon | epsilon | slack |
| h | h | height of the alarm |
| M | warmup | rewards after a restart before the walks start; 0 in the paper's algorithm |
| xi | xi | exploration |

Liu, Lee & Shroff, *A change-detection based framework for piecewise-stationary multi-armed bandit problem*, AAAI 2018,
algorithms 1 and 3.
Known in advance: as for CUSUM-UCB. Regret: the paper proves none for this test; CUSUM-UCB's tuning is used.
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
from driftwise.numerics.detectors import page_hinkley
from driftwise.numerics.pending import pend_arm


class PageHinkleyUCB(NamedTuple):
    """UCB with a Page-Hinkley test on every arm.

    Parameters
    ----------
    alpha : float
        Share of rounds in which any arm is tried.
    epsilon : float
        Slack of the test, as a share of the reward range.
    h : float
        Height at which the test gives an alarm.
    warmup : int
        Rewards after a restart before the test starts.
    xi : float
        Exploration.

    >>> PageHinkleyUCB.for_changes(horizon=20_000, changes=4)
    PageHinkleyUCB(alpha=0.0412727, epsilon=0.1, h=8.51719, warmup=40, xi=0.5)
    """

    alpha: float = 0.05
    epsilon: float = 0.1
    h: float = 6.0
    warmup: int = 40
    xi: float = 0.5

    @classmethod
    def for_changes(cls, horizon: int, changes: int) -> "PageHinkleyUCB":
        """CUSUM-UCB's alpha = sqrt(changes ln(T / changes) / T) and h = ln(T / changes)."""
        alpha, h = tuned(horizon, changes)
        return cls(alpha=alpha, h=h)

    def init(self, problem: Problem) -> Watched:
        """Every arm untried."""
        # Deviation: the paper's walks start with the first reward, when the mean is that reward; warmup=0 does so too.
        return new_watched("page-hinkley-ucb", self, problem, least_warmup=0)


@kernel
def _update(policy: PageHinkleyUCB, state: Watched, decision: Decision, outcome: Outcome, now: int) -> None:
    arm, reward = decision.action, take(state, decision, outcome)
    if not math.isnan(reward):
        height = page_hinkley(state.walks, arm, reward, state.counts[arm], policy.warmup, policy.epsilon)
        judge(state, arm, height >= policy.h, now)


register(
    PageHinkleyUCB,
    about=About(
        "the reward range; how large changes are; their number and the horizon to tune by",
        "none proven",
        "Liu, Lee & Shroff 2018",
    ),
    select=select_watched,
    pend=pend_arm,
    settle=settle_watched,
    update=_update,
    summarise=summarise_watched,
)
