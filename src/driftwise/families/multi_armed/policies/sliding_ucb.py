"""Sliding-window UCB: UCB1 that remembers the last `window` rounds only.

    index_k = mean_k + span sqrt(xi ln(min(t, w)) / n_k)        mean and count over the last w rounds

An arm that has left the window is tried again at once; of several, the one tried longest ago.

| symbol | field | |
|---|---|---|
| tau, w | window | rounds remembered |
| xi | xi | exploration; above 1/2 for the theorem, 0.6 in the authors' runs |
| B | span | width of the reward range, from the problem |

Garivier & Moulines, *On upper-confidence bound policies for switching bandit problems*, ALT 2011.
Known in advance: the reward range, and a window fit for the drift (`for_changes`: horizon and number of changes).
Regret: O(sqrt(changes T) log T) with the window of `for_changes`.
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
Decisions whose rewards are under way count as tries of their arm, see `numerics/pending.py`.

O(1) a round in the window and O(log K) in the arms once t >= w: the logarithm stands still then, so only the arm
that entered and the arm that left have a new index.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Cache, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import number, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.numerics.argmax_tree import best, blank, new_tree, repair
from driftwise.numerics.optimism import log_scale, most_promising, tally
from driftwise.numerics.pending import middle_of
from driftwise.numerics.summaries import summarise_bounds
from driftwise.numerics.window import Window, empty, new_window, pend_round, remember, settle_round, slide


class SlidingUCBState(NamedTuple):
    """The window, the two parts of each bound, and the bounds of the long run with their winners.

    The logarithm of time stands still from round `limit` on; `reach` is the scale of the bonus there.
    """

    window: Window
    means: PerArm
    roots: PerArm
    indices: PerArm
    tree: Cache
    span: Shared
    limit: Shared
    reach: Shared


class SlidingUCB(NamedTuple):
    """Mean plus bonus over the last `window` rounds.

    Parameters
    ----------
    window : int
        Rounds remembered: short follows faster, long is steadier.
    xi : float
        Exploration.

    >>> SlidingUCB.for_changes(horizon=10_000, changes=4)
    SlidingUCB(window=303, xi=0.6)
    """

    window: int = 1000
    xi: float = 0.6

    @classmethod
    def for_changes(cls, horizon: int, changes: int, xi: float = 0.6) -> "SlidingUCB":
        """The window 2 sqrt(T ln T / changes), for a known horizon and number of changes."""
        horizon = whole("horizon", horizon, low=2)
        changes = whole("changes", changes, low=0)
        window = 2.0 * math.sqrt(horizon * math.log(horizon) / changes) if changes else horizon
        return cls(window=min(horizon, math.floor(window)), xi=xi)

    def init(self, problem: Problem) -> SlidingUCBState:
        """An empty window: every arm untried."""
        n_arms = whole("n_arms", problem.n_arms)
        window = window_rounds(self.window, problem.horizon)
        number("xi", self.xi, above=0.0)
        return SlidingUCBState(
            window=new_window(n_arms, window, middle_of(problem)),
            means=np.full(n_arms, np.inf),
            roots=np.zeros(n_arms),
            indices=np.full(n_arms, np.inf),
            tree=new_tree(n_arms),
            span=np.array([problem.span]),
            limit=np.array([window], np.int64),
            reach=np.array([problem.span * math.sqrt(self.xi * math.log(window))]),
        )


@kernel
def _refresh(state: SlidingUCBState, arm: int) -> None:
    window, pending = state.window, state.window.pending
    tally(
        *(state.means, state.roots, arm, window.counts[arm], window.sums[arm]),
        *(pending.counts[arm], pending.middle[0], window.left[arm]),
    )
    state.indices[arm] = state.means[arm] + state.reach[0] * state.roots[arm]
    repair(state.tree, state.indices, arm)


@kernel
def _select(policy: SlidingUCB, state: SlidingUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    if t >= state.limit[0]:
        return best(state.tree, state.indices), 1.0
    return most_promising(state.means, state.roots, log_scale(state.span[0], policy.xi, t)), 1.0


@kernel
def _update(policy: SlidingUCB, state: SlidingUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    remember(state, decision.t, decision.action, outcome.reward, now)


@kernel
def _summarise(policy: SlidingUCB, state: SlidingUCBState, t: int, context: Any, out: Summary) -> None:
    window = state.window
    scale = state.reach[0] if t >= state.limit[0] else log_scale(state.span[0], policy.xi, t)
    summarise_bounds(out, window.counts, window.sums, window.pending.counts, state.means, state.roots, scale)


@kernel
def _restart(policy: SlidingUCB, state: SlidingUCBState, memory: int, window: int) -> None:
    empty(state.window, memory)
    for arm in range(len(state.means)):
        state.means[arm], state.roots[arm], state.indices[arm] = math.inf, 0.0, math.inf
    blank(state.tree)
    state.limit[0] = window
    state.reach[0] = log_scale(state.span[0], policy.xi, window)


register(SlidingUCBState, refresh=_refresh)
register(
    SlidingUCB,
    about=About("a window fit for the drift; the reward range", "O(sqrt(changes T) log T)", "Garivier & Moulines 2011"),
    advance=slide,
    select=_select,
    pend=pend_round,
    settle=settle_round,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
