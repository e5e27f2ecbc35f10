"""SW-UCB for arms: the mean over the last `window` rounds, and a radius that holds for all rounds at once.

    index_i = mean_i + scale R sqrt(2 ln(2 d T^2) / N_i)        mean and count over the last w rounds

An arm that is not in the window is tried at once; of several, the one tried longest ago. Of equal indices the lowest
arm's wins.

| symbol | field | |
|---|---|---|
| w | window | rounds remembered; `theorem6` or `theorem6(variation=43)` for that of the theorem |
| d | | number of arms |
| T | | the horizon; where it is not known, or over, the rounds played or the window, whichever is more |
| R | | noise of the rewards, from the problem; half the range where rewards are bounded |

Cheung, Simchi-Levi & Zhu, *Hedging the Drift: Learning to Optimize under Non-Stationarity*, Management Science 2022,
section 8.1, eq. (28) and (29). Windows: `theorem6`, as a constructor or by name: `window=theorem6` takes the variation
of the world in studies, `window=theorem6(variation=43)` a number. Read by the letter, the pseudo-inverse in (28) gives
an arm that is not in the window the index 0, below that of any arm with a positive mean: it is never tried again and
regret is linear. Here its index is infinite. In the count N_i the printed "1 and (t - w)" is read as the larger of the
two.
A horizon that is not known is not guessed: with the rounds played in place of T each bound holds up to now, for a bonus
that grows very slowly with time. At first the window takes its place, so that the first bounds are wide enough.
Known in advance: a window fit for the drift; the noise or the range of rewards, and the horizon if possible.
Regret: O(d^(1/3) B^(1/3) T^(2/3)) with the window for the variation B, up to logarithms; B for B^(1/3) without it.
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
Decisions whose rewards are under way count as tries of their arm, see `numerics/pending.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import Foresight, name_values, rounds_of, variation_of
from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Derived, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import number, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.numerics.optimism import most_promising, tally
from driftwise.numerics.pending import middle_of
from driftwise.numerics.summaries import summarise_bounds
from driftwise.numerics.window import Window, empty, new_window, pend_round, remember, settle_round, slide


class SlidingArmedUCBState(NamedTuple):
    """The window, the two parts of each bound, R, and the horizon (0: not known) or the window to take in its place."""

    window: Window
    means: PerArm
    roots: PerArm
    noise: Shared
    horizon: Derived
    limit: Shared


class SlidingArmedUCB(NamedTuple):
    """Mean plus a radius for the whole run over the last `window` rounds.

    Parameters
    ----------
    window : int, or a word
        Rounds remembered: short follows faster, long is steadier. `theorem6` stands for the paper's, see above.
    scale : float
        Factor on the bonus; 1 is the theorem's.

    >>> SlidingArmedUCB.theorem6(horizon=100_000, n_arms=2)
    SlidingArmedUCB(window=2714, scale=1.0)
    """

    window: int | str = 1000
    scale: float = 1.0

    @classmethod
    def theorem6(cls, horizon: int, n_arms: int, variation: float = 1.0) -> "SlidingArmedUCB":
        """The window floor(d^(1/3) T^(2/3) B^(-2/3)); B = 1 when nothing is known of the drift."""
        horizon, variation = whole("horizon", horizon), number("variation", variation, above=0.0, closed="[")
        if variation == 0.0:
            return cls(window=horizon)
        window = math.floor(math.cbrt(whole("n_arms", n_arms) * (horizon / variation) ** 2) + 1e-9)
        return cls(window=min(horizon, max(1, window)))

    def init(self, problem: Problem) -> SlidingArmedUCBState:
        """An empty window: every arm untried."""
        n_arms = whole("n_arms", problem.n_arms)
        window = window_rounds(self.window, problem.horizon)
        number("scale", self.scale, above=0.0)
        return SlidingArmedUCBState(
            window=new_window(n_arms, window, middle_of(problem)),
            means=np.full(n_arms, np.inf),
            roots=np.zeros(n_arms),
            noise=np.array([0.5 * problem.span]),
            horizon=np.array([problem.horizon], np.int64),
            limit=np.array([window], np.int64),
        )


def _theorem6(policy: SlidingArmedUCB, foresight: Foresight, variation: float | None = None) -> int:
    problem = foresight.problem
    return int(SlidingArmedUCB.theorem6(rounds_of(problem), problem.n_arms, variation_of(foresight, variation)).window)


@kernel
def _refresh(state: SlidingArmedUCBState, arm: int) -> None:
    window, pending = state.window, state.window.pending
    tally(
        *(state.means, state.roots, arm, window.counts[arm], window.sums[arm]),
        *(pending.counts[arm], pending.middle[0], window.left[arm]),
    )


@kernel
def _radius(policy: SlidingArmedUCB, state: SlidingArmedUCBState, t: int) -> float:
    """What a bonus is before it is divided by the root of the tries."""
    rounds = float(max(t, state.horizon[0], state.limit[0]))
    return float(policy.scale * state.noise[0] * math.sqrt(2.0 * math.log(2.0 * len(state.means) * rounds * rounds)))


@kernel
def _select(policy: SlidingArmedUCB, state: SlidingArmedUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    radius = _radius(policy, state, t)
    return most_promising(state.means, state.roots, radius), 1.0


@kernel
def _update(
    policy: SlidingArmedUCB, state: SlidingArmedUCBState, decision: Decision, outcome: Outcome, now: int
) -> None:
    remember(state, decision.t, decision.action, outcome.reward, now)


@kernel
def _summarise(policy: SlidingArmedUCB, state: SlidingArmedUCBState, t: int, context: Any, out: Summary) -> None:
    window, radius = state.window, _radius(policy, state, t)
    summarise_bounds(out, window.counts, window.sums, window.pending.counts, state.means, state.roots, radius)


@kernel
def _restart(policy: SlidingArmedUCB, state: SlidingArmedUCBState, memory: int, window: int) -> None:
    empty(state.window, memory)
    for arm in range(len(state.means)):
        state.means[arm], state.roots[arm] = math.inf, 0.0
    state.limit[0] = window


register(SlidingArmedUCBState, refresh=_refresh)
name_values(SlidingArmedUCB, window={"theorem6": _theorem6})
register(
    SlidingArmedUCB,
    about=About(
        "a window fit for the drift; the noise", "O(d^(1/3) B^(1/3) T^(2/3))", "Cheung, Simchi-Levi & Zhu 2022"
    ),
    advance=slide,
    select=_select,
    pend=pend_round,
    settle=settle_round,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
