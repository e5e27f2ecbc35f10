"""Sliding-window CombUCB1: the items that could pay most, by what each paid in the last `window` rounds.

    index_i = mean_i + scale R sqrt(2 ln(2 d T^2) / N_i)        mean and count of item i over the last w rounds
    slate = the m items with the largest indices

An item that is not in the window is chosen at once. Of equal indices the lowest number's wins. Taking the m largest is
the oracle for "any m items": it maximises the sum of indices over all slates. Slates under other constraints, such as
paths or matchings, would need their own. A slate lists its items in ascending order.

| symbol | field | |
|---|---|---|
| w | window | rounds remembered |
| d, m | | items, and items in a slate, from the problem |
| T | | the horizon; where it is not known, the rounds played or the window, whichever is more |
| R | | noise of an item's reward, from the problem; half the range where rewards are bounded |

Kveton, Wen, Ashkan & Szepesvari, *Tight regret bounds for stochastic combinatorial semi-bandits*, AISTATS 2015, with
the window and the radius of Cheung, Simchi-Levi & Zhu, *Hedging the Drift: Learning to Optimize under
Non-Stationarity*, Management Science 2022, section 8.
Known in advance: a window fit for the drift; the noise or the range of rewards, and the horizon if possible.
Regret: by the paper's steps O((m d)^(1/3) B^(1/3) T^(2/3)), up to logarithms, with the window of `for_variation`: m w
rewards are in the window, so bonuses cost sqrt(m d w) in w rounds. B is the variation of what slates are worth.
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale, once for
each slate. Items whose rewards are under way count as tried, see `numerics/pending.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Derived, Floats, Ints, PerArm, Problem, Scratch, Shared, SlateOutcome
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.numerics.optimism import tally
from driftwise.numerics.pending import middle_of
from driftwise.numerics.summaries import summarise_bounds
from driftwise.numerics.window import (
    Window,
    await_no_more,
    await_reward,
    empty,
    new_window,
    remember,
    slide,
)


class SlidingSlateUCBState(NamedTuple):
    """The window, the two parts of each bound, R, the horizon (0: not known) or the window to take in its place, m.

    The window is one of rewards, m a round: item j of the slate of round t is the window's round t m + j.
    """

    window: Window
    means: PerArm
    roots: PerArm
    noise: Shared
    horizon: Derived
    limit: Shared
    size: Shared
    slate: Scratch
    indices: Scratch


class SlidingSlateUCB(NamedTuple):
    """The items with the largest mean plus bonus over the last `window` rounds.

    Parameters
    ----------
    window : int
        Rounds remembered: short follows faster, long is steadier; no more than the horizon.
    scale : float
        Factor on the bonus; 1 is the theorem's.

    >>> SlidingSlateUCB.for_variation(horizon=100_000, n_items=12, size=3, variation=10.0)
    SlidingSlateUCB(window=1532, scale=1.0)
    """

    window: int = 1000
    scale: float = 1.0

    @classmethod
    def for_variation(cls, horizon: int, n_items: int, size: int, variation: float = 1.0) -> "SlidingSlateUCB":
        """The window floor((m d)^(1/3) (T / B)^(2/3)); B = 1 when nothing is known of the drift."""
        horizon, variation = whole("horizon", horizon), number("variation", variation, above=0.0, closed="[")
        if variation == 0.0:
            return cls(window=horizon)
        pairs = whole("size", size) * whole("n_items", n_items)
        window = math.floor(math.cbrt(pairs * (horizon / variation) ** 2) + 1e-9)
        return cls(window=min(horizon, max(1, window)))

    def init(self, problem: Problem) -> SlidingSlateUCBState:
        """An empty window: every item untried."""
        n_items = whole("n_arms", problem.n_arms)
        size = whole("slate", problem.slate, high=n_items)
        window = whole("window", self.window, high=2**31 - 1)
        window = min(window, problem.horizon or window)  # `auto` has nothing to set, however short the run
        number("scale", self.scale, above=0.0)
        return SlidingSlateUCBState(
            window=new_window(n_items, window * size, middle_of(problem)),
            means=np.full(n_items, np.inf),
            roots=np.zeros(n_items),
            noise=np.array([0.5 * problem.span]),
            horizon=np.array([problem.horizon], np.int64),
            limit=np.array([window], np.int64),
            size=np.array([size], np.int64),
            slate=np.zeros(size, np.int64),
            indices=np.zeros(n_items),
        )


@kernel
def _refresh(state: SlidingSlateUCBState, item: int) -> None:
    window, pending = state.window, state.window.pending
    tally(
        *(state.means, state.roots, item, window.counts[item], window.sums[item]),
        *(pending.counts[item], pending.middle[0], window.left[item]),
    )


@kernel
def _advance(policy: SlidingSlateUCB, state: SlidingSlateUCBState, t: int, rng: Any) -> None:
    slide(policy, state, t * state.size[0], rng)


@kernel
def _radius(policy: SlidingSlateUCB, state: SlidingSlateUCBState, t: int) -> float:
    """What a bonus is before it is divided by the root of the tries."""
    rounds = float(max(t, state.horizon[0], state.limit[0]))
    return float(policy.scale * state.noise[0] * math.sqrt(2.0 * math.log(2.0 * len(state.means) * rounds * rounds)))


@kernel
def _select(policy: SlidingSlateUCB, state: SlidingSlateUCBState, t: int, context: Any, rng: Any) -> tuple[Ints, float]:
    radius = _radius(policy, state, t)
    for item in range(len(state.means)):
        state.indices[item] = state.means[item] + radius * state.roots[item]
    _take_largest(state.indices, state.slate)
    _ascend(state.slate)
    return state.slate, 1.0


@kernel
def _take_largest(indices: Floats, slate: Ints) -> None:
    """Fill the slate with the items of the largest indices, the lowest among equals; the largest comes first."""
    taken = 0
    for item in range(len(indices)):
        place = taken
        while place > 0 and indices[item] > indices[slate[place - 1]]:
            if place < len(slate):
                slate[place] = slate[place - 1]
            place -= 1
        if place < len(slate):
            slate[place] = item
            taken = min(taken + 1, len(slate))


@kernel
def _ascend(slate: Ints) -> None:
    for last in range(1, len(slate)):
        item, place = slate[last], last
        while place > 0 and slate[place - 1] > item:
            slate[place] = slate[place - 1]
            place -= 1
        slate[place] = item


@kernel
def _pend(policy: SlidingSlateUCB, state: SlidingSlateUCBState, decision: Decision) -> None:
    size = state.size[0]
    for j in range(size):
        await_reward(state, decision.t * size + j, decision.action[j])


@kernel
def _settle(policy: SlidingSlateUCB, state: SlidingSlateUCBState, decision: Decision) -> None:
    size = state.size[0]
    for j in range(size):
        await_no_more(state, decision.t * size + j, decision.action[j])


@kernel
def _update(
    policy: SlidingSlateUCB, state: SlidingSlateUCBState, decision: Decision, outcome: SlateOutcome, now: int
) -> None:
    size, stale = state.size[0], state.window.stale[0]
    for j in range(size):
        remember(state, decision.t * size + j, decision.action[j], outcome.items[j], now * size + size - 1)
    state.window.stale[0] = min(stale + 1, state.window.stale[0])


@kernel
def _summarise(policy: SlidingSlateUCB, state: SlidingSlateUCBState, t: int, context: Any, out: Summary) -> None:
    window, radius = state.window, _radius(policy, state, t)
    summarise_bounds(out, window.counts, window.sums, window.pending.counts, state.means, state.roots, radius)


@kernel
def _restart(policy: SlidingSlateUCB, state: SlidingSlateUCBState, memory: int, window: int) -> None:
    empty(state.window, memory * state.size[0])
    for item in range(len(state.means)):
        state.means[item], state.roots[item] = math.inf, 0.0
    state.limit[0] = window


register(SlidingSlateUCBState, refresh=_refresh)
register(
    SlidingSlateUCB,
    about=About(
        "a window fit for the drift; the noise",
        "O((m d)^(1/3) B^(1/3) T^(2/3)) by the paper's steps",
        "Kveton et al. 2015; Cheung, Simchi-Levi & Zhu 2022",
        family="slate",
    ),
    advance=_advance,
    select=_select,
    pend=_pend,
    settle=_settle,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
