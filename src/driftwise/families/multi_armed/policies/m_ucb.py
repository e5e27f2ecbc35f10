"""M-UCB: UCB that forgets everything when one arm's newer rewards differ from its older ones.

    index_k = mean_k + sqrt(xi ln(t - tau) / n_k)        since the last restart, tau; rewards on the scale [0, 1]

except that round t belongs to arm k when (t - tau) mod floor(K / gamma) = k, so every arm gets a share gamma / K
whatever its index. From its w-th reward since the restart on, every reward of an arm asks

    | sum of its last w/2 rewards - sum of the w/2 before them |  >  b

and a yes restarts all arms.

| symbol | field | |
|---|---|---|
| w | window | rewards of an arm that are compared; even |
| b | b | how far apart the sums of the two halves may be |
| gamma | gamma | share of rounds that explore, in turn |
| 2 | xi | exploration; 2 as printed |
| tau | start | first round since the last restart |

Cao, Wen, Kveton & Xie, *Nearly optimal adaptive procedure with change detection for piecewise-stationary bandit*,
AISTATS 2019, algorithms 1 and 2. Rounds and arms count from 0 here, so the arm of the turn is the remainder itself.
Known in advance: the reward range, how large changes are (for w), and their number and the horizon for `for_changes`.
Regret: O(sqrt(K T changes log T)) with the tuning of `for_changes`, for changes large enough for w, far enough apart.
Rewards without a range are scaled by twice their noise.
Late rewards enter when they come; one whose decision is older than the last restart is dropped and counted as stale.
Decisions under way count as tries until the next restart, see `numerics/pending.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Derived, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.numerics.detectors import Halves, empty_halves, new_halves, slide_halves, unit_range
from driftwise.numerics.optimism import NEVER_LEFT, log_scale, most_promising, tally
from driftwise.numerics.pending import Pending, new_pending, pend_arm, settle_arm
from driftwise.numerics.summaries import summarise_scaled_bounds

NEVER = 2**62


class MUCBState(NamedTuple):
    """Counts and sums since the restart, the two parts of each bound, and the compared halves.

    `period` is floor(K / gamma); `range` holds what rewards are shifted and divided by; `alarms` counts restarts,
    `stale` the rewards that came too late for one.
    """

    counts: PerArm
    sums: PerArm
    pending: Pending
    means: PerArm
    roots: PerArm
    halves: Halves
    start: Shared
    period: Derived
    range: Shared
    alarms: Shared
    stale: Shared


class MUCB(NamedTuple):
    """UCB with a window test on every arm and a common restart.

    Parameters
    ----------
    window : int
        Rewards of an arm that are compared, an even number.
    b : float
        How far apart the sums of the two halves may be.
    gamma : float
        Share of rounds in which arms are tried in turn.
    xi : float
        Exploration.

    >>> MUCB.for_changes(horizon=20_000, changes=4, n_arms=5)
    MUCB(window=200, b=47.0208, gamma=0.261216, xi=2.0)
    """

    window: int = 200
    b: float = 35.0
    gamma: float = 0.05
    xi: float = 2.0

    @classmethod
    def for_changes(cls, horizon: int, changes: int, n_arms: int, *, window: int = 200) -> "MUCB":
        """The paper's b = sqrt(w/2 ln(2 K T^2)) and gamma = sqrt(changes K (2 b + 3 sqrt(w)) / (2 T))."""
        horizon = whole("horizon", horizon, low=2)
        changes = whole("changes", changes, low=0)
        n_arms = whole("n_arms", n_arms)
        window = _even(window)
        b = math.sqrt(0.5 * window * math.log(2.0 * n_arms * float(horizon) ** 2))
        gamma = math.sqrt(changes * n_arms * (2.0 * b + 3.0 * math.sqrt(window)) / (2.0 * horizon))
        return cls(window=window, b=float(f"{b:.6g}"), gamma=float(f"{min(1.0, gamma):.6g}"))

    def init(self, problem: Problem) -> MUCBState:
        """Every arm untried."""
        window = _even(self.window)
        number("b", self.b, above=0.0)
        gamma = number("gamma", self.gamma, above=0.0, below=1.0, closed="[]")
        number("xi", self.xi, above=0.0)
        n_arms = whole("n_arms", problem.n_arms)
        period = int(min(n_arms / gamma, NEVER)) if gamma > 0.0 else NEVER
        return MUCBState(
            counts=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            pending=new_pending(n_arms, 0.5 if problem.bounded else math.nan),
            means=np.full(n_arms, np.inf),
            roots=np.zeros(n_arms),
            halves=new_halves(n_arms, window),
            start=np.zeros(1, np.int64),
            period=np.array([period]),
            range=unit_range("m-ucb", problem),
            alarms=np.zeros(1, np.int64),
            stale=np.zeros(1, np.int64),
        )


def _even(window: object) -> int:
    size = whole("window", window, low=2, high=2**31 - 2)
    if size % 2:
        raise ParameterError(f"window={window} is not even: M-UCB compares its two halves")
    return size


@kernel
def _select(policy: MUCB, state: MUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    age = t - state.start[0]
    turn = age % state.period[0]
    if turn < len(state.counts):
        return turn, 1.0
    return most_promising(state.means, state.roots, log_scale(1.0, policy.xi, age)), 1.0


@kernel
def _refresh(state: MUCBState, arm: int) -> None:
    tally(
        *(state.means, state.roots, arm, state.counts[arm], state.sums[arm]),
        *(state.pending.counts[arm], state.pending.middle[0], NEVER_LEFT),
    )


@kernel
def _settle(policy: MUCB, state: MUCBState, decision: Decision) -> None:
    if decision.t >= state.start[0]:  # what was under way at a restart does not count any more
        settle_arm(policy, state, decision)


@kernel
def _update(policy: MUCB, state: MUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    arm = decision.action
    if decision.t < state.start[0]:
        state.stale[0] += 1
        return
    reward = (outcome.reward - state.range[0]) / state.range[1]
    state.counts[arm] += 1
    state.sums[arm] += reward
    _refresh(state, arm)
    if slide_halves(state.halves, arm, reward) > policy.b:
        state.start[0] = now + 1
        state.alarms[0] += 1
        for k in range(len(state.counts)):
            empty_halves(state.halves, k)
            state.counts[k], state.sums[k], state.pending.counts[k] = 0, 0.0, 0
            _refresh(state, k)


@kernel
def _summarise(policy: MUCB, state: MUCBState, t: int, context: Any, out: Summary) -> None:
    summarise_scaled_bounds(
        *(out, state.counts, state.sums, state.pending.counts, state.means, state.roots),
        *(log_scale(1.0, policy.xi, t - state.start[0]), state.range[0], state.range[1]),
    )


register(MUCBState, refresh=_refresh)
register(
    MUCB,
    about=About(
        "the reward range; how large changes are; their number and the horizon to tune by",
        "O(sqrt(K changes T log T))",
        "Cao, Wen, Kveton & Xie 2019",
    ),
    select=_select,
    pend=pend_arm,
    settle=_settle,
    update=_update,
    summarise=_summarise,
)
