"""WIQL: Q-learning for every arm by itself; the index of a state is what activating is worth more than not.

    Q_n(s, a) += alpha ( r - c_n a + discount max_b Q_n(s', b) - Q_n(s, a) )        after every slot, for every arm n
    index_n = Q_n(s_n, 1) - Q_n(s_n, 0)

With chance eps any M arms are activated, else those with the largest indices, of equal ones the lowest numbers.

| symbol | field | |
|---|---|---|
| alpha | step | the step; 0 takes 1 / (n + 1), n how often the pair (s, a) of this arm was seen |
| eps | | N / (N + e), e the episode, counted from 1; the slot, where there are no episodes |
| | by_slot | 1 takes the slot for e in any case |
| r, c_n | | what the arm itself earned, and its cost of activation |
| discount | | from the problem |

Biswas, Aggarwal, Varakantham & Tambe, *Learn to intervene: an adaptive learning policy for restless bandits in
application to preventive healthcare*, IJCAI 2021: `WIQL.as_published()`, with step = 0 and by_slot = 1.
Deviation: a constant step, and exploration that fades by the episode, are the default. With them, and only with them,
the numbers come out that Shisher et al. published for WIQL; and a step that does not fade follows a drift.
Known in advance: the states of the arms, nothing of how they move. Regret: none proven.
A late outcome counts when it comes. Propensity: exact.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import uniform
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Cache, Decision, Derived, Floats, Ints, Moves, PerArm, Problem, Scratch, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.restless.random_subset import chance_of_set, draw_arms
from driftwise.families.restless.structure import restless_problem
from driftwise.families.restless.top_m import floor_of, leave_out_below, top_arms


class WIQLState(NamedTuple):
    """Q by arm, state and action, and how often each was seen; what activating costs, the discount, the episode.

    `greedy` has room for the arms of the largest indices, `room` for the indices themselves, twice.
    """

    values: PerArm
    counts: PerArm
    costs: Cache
    discount: Shared
    episode: Shared
    chance: Derived
    floor: Shared
    chosen: Scratch
    greedy: Scratch
    room: Scratch


class WIQL(NamedTuple):
    """Q-learning for every arm, and the arms that gain most by being activated.

    Parameters
    ----------
    step : float
        Of Q-learning, in [0, 1]; 0 takes 1 / (n + 1).
    by_slot : int
        1 lets exploration fade by the slot, 0 by the episode.

    >>> WIQL.as_published()
    WIQL(step=0.0, by_slot=1)
    """

    step: float = 0.1
    by_slot: int = 0

    @classmethod
    def as_published(cls) -> "WIQL":
        """Steps and exploration as Biswas et al. have them."""
        return cls(step=0.0, by_slot=1)

    def init(self, problem: Problem) -> WIQLState:
        """Nothing learned: all indices are 0."""
        number("step", self.step, above=0.0, below=1.0, closed="[]")
        whole("by_slot", self.by_slot, low=0, high=1)
        n_arms, size, structure = restless_problem("wiql", problem)
        n_states = structure.rewards.shape[1]
        return WIQLState(
            values=np.zeros((n_arms, n_states, 2)),
            counts=np.zeros((n_arms, n_states, 2), np.int64),
            costs=structure.costs.copy(),
            discount=structure.discount.copy(),
            episode=np.array([1 if self.by_slot else max(1, structure.episode[0])], np.int64),
            chance=np.array([chance_of_set(n_arms, size)]),
            floor=floor_of(structure),
            chosen=np.zeros(size, np.int64),
            greedy=np.zeros(size, np.int64),
            room=np.zeros((2, n_arms)),
        )


@kernel
def _rank(policy: WIQL, state: WIQLState, t: int, context: Ints, indices: Floats) -> None:
    for arm in range(len(context)):
        both = state.values[arm, context[arm]]
        indices[arm] = both[1] - both[0]


@kernel
def _select(policy: WIQL, state: WIQLState, t: int, context: Ints, rng: Any) -> tuple[Ints, float]:
    n_arms = len(context)
    explores = n_arms / (n_arms + t // state.episode[0] + 1.0)
    _rank(policy, state, t, context, state.room[0])
    top_arms(state.room[0], state.room[1], state.greedy)
    leave_out_below(state.floor[0], state.room[0], state.greedy)
    u, rng = uniform(rng)
    if u >= explores:
        drawn = state.chance[0] if state.greedy[-1] >= 0 else 0.0  # as many as may be are drawn, never fewer
        return state.greedy, 1.0 - explores + explores * drawn
    draw_arms(n_arms, state.chosen, rng)
    same = True
    for place in range(len(state.chosen)):
        same &= state.chosen[place] == state.greedy[place]
    return state.chosen, explores * state.chance[0] + (1.0 - explores if same else 0.0)


@kernel
def _update(policy: WIQL, state: WIQLState, decision: Decision, outcome: Moves, now: int) -> None:
    place = 0
    for arm in range(len(decision.context)):
        action = 0
        if place < len(decision.action) and decision.action[place] == arm:
            action = 1
            place += 1
        here, there = decision.context[arm], outcome.states[arm]
        if here < 0 or there < 0:
            continue
        best = max(state.values[arm, there, 0], state.values[arm, there, 1])
        target = outcome.rewards[arm] - state.costs[arm] * action + state.discount[0] * best
        state.counts[arm, here, action] += 1
        step = policy.step if policy.step > 0.0 else 1.0 / (state.counts[arm, here, action] + 1.0)
        state.values[arm, here, action] += step * (target - state.values[arm, here, action])


@kernel
def _summarise(policy: WIQL, state: WIQLState, t: int, context: Ints, out: Summary) -> None:
    """Q is what an arm earns in all, discounted: no estimate of a reward."""
    clear_summary(out)
    _rank(policy, state, t, context, out.index)
    for arm in range(len(context)):
        out.count[arm] = state.counts[arm, context[arm], 0] + state.counts[arm, context[arm], 1]


register(
    WIQL,
    about=About("the states of the arms", "none proven", "Biswas et al. 2021", family="restless"),
    select=_select,
    update=_update,
    rank=_rank,
    summarise=_summarise,
)
