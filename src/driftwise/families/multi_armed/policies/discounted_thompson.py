"""Discounted Thompson sampling: Beta posteriors from a memory that fades by gamma every round.

    theta_k ~ Beta(S_k + alpha_0, F_k + beta_0);    every round S_k <- gamma S_k + success, F_k <- gamma F_k + failure

for the arm played, and for all others the same without the new trial: at decision t the trial of round s weighs
gamma^(t - 1 - s). The prior does not fade. A reward inside the declared range becomes a success with the probability of
its place in it (see `thompson.py`).

| symbol | field | |
|---|---|---|
| gamma | gamma | what is left of a weight after one round; 1 / (1 - gamma) rounds are remembered |
| alpha_0, beta_0 | alpha0, beta0 | the prior; uniform by default |
| S_k, F_k | successes, failures over discount.growth | discounted trials, see `numerics/discount.py` |

Raj & Kalyani, *Taming non-stationary bandits: a Bayesian approach*, arXiv 1707.09727, 2017.
Known in advance: the reward range, and a discount fit for the drift.
Regret: none proven for Beta posteriors.
Late rewards enter by their decision's round: they weigh as if they had come in time.

Every arm is drawn. The shortcut of `families/multi_armed/beta_thompson.py` needs the constants of all densities, which
change here every round: with few arms or a short memory it was slower (measured).
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import beta
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole
from driftwise.core.verbs import register
from driftwise.families.multi_armed.beta_thompson import summarise_beta, trial
from driftwise.numerics.discount import Discount, fade, new_discount, weight


class DiscountedThompsonState(NamedTuple):
    """What is kept of successes and failures; `range` holds the lowest reward and the span."""

    discount: Discount
    successes: PerArm
    failures: PerArm
    range: Shared


class DiscountedThompson(NamedTuple):
    """Beta posterior sampling over a memory that fades.

    Parameters
    ----------
    gamma : float
        What is left of a weight after one round: small follows faster, close to one is steadier.
    alpha0, beta0 : float
        Successes and failures believed in before any reward, and again when all is forgotten.

    >>> DiscountedThompson(gamma=0.99)
    DiscountedThompson(gamma=0.99, alpha0=1.0, beta0=1.0)
    """

    gamma: float = 0.999
    alpha0: float = 1.0
    beta0: float = 1.0

    def init(self, problem: Problem) -> DiscountedThompsonState:
        """The prior for every arm."""
        number("gamma", self.gamma, above=0.0, below=1.0, closed="]")
        number("alpha0", self.alpha0, above=0.0)
        number("beta0", self.beta0, above=0.0)
        n_arms = whole("n_arms", problem.n_arms)
        low, span = bounded_range("discounted-thompson", problem.low, problem.high)
        return DiscountedThompsonState(
            discount=new_discount(),
            successes=np.zeros(n_arms),
            failures=np.zeros(n_arms),
            range=np.array([low, span]),
        )


@kernel
def _advance(policy: DiscountedThompson, state: DiscountedThompsonState, t: int, rng: Any) -> None:
    shrink = fade(state.discount, policy.gamma, t)
    if shrink < 1.0:
        for k in range(len(state.successes)):
            state.successes[k] *= shrink
            state.failures[k] *= shrink


@kernel
def _select(
    policy: DiscountedThompson, state: DiscountedThompsonState, t: int, context: Any, rng: Any
) -> tuple[int, float]:
    scale = 1.0 / state.discount.growth[0]
    winner, top = 0, -1.0
    for k in range(len(state.successes)):
        a, b = policy.alpha0 + state.successes[k] * scale, policy.beta0 + state.failures[k] * scale
        theta, rng = beta(a, b, rng)
        if theta > top:
            winner, top = k, theta
    return winner, np.nan


@kernel
def _update(
    policy: DiscountedThompson, state: DiscountedThompsonState, decision: Decision, outcome: Outcome, now: int
) -> None:
    _advance(policy, state, now + 1, decision.rng)
    arm, share = decision.action, weight(state.discount, policy.gamma, decision.t + 1)
    success = trial(outcome.reward, state.range[0], state.range[1], decision.rng)
    state.successes[arm] += share * success
    state.failures[arm] += share * (1.0 - success)


@kernel
def _summarise(policy: DiscountedThompson, state: DiscountedThompsonState, t: int, context: Any, out: Summary) -> None:
    clear_summary(out)
    scale = 1.0 / state.discount.growth[0]
    for arm in range(len(state.successes)):
        wins, losses = state.successes[arm] * scale, state.failures[arm] * scale
        a, b = policy.alpha0 + wins, policy.beta0 + losses
        summarise_beta(out, arm, a, b, wins + losses, state.range[0], state.range[1])


register(
    DiscountedThompson,
    about=About("a discount fit for the drift; the reward range", "none proven", "Raj & Kalyani 2017"),
    advance=_advance,
    select=_select,
    update=_update,
    summarise=_summarise,
)
