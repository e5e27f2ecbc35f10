"""Sliding-window Thompson sampling for linear rewards: draw a parameter from what the last `window` rounds say.

    theta ~ N(V^-1 b, (scale R)^2 V^-1)       V = lambda I + sum x x',  b = sum x Y      over the last w rounds
    play the row with the largest <x, theta>

| symbol | field | |
|---|---|---|
| w | window | rounds remembered |
| lambda | ridge | regularisation |
| v / R | scale | width of the draw; 1 is that of the posterior under the prior N(0, R^2 / lambda) |
| R | | noise of the rewards, from the problem, or learned |

The draw of Agrawal & Goyal, ICML 2013, over the window of Cheung, Simchi-Levi & Zhu, Management Science 2022.
Known in advance: the noise or the range of rewards, and a window fit for the drift; those of `sliding-lin-ucb` serve.
Regret: none proven. It explores less than a bound would. Measured in `piecewise-linear` (T = 10^5, window 850) beside
`sliding-lin-ucb`: 8100 against 12600 where R = 1, 3700 against 3100 where R = 0.1.
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
Decisions whose rewards are under way count as tries, see `families/contextual/pending_rows.py`.
O(d^2) a round at any window, O(d^3 / 6) for the draw, and O(d) a row.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Floats, Outcome, Problem, Scratch
from driftwise.core.validation import number, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.families.contextual.feature_window import (
    FeatureWindow,
    empty,
    gain_pair,
    lose_pair,
    new_feature_window,
    pend_features,
    remember_features,
    settle_features,
    slide_features,
    turn_pass,
)
from driftwise.families.contextual.linear_draw import draw_parameter, favourite_row
from driftwise.families.contextual.pending_rows import PendingRows, await_pair, clear_rows, forgo_pair, new_pending_rows
from driftwise.families.contextual.summaries import summarise_rows
from driftwise.numerics.beta_quantile import NORMAL_95
from driftwise.numerics.reward_scale import RewardScale, new_scale
from driftwise.numerics.ridge import Ridge, clear, new_ridge


class SlidingLinThompsonState(NamedTuple):
    """The window, the regression over it, the rows under way, the noise, and room for a draw."""

    window: FeatureWindow
    ridge: Ridge
    pending: PendingRows
    scale: RewardScale
    draw: Scratch


class SlidingLinThompson(NamedTuple):
    """Gaussian posterior sampling of a linear parameter over the last `window` rounds.

    Parameters
    ----------
    window : int
        Rounds remembered: short follows faster, long is steadier.
    ridge : float
        Regularisation lambda.
    scale : float
        Factor on the width of the draw; 1 is the posterior's.

    >>> SlidingLinThompson(window=500)
    SlidingLinThompson(window=500, ridge=1.0, scale=1.0)
    """

    window: int = 1000
    ridge: float = 1.0
    scale: float = 1.0

    def init(self, problem: Problem) -> SlidingLinThompsonState:
        """Nothing remembered."""
        dim = whole("dim", problem.dim)
        whole("n_arms", problem.n_arms)
        window = window_rounds(self.window, problem.horizon)
        number("ridge", self.ridge, above=0.0)
        number("scale", self.scale, above=0.0)
        return SlidingLinThompsonState(
            window=new_feature_window(dim, window),
            ridge=new_ridge(dim, self.ridge),
            pending=new_pending_rows(dim),
            scale=new_scale(problem),
            draw=np.zeros(dim),
        )


@kernel
def _select(
    policy: SlidingLinThompson, state: SlidingLinThompsonState, t: int, context: Any, rng: Any
) -> tuple[int, float]:
    draw_parameter(state.ridge, state.pending, policy.scale * state.scale.noise[0], state.draw, rng)
    return favourite_row(context, state.draw), np.nan


@kernel
def _update(
    policy: SlidingLinThompson, state: SlidingLinThompsonState, decision: Decision, outcome: Outcome, now: int
) -> None:
    remember_features(state, decision.t, decision.context, outcome.reward, now)


@kernel
def _summarise(
    policy: SlidingLinThompson, state: SlidingLinThompsonState, t: int, context: Floats, out: Summary
) -> None:
    spread = policy.scale * state.scale.noise[0]
    summarise_rows(out, state.ridge, state.pending, context, NORMAL_95 * spread, False)


@kernel
def _restart(policy: SlidingLinThompson, state: SlidingLinThompsonState, memory: int, window: int) -> None:
    empty(state.window, memory)
    clear(state.ridge)
    clear_rows(state.pending)


register(
    SlidingLinThompsonState, gained=gain_pair, lost=lose_pair, awaited=await_pair, forgone=forgo_pair, turned=turn_pass
)
register(
    SlidingLinThompson,
    about=About(
        "a window fit for the drift; the reward range, or the noise",
        "none proven",
        "after Agrawal & Goyal 2013",
        family="contextual",
    ),
    advance=slide_features,
    select=_select,
    pend=pend_features,
    settle=settle_features,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
