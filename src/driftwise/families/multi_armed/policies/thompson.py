"""Thompson sampling with Beta posteriors: draw a mean for every arm from what is believed, play the largest.

    theta_k ~ Beta(S_k + 1, F_k + 1)

A reward in the declared range that is neither its lowest nor its highest value becomes a success with the
probability of its place in the range (Agrawal & Goyal's Bernoulli trial), from a stream that belongs to the decision.

| symbol | field | |
|---|---|---|
| S_k | successes | successes of arm k |
| S_k + F_k | trials | rewards seen of arm k |

Thompson, *Biometrika* 1933; Agrawal & Goyal, COLT 2012.
Known in advance: the reward range. Regret: O(sqrt(K T log T)) without drift; linear in T with it.
The winner's law is exactly that of K Beta draws; see `families/multi_armed/beta_thompson.py` for how it costs less.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import bounded_range, whole
from driftwise.core.verbs import register
from driftwise.families.multi_armed.beta_thompson import log_height, race, summarise_beta, trial


class ThompsonState(NamedTuple):
    """Successes and trials over all history; `range` holds the lowest reward and the span."""

    successes: PerArm
    trials: PerArm
    heights: PerArm
    range: Shared


class Thompson(NamedTuple):
    """Beta posterior sampling over all history.

    >>> Thompson()
    Thompson()
    """

    def init(self, problem: Problem) -> ThompsonState:
        """A uniform prior for every arm."""
        n_arms = whole("n_arms", problem.n_arms)
        low, span = bounded_range("thompson", problem.low, problem.high)
        return ThompsonState(
            successes=np.zeros(n_arms),
            trials=np.zeros(n_arms, np.int64),
            heights=np.zeros(n_arms),
            range=np.array([low, span]),
        )


@kernel
def _select(policy: Thompson, state: ThompsonState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return race(state.successes, state.trials, state.heights, 0.0, 0.0, rng), np.nan


@kernel
def _update(policy: Thompson, state: ThompsonState, decision: Decision, outcome: Outcome, now: int) -> None:
    arm = decision.action
    state.successes[arm] += trial(outcome.reward, state.range[0], state.range[1], decision.rng)
    state.trials[arm] += 1
    state.heights[arm] = log_height(state.successes[arm], state.trials[arm])


@kernel
def _summarise(policy: Thompson, state: ThompsonState, t: int, context: Any, out: Summary) -> None:
    clear_summary(out)
    for arm in range(len(state.heights)):
        wins, trials = state.successes[arm], state.trials[arm]
        summarise_beta(out, arm, wins + 1.0, trials - wins + 1.0, trials, state.range[0], state.range[1])


register(
    Thompson,
    about=About(
        "the reward range", "O(sqrt(K T log T)) without drift", "Thompson 1933; Agrawal & Goyal 2012", drifts=False
    ),
    select=_select,
    update=_update,
    summarise=_summarise,
)
