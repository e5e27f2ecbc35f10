"""Sliding-window UCB for generalised linear rewards: yes or no, counts, or numbers, judged by the last `window` rounds.

    theta    solves sum (Y - mu(<x, theta>)) x = ridge theta over the last w rounds, cut to |theta| <= S u
    index of x = <x, theta> + beta sqrt(x' V^-1 x)        or mu(<x, theta>) + ... with index=mu;   V = sum x x'
    beta = beta_scale 2 k Y_max sqrt(2 d ln(w) ln(2 d T^2) (3 + 2 ln(1 + 2 L^2 / lambda_0))) / c

In the first d rounds of every w the policy explores: it takes the row farthest from the span of those taken since the
cycle began. With the same actions in every round these are a_1 .. a_d of the paper, picked by pivoted QR; with new ones
it is the row about which this cycle has told least. Where every row lies in that span, the round is like any other.

| symbol | field | |
|---|---|---|
| w | window | rounds remembered; `theorem9` for that of the theorem, as `theorem3` in `sliding_lin_ucb.py` |
| mu | link | `identity`, `logistic` (rewards in [0, 1]) or `poisson` (rewards from 0 up) |
| S | norm | bound on the length of the parameter, in units u |
| L | reach | bound on the length of features |
| lambda_0 | coverage | least eigenvalue of sum a_i a_i', i = 1 .. d: `coverage_of(actions)`; 0 takes L^2, the most |
| Y_max | ceiling | largest reward; 0 takes the range of the problem, or twice the noise where there is none |
| u | | unit of rewards, from the problem, or learned; 1 with other links than `identity`, whose scores have none |
| k, c | | steepest and flattest slope of mu for scores up to S L: 1/4 and mu'(S L) logistic, exp(+-S L) poisson |
| T | | horizon, from the problem; 100 where nobody knows it |

Cheung, Simchi-Levi & Zhu, *Hedging the Drift: Learning to Optimize under Non-Stationarity*, Management Science 2022,
section 8.2. Equation (32) adds the bonus to the score, Theorem 8 bounds the mean: `index` offers both. The theorem's
beta is so large that exploration hardly ends (605 with rewards 0 and 1, S = 3, d = 3, w = 84 and T = 20,000):
`beta_scale=0.005` does far better.
Known in advance: the link; a window fit for the drift; the range of rewards or their noise; S, L and lambda_0.
Regret: O(d^(2/3) B^(1/3) T^(2/3)) as printed, with the window for the variation B, up to logarithms. The proof takes a
step of Lemma 1 (inequality (88)) that is false unless all features lie along axes; what is proven for others, linear
rewards, is O(d^(7/8) B^(1/4) T^(3/4)) (Zhao, Zhang, Jiang & Zhou, arXiv 2103.05324).
Deviations: the small ridge, since on a window of all zeros or all ones there is no estimate without; theta is cut by
scaling, where Filippi et al. (2010) project in a norm of V; and V has 10^-6 L^2 on its diagonal.
Cost: a decision after news solves for theta by Newton, two or three looks at all pairs: O(n d^2), n the number of
different rows in the window, at most w; and O(d^3). Where the same actions come again n is their number, whatever w:
2 microseconds a round with 12 actions and d = 3. With new actions in every round it is 10 microseconds at w = 84, 80 at
1,000 and 700 at 10,000; with d = 10 the last two are 200 and 1,500. With link=identity `sliding-lin-ucb` costs less.
Late rewards enter by their decision's round; those older than the window are dropped and counted as stale.
While rows x are under way V^-1 is M^-1 V M^-1, M = V + sum x x' over those: the matrix form of `numerics/pending.py`.
Rows that were explored count as taken, whether or not their rewards have come.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import Foresight, name_values, rounds_of, variation_of
from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary, put_interval
from driftwise.core.types import About, Cache, Decision, Floats, Outcome, Problem, Scratch, Shared
from driftwise.core.validation import number, whole, window_rounds
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.families.contextual.feature_window import (
    FeatureWindow,
    empty,
    new_feature_window,
    remember_features,
    slide_features,
)
from driftwise.families.contextual.glm import (
    LINKS,
    GLMFit,
    estimate,
    mean_at,
    multiply_symmetric,
    new_glm_fit,
    width_under,
)
from driftwise.families.contextual.pending_ring import (
    NOBODY,
    PendingRing,
    clear_ring,
    new_pending_ring,
    pend_in_ring,
    settle_in_ring,
    slot_under_way,
)
from driftwise.families.contextual.pivoted_qr import NO_ROW, Span, coverage, explored_row, new_span
from driftwise.families.contextual.row_counts import (
    Tally,
    add_outer,
    build,
    new_tally,
    tally_gained,
    tally_lost,
    tally_turned,
)
from driftwise.families.contextual.summaries import rewards_worth
from driftwise.numerics.reward_scale import RewardScale, new_scale
from driftwise.numerics.ridge import dot, invert

UNKNOWN_HORIZON = 100  # rounds taken when nobody knows how long the run will be: a bound fails with chance 0.01
FLOOR = 1e-6  # of L^2, added to V so that it can be inverted before d rounds have been answered
KEPT = 64  # different rows told once, at least, where they come again
INDICES = ("linear", "mu")


class SlidingGLMUCBState(NamedTuple):
    """The window, its tally, the estimate and V^-1 (`fresh` when they fit the window), and what `init` worked out.

    The radius beta is `width` Y_max sqrt(ln w), w the window it is `sized_for`. `ceiling` is Y_max; where that is 0 it
    is twice the noise.
    """

    window: FeatureWindow
    tally: Tally
    fit: GLMFit
    span: Span
    pending: PendingRing
    inverse: Cache
    fresh: Cache
    scale: RewardScale
    width: Cache
    ceiling: Shared
    sized_for: Shared
    link: Shared
    on_mean: Shared
    narrow: Scratch
    spread: Scratch


class SlidingGLMUCB(NamedTuple):
    """Generalised linear estimate plus bonus over the last `window` rounds.

    Parameters
    ----------
    window : int, or a word
        Rounds remembered: short follows faster, long is steadier. `theorem9` stands for the paper's, see above.
    link : str
        How scores <x, theta> become means: `identity`, `logistic` or `poisson`.
    index : str
        What the bonus is added to: `linear`, the score, or `mu`, the mean.
    beta_scale : float
        Factor on the bonus; 1 is the theorem's, 0.005 is advised.
    norm : float
        Bound on the length of the parameter, with the link `identity` in units of the largest reward.
    reach : float
        Bound on the length of features.
    coverage : float
        Least eigenvalue lambda_0 over the actions explored, `coverage_of(actions)`; 0 takes reach^2, the most.
    ceiling : float
        Largest reward, in the unit of rewards; 0 takes it from the problem.
    ridge : float
        Regularisation of the estimate: small, only so that there is one.

    >>> SlidingGLMUCB.theorem9(horizon=20_000, dim=3, variation=78.0, link="logistic").window
    83
    >>> SlidingGLMUCB.theorem9(horizon=20_000, dim=3).window
    1532
    """

    window: int | str = 1000
    link: str = "identity"
    index: str = "linear"  # type: ignore[assignment]
    beta_scale: float = 1.0
    norm: float = 1.0
    reach: float = 1.0
    coverage: float = 0.0
    ceiling: float = 0.0
    ridge: float = 1e-3

    @classmethod
    def theorem9(cls, horizon: int, dim: int, variation: float = 1.0, **others: Any) -> "SlidingGLMUCB":
        """The window floor((d T)^(2/3) B^(-2/3)); B = 1 when nothing is known of the drift."""
        horizon, variation = whole("horizon", horizon), number("variation", variation, above=0.0, closed="[")
        if variation == 0.0:
            return cls(window=horizon, **others)
        window = math.floor((whole("dim", dim) * horizon / variation) ** (2.0 / 3.0) + 1e-9)
        return cls(window=min(horizon, max(1, window)), **others)

    @staticmethod
    def coverage_of(actions: Floats) -> float:
        """lambda_0 of the rows that are explored when these actions are offered in every round.

        >>> SlidingGLMUCB.coverage_of(np.eye(3))
        1.0
        """
        return coverage(actions)

    def init(self, problem: Problem) -> SlidingGLMUCBState:
        """Nothing remembered."""
        dim, n_arms = whole("dim", problem.dim), whole("n_arms", problem.n_arms)
        window = window_rounds(self.window, problem.horizon)
        for name in ("beta_scale", "norm", "reach", "ridge"):
            number(name, getattr(self, name), above=0.0)
        for name in ("coverage", "ceiling"):
            number(name, getattr(self, name), above=0.0, closed="[")
        for name, value, words in (("link", self.link, LINKS), ("index", self.index, INDICES)):
            if value not in words:
                raise ParameterError(f"{name}={value} is not one of {', '.join(words)}")
        number("norm * reach", self.norm * self.reach, above=0.0, below=LINKS[self.link].far)
        self._check_rewards(problem)
        return SlidingGLMUCBState(
            window=new_feature_window(dim, window),
            tally=new_tally(max(n_arms, KEPT), dim, window),
            fit=new_glm_fit(dim),
            span=new_span(dim),
            pending=new_pending_ring(dim, window),
            inverse=np.eye(dim) / (FLOOR * self.reach**2),
            fresh=np.zeros(1, np.bool_),
            # Other links have scores that are pure numbers.
            scale=new_scale(problem if self.link == "identity" else problem._replace(unit=1.0)),
            width=np.array([self._width(problem, dim)]),
            ceiling=np.array([self.ceiling or (problem.span if problem.bounded else 0.0)]),
            sized_for=np.array([window], np.int64),
            link=np.array([LINKS[self.link].code], np.int64),
            on_mean=np.array([self.index == "mu"]),
            narrow=np.zeros((dim, dim)),
            spread=np.zeros((dim, dim)),
        )

    def _check_rewards(self, problem: Problem) -> None:
        """Refuse a link whose means could not be those of the problem's rewards."""
        low, high = LINKS[self.link].low, LINKS[self.link].high
        if problem.low < low or problem.high > high:
            raise ParameterError(
                f"link={self.link} is for rewards in [{low:g}, {high:g}], those of this problem "
                f"lie in [{problem.low:g}, {problem.high:g}]"
            )

    def _width(self, problem: Problem, dim: int) -> float:
        """All of beta but what may change: Y_max, where it is learned, and the part of the window, by a restart."""
        horizon = problem.horizon or UNKNOWN_HORIZON
        steepest, flattest = LINKS[self.link].slopes(self.norm * self.reach)
        covered = 3.0 + 2.0 * math.log1p(2.0 * self.reach**2 / (self.coverage or self.reach**2))
        spread = math.sqrt(2.0 * dim * math.log(2.0 * dim * horizon**2) * covered)
        return self.beta_scale * 2.0 * steepest * spread / flattest


