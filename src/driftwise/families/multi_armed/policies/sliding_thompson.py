"""Sliding-window Thompson sampling: Beta posteriors from the last `window` rounds only.

    theta_k ~ Beta(S_k + 1, T_k - S_k + 1)        successes and trials over the last w rounds

| symbol | field | |
|---|---|---|
| tau, w | window | rounds remembered |
| S_k | window.sums | successes of arm k in the window |
| T_k | window.counts | trials of arm k in the window |

Trovo, Paladino, Restelli & Gatti, *Sliding-window Thompson sampling for non-stationary environments*, JAIR 2020.
Known in advance: the reward range, and a window fit for the drift (`for_abrupt`, `for_smooth`).
Regret: O(sqrt(T log T)) for a fixed number of abrupt changes with tau of order sqrt(T log T).
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.families.multi_armed.beta_thompson import log_height, race, summarise_beta, trial
from driftwise.numerics.window import Window, empty, new_window, remember, slide


class SlidingThompsonState(NamedTuple):
    """The window and each posterior's constant; `range` holds the lowest reward and the span."""

    window: Window
    heights: PerArm
    range: Shared


class SlidingThompson(NamedTuple):
    """Beta posterior sampling over the last `window` rounds.

    Parameters
    ----------
    window : int
        Rounds remembered: short follows faster, long is steadier.

    >>> SlidingThompson.for_abrupt(horizon=10_000)
    SlidingThompson(window=1213)
    """

    window: int = 1000

    @classmethod
    def for_abrupt(cls, horizon: int, *, scale: float = 4.0) -> "SlidingThompson":
        """The window scale sqrt(T ln T) of the paper's abruptly changing experiments."""
        horizon = whole("horizon", horizon, low=2)
        scale = number("scale", scale, above=0.0)
        return cls(window=max(1, min(horizon, math.floor(scale * math.sqrt(horizon * math.log(horizon))))))

    @classmethod
    def for_smooth(cls, speed: float) -> "SlidingThompson":
        """The window speed^(-4/5) of the paper for means that move at most `speed` a round."""
        speed = number("speed", speed, above=0.0, below=1.0, closed="]")
        return cls(window=max(1, round(speed**-0.8)))

    def init(self, problem: Problem) -> SlidingThompsonState:
        """A uniform prior for every arm."""
        n_arms = whole("n_arms", problem.n_arms)
        low, span = bounded_range("sliding-thompson", problem.low, problem.high)
        return SlidingThompsonState(
            window=new_window(n_arms, window_rounds(self.window, problem.horizon)),
            heights=np.zeros(n_arms),
            range=np.array([low, span]),
        )


@kernel
def _refresh(state: SlidingThompsonState, arm: int) -> None:
    state.heights[arm] = log_height(state.window.sums[arm], state.window.counts[arm])


@kernel
def _select(policy: SlidingThompson, state: SlidingThompsonState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return race(state.window.sums, state.window.counts, state.heights, rng), np.nan


@kernel
def _update(
    policy: SlidingThompson, state: SlidingThompsonState, decision: Decision, outcome: Outcome, now: int
) -> None:
    success = trial(outcome.reward, state.range[0], state.range[1], decision.rng)
    remember(state, decision.t, decision.action, success, now)


@kernel
def _summarise(policy: SlidingThompson, state: SlidingThompsonState, t: int, context: Any, out: Summary) -> None:
    clear_summary(out)
    for arm in range(len(state.heights)):
        wins, trials = state.window.sums[arm], state.window.counts[arm]
        summarise_beta(out, arm, wins + 1.0, trials - wins + 1.0, trials, state.range[0], state.range[1])


@kernel
def _restart(policy: SlidingThompson, state: SlidingThompsonState, memory: int, window: int) -> None:
    empty(state.window, memory)
    for arm in range(len(state.heights)):
        state.heights[arm] = 0.0


register(SlidingThompsonState, refresh=_refresh)
register(
    SlidingThompson,
    about=About(
        "a window fit for the drift; the reward range", "O(sqrt(T log T)) for few abrupt changes", "Trovo et al. 2020"
    ),
    advance=slide,
    select=_select,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
