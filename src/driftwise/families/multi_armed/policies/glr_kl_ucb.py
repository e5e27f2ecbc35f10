"""GLR-klUCB: KL-UCB that forgets an arm, or all arms, when a likelihood ratio test says a mean has changed.

    index_k = max{q : n_k kl(mean_k, q) <= f(t - tau_k)},    f(t) = ln t + c ln ln t

n_k and mean_k over the rewards of arm k since its restart, on [0, 1]; an arm without one is tried at once, lowest
number first. Round t belongs to arm k when t mod floor(K / alpha) = k, so every arm gets a share alpha / K whatever its
index. After each reward of an arm its n rewards y_1 .. y_n are cut at every s < n; it restarts when

    max_s  s kl(mean_1..s, mean_1..n) + (n - s) kl(mean_s+1..n, mean_1..n)  >=  beta(n, delta)

The test has no window and needs no guess of how large a change is. `numerics/detectors.py` says how it costs O(1) for
most rewards and still gives the alarms of the full test.

| symbol | field | |
|---|---|---|
| alpha | alpha | share of rounds that explore, in turn |
| delta | delta | chance of a false alarm, about |
| beta(n, delta) | prefixes.thresholds | ln(3 n sqrt(n) / delta) as in the authors' runs; `proven`: the theorem's |
| c | c | 3 in the theorem, 0 in the authors' runs |
| Delta n, Delta s | every, stride | the authors' shortcuts: test every so many rewards, every so many cuts |
| tau_k | starts | first round since the last restart of arm k |

Besson & Kaufmann, *The generalized likelihood ratio test meets klUCB*, 2019 (arXiv 1902.01575), algorithm 1; later with
Maillard & Seznec in JMLR 2022. They recommend local restarts, of the arm with the alarm only; where all arms change at
once, restarting all does better (measured).
Known in advance: the reward range; the horizon, and the number of changes if possible, for `for_changes`.
Regret: O(sqrt(K changes T log T)) for changes that are large enough and far enough apart; O(changes sqrt(K T log T))
when their number is not known.
Late rewards enter when they come; one whose decision is older than its arm's last restart is dropped and counted as
stale. Decisions under way count as tries until their arm restarts, see `numerics/pending.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Derived, Floats, Ints, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole
from driftwise.core.verbs import register
from driftwise.numerics.detectors import (
    Prefixes,
    forget_prefixes,
    likelihood_ratio,
    new_prefixes,
    thresholds_of,
)
from driftwise.numerics.kl import SLACK, exploration, gap_of, information, weigh
from driftwise.numerics.pending import Pending, new_pending, pend_arm, settle_arm
from driftwise.numerics.summaries import summarise_kl_bound

NEVER = 2**62


class GLRKLUCBState(NamedTuple):
    """Counts and sums on [0, 1] since each arm's restart, and the rewards the test looks at.

    `trials` and `totals` are those that bounds are made of: they count what is under way, too. `period` is
    floor(K / alpha); `range` holds the lowest reward and the span; `alarms` counts restarts, `stale` the rewards that
    came too late for one.
    """

    counts: PerArm
    sums: PerArm
    pending: Pending
    trials: PerArm
    totals: PerArm
    informations: PerArm
    starts: PerArm
    prefixes: Prefixes
    period: Derived
    range: Shared
    alarms: Shared
    stale: Shared


class GLRKLUCB(NamedTuple):
    """KL-UCB with a generalised likelihood ratio test on every arm.

    Parameters
    ----------
    alpha : float
        Share of rounds in which arms are tried in turn.
    delta : float
        About the chance of a false alarm.
    local : int
        1 restarts the arm with the alarm, 0 restarts all.
    proven : int
        1 takes the theorem's threshold, about three times as high, instead of that of the authors' runs.
    c : float
        Weight of the iterated logarithm in the index.
    memory : int
        Rewards of an arm that the test looks at, at most; when they are so many, the older half is dropped.
    every : int
        Test after every so many rewards of an arm.
    stride : int
        Try every so many cuts.

    >>> GLRKLUCB.for_changes(horizon=20_000, changes=4, n_arms=5)._replace(memory=500)
    GLRKLUCB(alpha=0.00995163, delta=0.00158114, local=1, proven=0, c=0.0, memory=500, every=1, stride=1)
    """

    alpha: float = 0.05
    delta: float = 0.005
    local: int = 1
    proven: int = 0
    c: float = 0.0
    memory: int = 2000
    every: int = 1
    stride: int = 1

    @classmethod
    def for_changes(cls, horizon: int, changes: int = 1, *, n_arms: int, local: int = 1) -> "GLRKLUCB":
        """The tuning of the authors' runs: alpha = 0.1 sqrt(m ln T / T) and delta = 1 / sqrt(m T).

        m is `changes` where an alarm restarts all arms, and K changes where it restarts its own arm only, since then
        each of the K arms has changes of its own. The theorems have no factor 0.1. changes=1 when nobody knows.
        """
        horizon = whole("horizon", horizon, low=2)
        local = whole("local", local, low=0, high=1)
        restarts = whole("changes", changes) * (whole("n_arms", n_arms) if local else 1)
        alpha = min(1.0, 0.1 * math.sqrt(restarts * math.log(horizon) / horizon))
        return cls(alpha=float(f"{alpha:.6g}"), delta=float(f"{1.0 / math.sqrt(restarts * horizon):.6g}"), local=local)

    def init(self, problem: Problem) -> GLRKLUCBState:
        """Every arm untried."""
        alpha = number("alpha", self.alpha, above=0.0, below=1.0, closed="[]")
        delta = number("delta", self.delta, above=0.0, below=1.0)
        whole("local", self.local, low=0, high=1)
        number("c", self.c, above=0.0, closed="[")
        memory = whole("memory", self.memory, low=4, high=2**31 - 2)
        whole("every", self.every)
        whole("stride", self.stride)
        n_arms = whole("n_arms", problem.n_arms)
        low, span = bounded_range("glr-kl-ucb", problem.low, problem.high)
        proven = bool(whole("proven", self.proven, low=0, high=1))
        period = int(min(n_arms / alpha, NEVER)) if alpha > 0.0 else NEVER
        return GLRKLUCBState(
            counts=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            pending=new_pending(n_arms, 0.5),
            trials=np.zeros(n_arms),
            totals=np.zeros(n_arms),
            informations=np.zeros(n_arms),
            starts=np.zeros(n_arms, np.int64),
            # Deviation: the paper's test looks at all rewards since the restart, here at the newest `memory` at most.
            prefixes=new_prefixes(n_arms, thresholds_of(memory, delta, proven)),
            period=np.array([period]),
            range=np.array([low, span]),
            alarms=np.zeros(1, np.int64),
            stale=np.zeros(1, np.int64),
        )


@kernel
def most_optimistic_since(counts: Floats, sums: Floats, informations: Floats, starts: Ints, t: int, c: float) -> int:
    """The lowest arm with the largest bound, as in `numerics/kl.py`, each arm's level growing from its restart."""
    winner = 0
    oldest = t
    for k in range(len(counts)):
        if counts[k] == 0:
            return k
        if sums[k] > sums[winner]:
            winner = k
        oldest = min(oldest, starts[k])
    first = winner
    highest = exploration(t - oldest, c)
    gap = gap_of(counts[first], sums[first], exploration(t - starts[first], c))
    log_q, log_gap = math.log1p(-gap), math.log(gap)
    for k in range(len(counts)):
        if k == first:
            continue
        evidence = informations[k] - sums[k] * log_q - (counts[k] - sums[k]) * log_gap
        ahead = sums[k] >= counts[k] * (1.0 - gap)
        if not ahead and evidence > highest + SLACK * (counts[k] + highest):
            continue
        level = exploration(t - starts[k], c)
        if not ahead and evidence > level + SLACK * (counts[k] + level):
            continue
        other = gap_of(counts[k], sums[k], level)
        if other < gap or (other == gap and k < winner):
            winner, gap = k, other
            log_q, log_gap = math.log1p(-gap), math.log(gap)
    return winner


