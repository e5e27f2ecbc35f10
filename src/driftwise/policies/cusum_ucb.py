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
stale.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import integers, uniform
from driftwise.core.rules import number, whole
from driftwise.core.types import About, Decision, Floats, Ints, Outcome, PerArm, Problem, Shared
from driftwise.core.verbs import register
from driftwise.kernels.detectors import Walks, cusum, new_walks, stop_walks, unit_range
from driftwise.kernels.optimism import log_scale, most_promising, tally


class CusumUCBState(NamedTuple):
    """Counts and sums since each arm's restart, the two parts of each bound, and the walks.

    `range` holds what rewards are shifted and divided by; `alarms` counts restarts, `stale` the rewards that came too
    late for one.
    """

    counts: PerArm
    sums: PerArm
    means: PerArm
    roots: PerArm
    starts: PerArm
    walks: Walks
    range: Shared
    alarms: Shared
    stale: Shared


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

    def init(self, problem: Problem) -> CusumUCBState:
        """Every arm untried."""
        n_arms = check(self, problem, least_warmup=1)
        return CusumUCBState(
            counts=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            means=np.full(n_arms, np.inf),
            roots=np.zeros(n_arms),
            starts=np.zeros(n_arms, np.int64),
            walks=new_walks(n_arms),
            range=unit_range("cusum-ucb", problem),
            alarms=np.zeros(1, np.int64),
            stale=np.zeros(1, np.int64),
        )


def check(policy: Any, problem: Problem, *, least_warmup: int) -> int:
    """The rules for the parameters of a UCB with walks; the number of arms."""
    number("alpha", policy.alpha, above=0.0, below=1.0, closed="[]")
    number("epsilon", policy.epsilon, above=0.0, closed="[")
    number("h", policy.h, above=0.0)
    whole("warmup", policy.warmup, low=least_warmup)
    number("xi", policy.xi, above=0.0)
    return whole("n_arms", problem.n_arms)


def tuned(horizon: int, changes: int) -> tuple[float, float]:
    """Alpha and h of the paper's corollary 2, to six digits."""
    horizon = whole("horizon", horizon, low=2)
    changes = whole("changes", changes, high=horizon - 1)
    h = math.log(horizon / changes)
    return float(f"{math.sqrt(changes * h / horizon):.6g}"), float(f"{h:.6g}")


@kernel
def mixed_choice(alpha: float, xi: float, counts: Ints, means: Floats, roots: Floats, rng: Any) -> tuple[int, float]:
    """Any arm with probability alpha, else the most promising; with its exact probability."""
    n_arms = len(counts)
    total = 0
    for k in range(n_arms):
        total += counts[k]
    best = most_promising(means, roots, log_scale(1.0, xi, total))
    arm = best
    u, rng = uniform(rng)
    if u < alpha:
        arm, rng = integers(n_arms, rng)
    return arm, alpha / n_arms + (1.0 - alpha if arm == best else 0.0)


@kernel
def _select(policy: CusumUCB, state: CusumUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return mixed_choice(policy.alpha, policy.xi, state.counts, state.means, state.roots, rng)


@kernel
def _update(policy: CusumUCB, state: CusumUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    arm = decision.action
    if decision.t < state.starts[arm]:
        state.stale[0] += 1
        return
    reward = (outcome.reward - state.range[0]) / state.range[1]
    state.counts[arm] += 1
    state.sums[arm] += reward
    if cusum(state.walks, arm, reward, state.counts[arm], policy.warmup, policy.epsilon) >= policy.h:
        stop_walks(state.walks, arm)
        state.counts[arm], state.sums[arm] = 0, 0.0
        state.starts[arm] = now + 1
        state.alarms[0] += 1
    tally(state.means, state.roots, arm, state.counts[arm], state.sums[arm])


register(
    CusumUCB,
    about=About(
        "the reward range; how large changes are; their number and the horizon to tune by",
        "O(sqrt(changes T log(T / changes)))",
        "Liu, Lee & Shroff 2018",
    ),
    select=_select,
    update=_update,
)