def _theorem9(policy: SlidingGLMUCB, foresight: Foresight, variation: float | None = None) -> int:
    problem = foresight.problem
    return int(SlidingGLMUCB.theorem9(rounds_of(problem), problem.dim, variation_of(foresight, variation)).window)


@kernel
def radius_of(state: SlidingGLMUCBState) -> float:
    """The factor on the bonus, beta."""
    ceiling = state.ceiling[0] if state.ceiling[0] > 0.0 else 2.0 * state.scale.noise[0]
    return float(state.width[0] * ceiling * math.sqrt(math.log(state.sized_for[0])))


@kernel
def _advance(policy: SlidingGLMUCB, state: SlidingGLMUCBState, t: int, rng: Any) -> None:
    slide_features(policy, state, t, rng)
    if not state.fresh[0]:
        _refit(policy, state)


@kernel(inline=False)
def _refit(policy: SlidingGLMUCB, state: SlidingGLMUCBState) -> None:
    """Bring theta and V^-1 up to what the window holds."""
    tally, fit = state.tally, state.fit
    if not tally.built[0]:
        build(tally, state.window)
    estimate(fit, state.link[0], tally, state.window, policy.ridge)
    _write_gram(policy, state)
    invert(fit.curvature, fit.factor, state.inverse)
    state.fresh[0] = True


