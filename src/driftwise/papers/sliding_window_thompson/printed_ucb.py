"""SW-UCB as the paper's tables have it: an implementation with a defect, kept only to explain printed numbers.

The printed rows come out when the index is clipped at 1, ties go to the lowest arm, and an arm that has dropped out of
the window is never chosen again (a NaN that a maximum passes over). Use `SlidingUCB` for anything else.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.rules import number, whole
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem
from driftwise.core.verbs import register
from driftwise.kernels.optimism import NEVER_LEFT, log_scale, tally
from driftwise.kernels.window import Window, new_window, remember, slide


class PrintedUCBState(NamedTuple):
    """The window, the two parts of each bound, and which arms were ever tried."""

    window: Window
    means: PerArm
    roots: PerArm
    tried: PerArm


class PrintedUCB(NamedTuple):
    """Sliding-window UCB with the defect behind the printed rows."""

    window: int = 1000
    xi: float = 0.6

    def init(self, problem: Problem) -> PrintedUCBState:
        """An empty window: every arm untried."""
        n_arms = whole("n_arms", problem.n_arms)
        number("xi", self.xi, above=0.0)
        return PrintedUCBState(
            window=new_window(n_arms, whole("window", self.window)),
            means=np.full(n_arms, np.inf),
            roots=np.zeros(n_arms),
            tried=np.zeros(n_arms, np.bool_),
        )


@kernel
def _refresh(state: PrintedUCBState, arm: int) -> None:
    count = state.window.counts[arm]
    tally(state.means, state.roots, arm, count, state.window.sums[arm], 0, 0.5, NEVER_LEFT)
    state.tried[arm] = state.tried[arm] or count > 0
    if count == 0 and state.tried[arm]:
        state.means[arm] = -math.inf  # the defect: gone from the window, gone for ever


@kernel
def _select(policy: PrintedUCB, state: PrintedUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    scale = log_scale(1.0, policy.xi, min(t, policy.window))
    winner, top = 0, -math.inf
    for k in range(len(state.means)):
        untried = not state.tried[k]
        bound = math.inf if untried else min(1.0, state.means[k] + scale * state.roots[k])
        if bound > top:
            winner, top = k, bound
    return winner, 1.0


@kernel
def _update(policy: PrintedUCB, state: PrintedUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    remember(state, decision.t, decision.action, outcome.reward, now)


register(PrintedUCBState, refresh=_refresh)
register(
    PrintedUCB,
    about=About("nothing that helps", "none: linear regret", "inferred from Trovo et al. 2020, tables 2-6"),
    advance=slide,
    select=_select,
    update=_update,
)
