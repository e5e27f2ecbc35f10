"""Sliding-window KL-UCB: KL-UCB that remembers the last `window` rounds only.

    index_k = max{q : n_k kl(mean_k, q) <= ln(min(t, w)) + c ln ln(min(t, w))}        over the last w rounds

kl is the divergence between Bernoulli laws, t the number of rounds completed; the right side is zero where it would be
negative. Rewards are moved to [0, 1]. An arm that has left the window is tried again at once, of several the one tried
longest ago; of equal indices the lowest arm's wins.

| symbol | field | |
|---|---|---|
| tau, w | window | rounds remembered |
| c | c | exploration; 3 as in KL-UCB's theorem, and the value that gives the tables of Trovo et al. |

Garivier & Cappe's bound (COLT 2011) over a window, as in Combes & Proutiere, *Unimodal bandits: regret lower bounds and
optimal algorithms*, ICML 2014, and in the runs of Trovo et al., JAIR 2020.
Known in advance: the reward range, and a window fit for the drift.
Regret: none proven for abrupt changes; where means drift slowly Combes & Proutiere bound its sibling for unimodal arms.
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
Decisions whose rewards are under way count as tries of their arm, see `kernels/pending.py`.

Once t >= w the level stands still, so only the arm that entered and the arm that left have a new index: one or two
solutions a round, and O(log K) to find the winner. Before, `most_optimistic` solves for those that can win.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.rules import bounded_range, number, whole, window_rounds
from driftwise.core.types import About, Cache, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.verbs import register
from driftwise.kernels.kl import exploration, gap_of, information, most_optimistic, weigh
from driftwise.kernels.optimism import untried
from driftwise.kernels.window import Window, empty, new_window, pend_round, remember, settle_round, slide
from driftwise.kernels.winners import best, blank, new_tree, repair


class SlidingKLUCBState(NamedTuple):
    """The window of rewards on [0, 1], and the indices of the long run, less one, with their winners.

    `trials` and `totals` are those that indices are made of: they count what is under way, too. The right side of the
    formula stands still from round `limit` on; `level` is what it is there. `range` holds the lowest reward and the
    span.
    """

    window: Window
    trials: PerArm
    totals: PerArm
    informations: PerArm
    scores: PerArm
    tree: Cache
    limit: Shared
    level: Shared
    range: Shared


class SlidingKLUCB(NamedTuple):
    """Kullback-Leibler upper confidence bounds over the last `window` rounds.

    Parameters
    ----------
    window : int
        Rounds remembered: short follows faster, long is steadier.
    c : float
        Weight of the iterated logarithm.

    >>> SlidingKLUCB(window=500)
    SlidingKLUCB(window=500, c=3.0)
    """

    window: int = 1000
    c: float = 3.0

    def init(self, problem: Problem) -> SlidingKLUCBState:
        """An empty window: every arm untried."""
        n_arms = whole("n_arms", problem.n_arms)
        window = window_rounds(self.window, problem.horizon)
        c = number("c", self.c, above=0.0, closed="[")
        low, span = bounded_range("sliding-kl-ucb", problem.low, problem.high)
        return SlidingKLUCBState(
            window=new_window(n_arms, window),
            trials=np.zeros(n_arms),
            totals=np.zeros(n_arms),
            informations=np.zeros(n_arms),
            scores=np.full(n_arms, np.inf),
            tree=new_tree(n_arms),
            limit=np.array([window], np.int64),
            level=np.array([exploration.function(window, c)]),
            range=np.array([low, span]),
        )


@kernel
def _refresh(state: SlidingKLUCBState, arm: int) -> None:
    window = state.window
    weigh(state.trials, state.totals, arm, window.counts[arm], window.sums[arm], window.pending.counts[arm])
    trials, total = state.trials[arm], state.totals[arm]
    if window.clock[0] < window.size[0]:  # the first pass; all arms are refreshed when it ends
        state.informations[arm] = information(trials, total)
        return
    state.informations[arm] = 0.0  # of no use any more
    state.scores[arm] = -gap_of(trials, total, state.level[0]) if trials > 0 else untried(window.left[arm])
    repair(state.tree, state.scores, arm)


@kernel
def _select(policy: SlidingKLUCB, state: SlidingKLUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    if t >= state.window.size[0]:
        return best(state.tree, state.scores), 1.0
    level = exploration(min(t, state.limit[0]), policy.c)
    return most_optimistic(state.trials, state.totals, state.informations, level), 1.0


@kernel
def _update(policy: SlidingKLUCB, state: SlidingKLUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    reward = (outcome.reward - state.range[0]) / state.range[1]
    remember(state, decision.t, decision.action, reward, now)


@kernel
def _restart(policy: SlidingKLUCB, state: SlidingKLUCBState, memory: int, window: int) -> None:
    empty(state.window, memory)
    for arm in range(len(state.scores)):
        state.trials[arm], state.totals[arm] = 0.0, 0.0
        state.informations[arm], state.scores[arm] = 0.0, np.inf
    blank(state.tree)
    state.limit[0] = window
    state.level[0] = exploration(window, policy.c)


register(SlidingKLUCBState, refresh=_refresh)
register(
    SlidingKLUCB,
    about=About("a window fit for the drift; the reward range", "none proven for abrupt drift", "Trovo et al. 2020"),
    advance=slide,
    select=_select,
    pend=pend_round,
    settle=settle_round,
    update=_update,
    restart=_restart,
)