@kernel
def _floor(policy: SlidingGLMUCB, state: SlidingGLMUCBState) -> float:
    """What V has on its diagonal from the start."""
    floor, gram = FLOOR * policy.reach * policy.reach, state.tally.gram
    for i in range(len(gram)):
        floor = max(floor, FLOOR * FLOOR * gram[i, i])  # for features far longer than L
    return float(floor)


@kernel
def _write_gram(policy: SlidingGLMUCB, state: SlidingGLMUCBState) -> None:
    """Write V to `curvature`."""
    tally, fit = state.tally, state.fit
    floor = _floor(policy, state)
    for i in range(len(fit.theta)):
        for j in range(len(fit.theta)):
            fit.curvature[i, j] = tally.gram[i, j]
        # Deviation: V is printed without a ridge, and cannot be inverted before d rounds were answered.
        fit.curvature[i, i] += floor


@kernel
def _select(policy: SlidingGLMUCB, state: SlidingGLMUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    row = explored_row(state.span, state.window, state.pending, context)
    return (row if row != NO_ROW else _promising_row(policy, state, context)), 1.0


@kernel
def _promising_row(policy: SlidingGLMUCB, state: SlidingGLMUCBState, context: Floats) -> int:
    """The row with the largest upper bound, the first among equals."""
    theta, cut = state.fit.theta, _cut(policy, state)
    radius, best, top = radius_of(state), 0, -np.inf
    inverse = state.inverse
    if state.pending.waiting[0] > 0:
        _narrow(policy, state)
        inverse = state.spread
    for row in range(len(context)):
        index = cut * dot(context[row], theta)
        if state.on_mean[0]:
            index = mean_at(state.link[0], index)
        index += radius * width_under(inverse, context[row])
        if index > top:
            best, top = row, index
    return best


@kernel
def _cut(policy: SlidingGLMUCB, state: SlidingGLMUCBState) -> float:
    """What is left of theta where it is too long."""
    theta, longest = state.fit.theta, policy.norm * state.scale.unit[0]
    return float(longest / max(math.sqrt(dot(theta, theta)), longest))


@kernel(inline=False)
def _narrow(policy: SlidingGLMUCB, state: SlidingGLMUCBState) -> None:
    """Write (V + P)^-1 V (V + P)^-1 to `spread`, P = sum x x' over the rows under way."""
    ring, gram, product = state.pending, state.fit.curvature, state.fit.factor
    _write_gram(policy, state)
    for slot in range(len(ring.rounds)):
        if slot_under_way(ring, state.window, ring.rounds[slot]) != NOBODY:
            add_outer(gram, ring.rows[slot], 1.0)
    invert(gram, product, state.narrow)
    _write_gram(policy, state)
    multiply_symmetric(state.narrow, gram, product)
    multiply_symmetric(product, state.narrow, state.spread)


@kernel
def _update(policy: SlidingGLMUCB, state: SlidingGLMUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    remember_features(state, decision.t, decision.context, outcome.reward, now)


@kernel
def _summarise(policy: SlidingGLMUCB, state: SlidingGLMUCBState, t: int, context: Floats, out: Summary) -> None:
    """Means and intervals are rewards, whatever the link; an index on scores stays a score, as they are ranked."""
    clear_summary(out)
    link, cut, radius, floor = state.link[0], _cut(policy, state), radius_of(state), _floor(policy, state)
    inverse = state.inverse
    if state.pending.waiting[0] > 0:
        _narrow(policy, state)
        inverse = state.spread
    for row in range(len(context)):
        x = context[row]
        out.count[row] = rewards_worth(width_under(state.inverse, x) ** 2, dot(x, x) / floor)
        score, reach = cut * dot(x, state.fit.theta), radius * width_under(inverse, x)
        mean = mean_at(link, score)
        if state.on_mean[0]:
            put_interval(out, row, mean, mean - reach, mean + reach)
            out.index[row] = mean + reach
        else:
            put_interval(out, row, mean, mean_at(link, score - reach), mean_at(link, score + reach))
            out.index[row] = score + reach


@kernel
def _restart(policy: SlidingGLMUCB, state: SlidingGLMUCBState, memory: int, window: int) -> None:
    empty(state.window, memory)
    clear_ring(state.pending)
    state.tally.built[0] = False
    state.fresh[0] = False
    for i in range(len(state.fit.theta)):
        state.fit.theta[i] = 0.0
    state.sized_for[0] = window


@kernel
def _gained(state: SlidingGLMUCBState, slot: int) -> None:
    tally_gained(state, slot)
    state.fresh[0] = False


@kernel
def _lost(state: SlidingGLMUCBState, slot: int) -> None:
    tally_lost(state, slot)
    state.fresh[0] = False


register(SlidingGLMUCBState, gained=_gained, lost=_lost, turned=tally_turned)
name_values(SlidingGLMUCB, window={"theorem9": _theorem9})
register(
    SlidingGLMUCB,
    about=About(
        "the link; a window fit for the drift; the reward range, or the noise; lengths",
        "O(d^(2/3) B^(1/3) T^(2/3)) as printed, for features along axes only",
        "Cheung, Simchi-Levi & Zhu 2022; Zhao et al. 2021",
        family="contextual",
    ),
    advance=_advance,
    select=_select,
    pend=pend_in_ring,
    settle=settle_in_ring,
    update=_update,
    summarise=_summarise,
    restart=_restart,
)