@kernel
def _select(policy: GLRKLUCB, state: GLRKLUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    turn = t % state.period[0]
    if turn < len(state.counts):
        return turn, 1.0
    arm = most_optimistic_since(state.trials, state.totals, state.informations, state.starts, t, policy.c)
    return arm, 1.0


@kernel
def _refresh(state: GLRKLUCBState, arm: int) -> None:
    weigh(state.trials, state.totals, arm, state.counts[arm], state.sums[arm], state.pending.counts[arm])
    state.informations[arm] = information(state.trials[arm], state.totals[arm])


@kernel
def _settle(policy: GLRKLUCB, state: GLRKLUCBState, decision: Decision) -> None:
    if decision.t >= state.starts[decision.action]:  # what was under way at a restart does not count any more
        settle_arm(policy, state, decision)


@kernel
def _update(policy: GLRKLUCB, state: GLRKLUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    arm = decision.action
    if decision.t < state.starts[arm]:
        state.stale[0] += 1
        return
    reward = (outcome.reward - state.range[0]) / state.range[1]
    state.counts[arm] += 1
    state.sums[arm] += reward
    _refresh(state, arm)
    due = state.counts[arm] % policy.every == 0
    if likelihood_ratio(state.prefixes, arm, reward, due, policy.stride):
        state.alarms[0] += 1
        if policy.local == 1:
            _restart(state, arm, now + 1)
        else:
            for k in range(len(state.counts)):
                _restart(state, k, now + 1)


@kernel
def _restart(state: GLRKLUCBState, arm: int, start: int) -> None:
    forget_prefixes(state.prefixes, arm)
    state.counts[arm], state.sums[arm], state.pending.counts[arm] = 0, 0.0, 0
    state.starts[arm] = start
    _refresh(state, arm)


@kernel
def _summarise(policy: GLRKLUCB, state: GLRKLUCBState, t: int, context: Any, out: Summary) -> None:
    clear_summary(out)
    for arm in range(len(state.trials)):
        out.pending[arm] = state.pending.counts[arm]
        summarise_kl_bound(
            *(out, arm, state.counts[arm], state.sums[arm], state.trials[arm], state.totals[arm]),
            *(exploration(t - state.starts[arm], policy.c), state.range[0], state.range[1]),
        )


register(GLRKLUCBState, refresh=_refresh)
register(
    GLRKLUCB,
    about=About(
        "the reward range; the horizon to tune by",
        "O(sqrt(K changes T log T)) for changes far enough apart",
        "Besson & Kaufmann 2019",
    ),
    select=_select,
    pend=pend_arm,
    settle=_settle,
    update=_update,
    summarise=_summarise,
)
