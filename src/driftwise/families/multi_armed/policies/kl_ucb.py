"""KL-UCB: the largest mean that the rewards so far do not speak against; right in a world that stands still.

    index_k = max{q : n_k kl(mean_k, q) <= ln t + c ln ln t}

kl is the divergence between Bernoulli laws, t the number of rounds completed; the right side is zero where it would be
negative. Rewards are moved to [0, 1]; for those between its ends the bound holds too, only less tightly. An arm without
a reward is tried at once, lowest number first; of equal indices the lowest arm's wins.

| symbol | field | |
|---|---|---|
| c | c | exploration; 3 in the theorem, 0 is advised in practice |
| N[k], S[k] | counts, sums | rewards seen of arm k, and their sum on [0, 1] |

Garivier & Cappe, *The KL-UCB algorithm for bounded stochastic bandits and beyond*, COLT 2011, algorithm 1.
Known in advance: the reward range.
Regret: sum_k gap_k log T / kl(mean_k, best mean) to first order when nothing drifts, the least possible for Bernoulli
rewards; linear in T when it does.
Late rewards count from when they come; decisions whose rewards are under way count as tries, see `numerics/pending.py`.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole
from driftwise.core.verbs import register
from driftwise.numerics.kl import exploration, information, most_optimistic, weigh
from driftwise.numerics.pending import Pending, new_pending, pend_arm, settle_arm
from driftwise.numerics.summaries import summarise_kl_bound


class KLUCBState(NamedTuple):
    """Counts and sums on [0, 1] over all history; `range` holds the lowest reward and the span.

    `trials` and `totals` are those that bounds are made of: they count what is under way, too.
    """

    counts: PerArm
    sums: PerArm
    pending: Pending
    trials: PerArm
    totals: PerArm
    informations: PerArm
    range: Shared


class KLUCB(NamedTuple):
    """Kullback-Leibler upper confidence bounds over all history.

    Parameters
    ----------
    c : float
        Weight of the iterated logarithm: 3 for the theorem, 0 explores less and often does better.

    >>> KLUCB(c=0)
    KLUCB(c=0)
    """

    c: float = 3.0

    def init(self, problem: Problem) -> KLUCBState:
        """Every arm untried."""
        number("c", self.c, above=0.0, closed="[")
        n_arms = whole("n_arms", problem.n_arms)
        low, span = bounded_range("kl-ucb", problem.low, problem.high)
        return KLUCBState(
            counts=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            pending=new_pending(n_arms, 0.5),
            trials=np.zeros(n_arms),
            totals=np.zeros(n_arms),
            informations=np.zeros(n_arms),
            range=np.array([low, span]),
        )


@kernel
def _refresh(state: KLUCBState, arm: int) -> None:
    weigh(state.trials, state.totals, arm, state.counts[arm], state.sums[arm], state.pending.counts[arm])
    state.informations[arm] = information(state.trials[arm], state.totals[arm])


@kernel
def _select(policy: KLUCB, state: KLUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    level = exploration(t, policy.c)
    return most_optimistic(state.trials, state.totals, state.informations, level), 1.0


@kernel
def _update(policy: KLUCB, state: KLUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    arm = decision.action
    state.counts[arm] += 1
    state.sums[arm] += (outcome.reward - state.range[0]) / state.range[1]
    _refresh(state, arm)


@kernel
def _summarise(policy: KLUCB, state: KLUCBState, t: int, context: Any, out: Summary) -> None:
    clear_summary(out)
    for arm in range(len(state.trials)):
        out.pending[arm] = state.pending.counts[arm]
        summarise_kl_bound(
            *(out, arm, state.counts[arm], state.sums[arm], state.trials[arm], state.totals[arm]),
            *(exploration(t, policy.c), state.range[0], state.range[1]),
        )


register(KLUCBState, refresh=_refresh)
register(
    KLUCB,
    about=About("the reward range", "O(K log T / kl) without drift", "Garivier & Cappe 2011", drifts=False),
    select=_select,
    pend=pend_arm,
    settle=settle_arm,
    update=_update,
    summarise=_summarise,
)
