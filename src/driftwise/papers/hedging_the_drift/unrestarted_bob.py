"""BOB as Remark 2 warns against: EXP3 draws a window for every round, and nothing is ever started over.

    windows J, chances p, weights s        as in `driftwise.families.composite.hedge`, with a block of one round
    index of an arm                        as in (29), over the last w_t rounds of the one history there is
    x = 1/2 + Y / (2 + 4 R sqrt(ln T))     what a round is worth that paid Y; (26) with H = 1

For arms, with the windows of (30). It serves one comparison; use `BanditOverBandit` for anything else.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import branch
from driftwise.core.types import About, Decision, Floats, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import whole
from driftwise.core.verbs import register
from driftwise.families.composite.hedge import Hedge, credit, new_hedge, pick, plan


class UnrestartedBOBState(NamedTuple):
    """The windows; the last rounds (arm, reward) in a ring; counts and sums per arm (a row) and window; R and T."""

    hedge: Hedge
    arms: Shared
    rewards: Shared
    counts: PerArm
    sums: PerArm
    facts: Shared


class UnrestartedBOB(NamedTuple):
    """A window for every round, drawn by EXP3, on a history that is never forgotten."""

    def init(self, problem: Problem) -> UnrestartedBOBState:
        """Nothing tried."""
        n_arms, horizon = whole("n_arms", problem.n_arms), whole("horizon", problem.horizon)
        longest = max(1, math.floor(math.sqrt(n_arms * horizon)))
        hedge = new_hedge(longest)
        plan.function(hedge, longest, longest * horizon, 1)  # as many draws as there are rounds
        many = int(hedge.used[0])
        return UnrestartedBOBState(
            hedge=hedge,
            arms=np.zeros(longest + 1, np.int64),
            rewards=np.zeros(longest + 1),
            counts=np.zeros((n_arms, many)),
            sums=np.zeros((n_arms, many)),
            facts=np.array([0.5 * problem.span, float(horizon)]),
        )


@kernel
def _advance(policy: UnrestartedBOB, state: UnrestartedBOBState, t: int, rng: Any) -> None:
    pick(state.hedge, branch(branch(rng)))


@kernel
def _select(policy: UnrestartedBOB, state: UnrestartedBOBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    drawn, n_arms = state.hedge.chosen[0], len(state.counts)
    radius = state.facts[0] * math.sqrt(2.0 * math.log(2.0 * n_arms * state.facts[1] * state.facts[1]))
    best, top = 0, -math.inf
    for arm in range(n_arms):
        count = state.counts[arm, drawn]
        index = state.sums[arm, drawn] / count + radius / math.sqrt(count) if count > 0 else math.inf
        if index > top:
            best, top = arm, index
    return best, 1.0


@kernel
def _update(policy: UnrestartedBOB, state: UnrestartedBOBState, decision: Decision, outcome: Outcome, now: int) -> None:
    t, arm, size = decision.t, decision.action, len(state.arms)
    allowance = 4.0 * state.facts[0] * math.sqrt(math.log(state.facts[1]))
    credit(state.hedge, 0.5 + outcome.reward / (2.0 + allowance))
    state.arms[t % size], state.rewards[t % size] = arm, outcome.reward
    for j in range(state.hedge.used[0]):
        _count(state.counts, state.sums, j, arm, outcome.reward, 1.0)
        old = t - state.hedge.windows[j]
        if old >= 0:
            _count(state.counts, state.sums, j, state.arms[old % size], state.rewards[old % size], -1.0)


@kernel
def _count(counts: Floats, sums: Floats, window: int, arm: int, reward: float, sign: float) -> None:
    counts[arm, window] += sign
    sums[arm, window] = sums[arm, window] + sign * reward if counts[arm, window] > 0 else 0.0


register(
    UnrestartedBOB,
    about=About("the horizon; the noise", "none", "Cheung, Simchi-Levi & Zhu 2022, Remark 2"),
    advance=_advance,
    select=_select,
    update=_update,
)
