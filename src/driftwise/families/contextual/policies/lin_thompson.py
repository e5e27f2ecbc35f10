"""Thompson sampling for linear rewards: draw a parameter from what is believed, play the row it likes best.

    theta ~ N(V^-1 b, v^2 V^-1)       V = lambda I + sum x x',  b = sum x Y      over all rounds so far
    play the row with the largest <x, theta>

    v = scale R                               by default: the posterior under the prior N(0, R^2 / lambda)
    v = scale R sqrt(9 d ln(t / delta))       with a `confidence` delta: the theorem's, t = 1 in the first round

The theorem's v is wider than the posterior by a factor of 20 or so, and explores accordingly.

| symbol | field | |
|---|---|---|
| lambda | ridge | regularisation; 1 in the paper |
| v | scale | width of the draw, in units of the posterior's or of the theorem's |
| delta | confidence | 0 draws from the posterior; else the chance that the theorem's bound fails |
| R | | noise of the rewards, from the problem, or learned |

Agrawal & Goyal, *Thompson sampling for contextual bandits with linear payoffs*, ICML 2013, algorithm 1.
Known in advance: the noise or the range of rewards.
Regret: O(d^(3/2) sqrt(T) log T) without drift, for the theorem's v; linear in T with drift.
Late rewards enter when they come; one told twice counts twice. O(d^3 / 6) a round for the draw, and O(d) a row.
Decisions whose rewards are under way count as tries, see `families/contextual/pending_rows.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Floats, Outcome, Problem, Scratch
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.contextual.linear_draw import draw_parameter, favourite_row
from driftwise.families.contextual.pending_rows import PendingRows, new_pending_rows, pend_row, settle_row
from driftwise.families.contextual.summaries import summarise_rows
from driftwise.numerics.beta_quantile import NORMAL_95
from driftwise.numerics.reward_scale import RewardScale, measure, new_scale
from driftwise.numerics.ridge import Ridge, absorb, audit, new_ridge


class LinThompsonState(NamedTuple):
    """The regression, the rows under way, the noise, and room for a draw."""

    ridge: Ridge
    pending: PendingRows
    scale: RewardScale
    draw: Scratch


class LinThompson(NamedTuple):
    """Gaussian posterior sampling of a linear parameter over all history.

    Parameters
    ----------
    ridge : float
        Regularisation lambda.
    scale : float
        Factor on the width of the draw; 1 is the posterior's.
    confidence : float
        0 draws from the posterior; a chance of failure draws as wide as the theorem asks.

    >>> LinThompson(scale=0.5)
    LinThompson(ridge=1.0, scale=0.5, confidence=0.0)
    """

    ridge: float = 1.0
    scale: float = 1.0
    confidence: float = 0.0

    def init(self, problem: Problem) -> LinThompsonState:
        """Nothing seen."""
        dim = whole("dim", problem.dim)
        whole("n_arms", problem.n_arms)
        number("ridge", self.ridge, above=0.0)
        number("scale", self.scale, above=0.0)
        number("confidence", self.confidence, above=0.0, below=1.0, closed="[")
        return LinThompsonState(new_ridge(dim, self.ridge), new_pending_rows(dim), new_scale(problem), np.zeros(dim))


@kernel
def _spread(policy: LinThompson, noise: float, dim: int, t: int) -> float:
    if policy.confidence == 0.0:
        return policy.scale * noise
    return policy.scale * noise * math.sqrt(9.0 * dim * math.log((t + 1) / policy.confidence))


@kernel
def _select(policy: LinThompson, state: LinThompsonState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    spread = _spread(policy, state.scale.noise[0], len(state.draw), t)
    draw_parameter(state.ridge, state.pending, spread, state.draw, rng)
    return favourite_row(context, state.draw), np.nan


@kernel
def _update(policy: LinThompson, state: LinThompsonState, decision: Decision, outcome: Outcome, now: int) -> None:
    measure(state.scale, outcome.reward)
    absorb(state.ridge, decision.context, outcome.reward)
    audit(state.ridge)


@kernel
def _summarise(policy: LinThompson, state: LinThompsonState, t: int, context: Floats, out: Summary) -> None:
    spread = _spread(policy, state.scale.noise[0], len(state.draw), t)
    summarise_rows(out, state.ridge, state.pending, context, NORMAL_95 * spread, False)


register(
    LinThompson,
    about=About(
        "the reward range, or the noise",
        "O(d^(3/2) sqrt(T) log T) without drift",
        "Agrawal & Goyal 2013",
        drifts=False,
        family="contextual",
    ),
    select=_select,
    pend=pend_row,
    settle=settle_row,
    update=_update,
    summarise=_summarise,
)
