"""UCB on arms that are watched: each starts over when its own test says that its mean has changed.

What CUSUM-UCB and Page-Hinkley-UCB share: statistics since each arm's restart, uniform exploration mixed in, and what
happens to late rewards and to alarms (Liu, Lee & Shroff, AAAI 2018, algorithm 1).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import integers, uniform
from driftwise.core.summary import Summary
from driftwise.core.types import Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.numerics.detectors import Walks, new_walks, stop_walks, unit_range
from driftwise.numerics.optimism import NEVER_LEFT, log_scale, most_promising, tally
from driftwise.numerics.pending import Pending, new_pending, settle_arm
from driftwise.numerics.summaries import summarise_scaled_bounds


class Watched(NamedTuple):
    """Counts and sums since each arm's restart, the two parts of each bound, and the walks.

    `starts` holds the first round since each arm's restart; `range` what rewards are shifted and divided by; `alarms`
    counts restarts, `stale` the rewards that came too late for one.
    """

    counts: PerArm
    sums: PerArm
    pending: Pending
    means: PerArm
    roots: PerArm
    starts: PerArm
    walks: Walks
    range: Shared
    alarms: Shared
    stale: Shared


def new_watched(name: str, policy: Any, problem: Problem, *, least_warmup: int) -> Watched:
    """Every arm untried; the parameters of the policy called `name` are held to their rules."""
    number("alpha", policy.alpha, above=0.0, below=1.0, closed="[]")
    number("epsilon", policy.epsilon, above=0.0, closed="[")
    number("h", policy.h, above=0.0)
    whole("warmup", policy.warmup, low=least_warmup)
    number("xi", policy.xi, above=0.0)
    n_arms = whole("n_arms", problem.n_arms)
    return Watched(
        counts=np.zeros(n_arms, np.int64),
        sums=np.zeros(n_arms),
        pending=new_pending(n_arms, 0.5 if problem.bounded else math.nan),
        means=np.full(n_arms, np.inf),
        roots=np.zeros(n_arms),
        starts=np.zeros(n_arms, np.int64),
        walks=new_walks(n_arms),
        range=unit_range(name, problem),
        alarms=np.zeros(1, np.int64),
        stale=np.zeros(1, np.int64),
    )


def tuned(horizon: int, changes: int) -> tuple[float, float]:
    """Alpha and h of the paper's corollary 2, to six digits."""
    horizon = whole("horizon", horizon, low=2)
    changes = whole("changes", changes, high=horizon - 1)
    h = math.log(horizon / changes)
    return float(f"{math.sqrt(changes * h / horizon):.6g}"), float(f"{h:.6g}")


@kernel
def _scale(policy: Any, state: Watched) -> float:
    """What a bonus is before it is divided by the root of the tries."""
    total = 0
    for k in range(len(state.counts)):
        total += state.counts[k] + state.pending.counts[k]
    return log_scale(1.0, policy.xi, total)


@kernel
def select_watched(policy: Any, state: Watched, t: int, context: Any, rng: Any) -> tuple[int, float]:
    """Any arm with probability alpha, else the most promising; with its exact probability."""
    n_arms = len(state.counts)
    best = most_promising(state.means, state.roots, _scale(policy, state))
    arm = best
    u, rng = uniform(rng)
    if u < policy.alpha:
        arm, rng = integers(n_arms, rng)
    return arm, policy.alpha / n_arms + (1.0 - policy.alpha if arm == best else 0.0)


@kernel
def refresh_watched(state: Watched, arm: int) -> None:
    """Recompute the bound of an arm."""
    tally(
        *(state.means, state.roots, arm, state.counts[arm], state.sums[arm]),
        *(state.pending.counts[arm], state.pending.middle[0], NEVER_LEFT),
    )


@kernel
def settle_watched(policy: Any, state: Watched, decision: Decision) -> None:
    """A decision is under way no longer; one older than the restart of its arm does not count any more."""
    if decision.t >= state.starts[decision.action]:
        settle_arm(policy, state, decision)


@kernel
def take(state: Watched, decision: Decision, outcome: Outcome) -> float:
    """Count a reward and return it on the scale [0, 1]; nan when its decision is older than its arm's restart."""
    arm = decision.action
    if decision.t < state.starts[arm]:
        state.stale[0] += 1
        return math.nan
    reward = (outcome.reward - state.range[0]) / state.range[1]
    state.counts[arm] += 1
    state.sums[arm] += reward
    return float(reward)


@kernel
def judge(state: Watched, arm: int, alarm: bool, now: int) -> None:
    """Forget the arm when there is an alarm, and recompute its bound."""
    if alarm:
        stop_walks(state.walks, arm)
        state.counts[arm], state.sums[arm], state.pending.counts[arm] = 0, 0.0, 0
        state.starts[arm] = now + 1
        state.alarms[0] += 1
    refresh_watched(state, arm)


@kernel
def summarise_watched(policy: Any, state: Watched, t: int, context: Any, out: Summary) -> None:
    """What is known of every arm since its restart."""
    summarise_scaled_bounds(
        *(out, state.counts, state.sums, state.pending.counts, state.means, state.roots),
        *(_scale(policy, state), state.range[0], state.range[1]),
    )


register(Watched, refresh=refresh_watched)
