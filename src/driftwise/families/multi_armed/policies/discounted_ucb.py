"""Discounted UCB: UCB1 whose memory fades by gamma every round.

    index_k = mean_k + 2 span sqrt(xi ln n / N_k),    N_k = sum of gamma^(t - s) over the rewards of arm k
                                                      mean_k = sum of gamma^(t - s) reward_s / N_k,    n = sum of N_k

s is the round of a reward's decision, t the round to be decided. An arm without a reward is tried at once, lowest
number first.

| symbol | field | |
|---|---|---|
| gamma | gamma | what is left of a weight after one round; 1 / (1 - gamma) rounds are remembered |
| xi | xi | exploration; above 1/2 for the theorem |
| B | span | width of the reward range, from the problem |
| N_t(gamma, k) | counts / discount.growth | discounted count, see `numerics/discount.py` |

Kocsis & Szepesvari, *Discounted UCB*, PASCAL workshop 2006; Garivier & Moulines, *On upper-confidence bound policies
for switching bandit problems*, ALT 2011, section 3, whose index this is.
Known in advance: the reward range, and a discount fit for the drift (`for_changes`: horizon and number of changes).
Regret: O(sqrt(changes T) log T) with the discount of `for_changes`.
Late rewards enter by their decision's round: they weigh as if they had come in time. Decisions whose rewards are under
way count as tries and fade alike, see `numerics/pending.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.numerics.discount import Discount, fade, new_discount, weight
from driftwise.numerics.optimism import NEVER_LEFT, log_scale, most_promising, tally, tally_weighted
from driftwise.numerics.pending import Pending, find_middle, middle_of, new_pending
from driftwise.numerics.summaries import summarise_bounds

FAINT = 1e-200


class DiscountedUCBState(NamedTuple):
    """What is kept of counts and sums, and the two parts of each bound; `weights` are those of what is under way.

    `waiting` is how much that is in all; what arms that were retired left under way stays in it.
    """

    discount: Discount
    counts: PerArm
    sums: PerArm
    pending: Pending
    weights: PerArm
    waiting: Shared
    means: PerArm
    roots: PerArm
    span: Shared


class DiscountedUCB(NamedTuple):
    """Mean plus bonus over a memory that fades.

    Parameters
    ----------
    gamma : float
        What is left of a weight after one round: small follows faster, close to one is steadier.
    xi : float
        Exploration.

    >>> DiscountedUCB.for_changes(horizon=10_000, changes=4)
    DiscountedUCB(gamma=0.995, xi=0.6)
    """

    gamma: float = 0.999
    xi: float = 0.6

    @classmethod
    def for_changes(cls, horizon: int, changes: int, span: float = 1.0, xi: float = 0.6) -> "DiscountedUCB":
        """The discount 1 - sqrt(changes / T) / (4 span), for a known horizon and number of changes."""
        horizon = whole("horizon", horizon)
        changes = whole("changes", changes, low=0, high=horizon)
        span = number("span", span, above=0.0)
        return cls(gamma=1.0 - math.sqrt(changes / horizon) / (4.0 * span), xi=xi)

    def init(self, problem: Problem) -> DiscountedUCBState:
        """Every arm untried."""
        number("gamma", self.gamma, above=0.0, below=1.0, closed="]")
        number("xi", self.xi, above=0.0)
        n_arms = whole("n_arms", problem.n_arms)
        return DiscountedUCBState(
            discount=new_discount(),
            counts=np.zeros(n_arms),
            sums=np.zeros(n_arms),
            pending=new_pending(n_arms, middle_of(problem)),
            weights=np.zeros(n_arms),
            waiting=np.zeros(1, np.int64),
            means=np.full(n_arms, np.inf),
            roots=np.zeros(n_arms),
            span=np.array([problem.span]),
        )


@kernel
def _advance(policy: DiscountedUCB, state: DiscountedUCBState, t: int, rng: Any) -> None:
    shrink = fade(state.discount, policy.gamma, t)
    if shrink < 1.0:
        for k in range(len(state.counts)):
            if state.counts[k] > 0.0:  # a mean outlives its weights, which must not fade to nothing
                state.counts[k] = max(state.counts[k] * shrink, FAINT)
                state.sums[k] = state.means[k] * state.counts[k]
                state.roots[k] = 1.0 / math.sqrt(state.counts[k])
            if state.pending.counts[k] > 0:
                state.weights[k] = max(state.weights[k] * shrink, FAINT)
                _refresh(state, k)


@kernel
def _refresh(state: DiscountedUCBState, arm: int) -> None:
    count, total, number = state.counts[arm], state.sums[arm], state.pending.counts[arm]
    if number > 0:
        middle = state.pending.middle[0]
        tally_weighted(state.means, state.roots, arm, count, total, state.weights[arm], number, middle)
    else:
        tally(state.means, state.roots, arm, count, total, 0, math.nan, NEVER_LEFT)


@kernel
def _pend(policy: DiscountedUCB, state: DiscountedUCBState, decision: Decision) -> None:
    state.waiting[0] += 1
    state.pending.counts[decision.action] += 1
    state.weights[decision.action] += weight(state.discount, policy.gamma, decision.t)
    if find_middle(state.pending, state.counts, state.sums):
        for arm in range(len(state.counts)):
            _refresh(state, arm)
    _refresh(state, decision.action)


@kernel
def _settle(policy: DiscountedUCB, state: DiscountedUCBState, decision: Decision) -> None:
    arm = decision.action
    state.waiting[0] -= 1
    state.pending.counts[arm] -= 1
    rest = state.weights[arm] - weight(state.discount, policy.gamma, decision.t)
    state.weights[arm] = max(rest, FAINT) if state.pending.counts[arm] > 0 else 0.0
    _refresh(state, arm)


@kernel
def _scale(policy: DiscountedUCB, state: DiscountedUCBState) -> float:
    """What a bonus is before it is divided by the root of the tries, as these are kept."""
    growth, total = state.discount.growth[0], 0.0
    for count in state.counts:
        total += count
    if state.waiting[0] > 0:
        for weight_under_way in state.weights:
            total += weight_under_way
    # Deviation: a discounted number of rewards below one has no bonus; the paper's logarithm would be negative.
    return 2.0 * log_scale(state.span[0], policy.xi, total / growth) * math.sqrt(growth)


@kernel
def _select(policy: DiscountedUCB, state: DiscountedUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return most_promising(state.means, state.roots, _scale(policy, state)), 1.0


@kernel
def _update(policy: DiscountedUCB, state: DiscountedUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    _advance(policy, state, now + 1, decision.rng)
    arm, share = decision.action, weight(state.discount, policy.gamma, decision.t)
    state.counts[arm] += share
    state.sums[arm] += share * outcome.reward
    _refresh(state, arm)


@kernel
def _summarise(policy: DiscountedUCB, state: DiscountedUCBState, t: int, context: Any, out: Summary) -> None:
    scale = _scale(policy, state)
    summarise_bounds(out, state.counts, state.sums, state.pending.counts, state.means, state.roots, scale)
    for arm in range(len(out.count)):
        out.count[arm] /= state.discount.growth[0]


register(
    DiscountedUCB,
    about=About(
        "a discount fit for the drift; the reward range", "O(sqrt(changes T) log T)", "Garivier & Moulines 2011"
    ),
    advance=_advance,
    select=_select,
    pend=_pend,
    settle=_settle,
    update=_update,
    summarise=_summarise,
)
