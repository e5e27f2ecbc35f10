"""Myopic: the arms that gain most by being activated in the very next slot, by the rewards seen so far.

    index_n = m(1) - m(0) - c_n        m(a): mean reward of the slot, for arms of this class and state under action a
    m = ( m0 + sum of w_i r_i ) / ( 1 + sum of w_i ),        w_i = fade^(slots since)

r_i are the rewards of all arms of the class that were seen in this state under this action. Where nothing was seen yet,
m is m0: the mean over the states that can follow, all alike, plus what activating earns besides. It weighs as much as
one reward. Rows that are known need no estimate, and rows that are known to stay the same do not fade. Nothing is ever
tried for the sake of learning, and the states that a choice leads to count for nothing: what an index policy adds is
seen against this.

| symbol | field | |
|---|---|---|
| fade | fade | what is left of a reward's weight after one slot; 1 never forgets |
| c_n | | cost of activating an arm, from the problem |

Known in advance: which transitions can happen, if anything; a fade fit for the drift. Regret: none proven.
A late reward weighs as if it had come in time. Of equal indices the lowest arms win. The greedy rule of many papers on
restless arms, which let it know the transitions; this one has to learn.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Cache, Decision, Floats, Ints, Moves, PerClass, Problem, Scratch, Shared
from driftwise.core.validation import number
from driftwise.core.verbs import register
from driftwise.families.restless.structure import DRIFTING, KNOWN, restless_problem
from driftwise.families.restless.top_m import floor_of, leave_out_below, top_arms


class MyopicState(NamedTuple):
    """By class, action and state: the weighted sum of rewards, and its weight, both as of slot `clock`.

    `means` are the known ones, or those to start from; `kinds` says which. `classes` and `costs` are those of the arms.
    """

    sums: PerClass
    weights: PerClass
    clock: Shared
    means: Cache
    kinds: Cache
    classes: Cache
    costs: Cache
    floor: Shared
    chosen: Scratch
    room: Scratch


class Myopic(NamedTuple):
    """The arms whose next reward gains most.

    Parameters
    ----------
    fade : float
        What is left of a reward's weight after one slot, in (0, 1].

    >>> Myopic(fade=0.99)
    Myopic(fade=0.99)
    """

    fade: float = 0.999

    def init(self, problem: Problem) -> MyopicState:
        """All transitions that can happen are alike."""
        number("fade", self.fade, above=0.0, below=1.0, closed="]")
        n_arms, size, structure = restless_problem("myopic", problem)
        shape = structure.kinds.shape
        even = structure.support / structure.support.sum(axis=-1, keepdims=True)
        rows = np.where((structure.kinds == KNOWN)[..., None], structure.known, even)
        means = np.einsum("casj,cj->cas", rows, structure.rewards)
        means[:, 1] += structure.activation_rewards
        return MyopicState(
            sums=np.zeros(shape),
            weights=np.zeros(shape),
            clock=np.zeros(1, np.int64),
            means=means,
            kinds=structure.kinds.copy(),
            classes=structure.classes.copy(),
            costs=structure.costs.copy(),
            floor=floor_of(structure),
            chosen=np.zeros(size, np.int64),
            room=np.zeros((2, n_arms)),
        )


@kernel
def _advance(policy: Myopic, state: MyopicState, t: int, rng: Any) -> None:
    passed = t - state.clock[0]
    if passed <= 0:
        return
    state.clock[0] = t
    left = policy.fade if passed == 1 else policy.fade**passed  # a power costs more than all the rest
    for own in range(state.kinds.shape[0]):
        for action in range(2):
            for here in range(state.kinds.shape[2]):
                if state.kinds[own, action, here] == DRIFTING:
                    state.sums[own, action, here] *= left
                    state.weights[own, action, here] *= left


@kernel
def _mean(state: MyopicState, own: int, action: int, here: int) -> float:
    total = state.means[own, action, here] + state.sums[own, action, here]
    return float(total / (1.0 + state.weights[own, action, here]))


@kernel
def _rank(policy: Myopic, state: MyopicState, t: int, context: Ints, indices: Floats) -> None:
    for arm in range(len(context)):
        own, here = state.classes[arm], context[arm]
        indices[arm] = _mean(state, own, 1, here) - _mean(state, own, 0, here) - state.costs[arm]


@kernel
def _select(policy: Myopic, state: MyopicState, t: int, context: Ints, rng: Any) -> tuple[Ints, float]:
    _rank(policy, state, t, context, state.room[0])
    top_arms(state.room[0], state.room[1], state.chosen)
    leave_out_below(state.floor[0], state.room[0], state.chosen)
    return state.chosen, 1.0


@kernel
def _update(policy: Myopic, state: MyopicState, decision: Decision, outcome: Moves, now: int) -> None:
    place, late = 0, state.clock[0] - decision.t
    faded = policy.fade**late if late > 0 else 1.0
    for arm in range(len(decision.context)):
        action = 0
        if place < len(decision.action) and decision.action[place] == arm:
            action = 1
            place += 1
        here, own = decision.context[arm], state.classes[arm]
        if here < 0 or outcome.states[arm] < 0 or state.kinds[own, action, here] == KNOWN:
            continue
        weight = faded if state.kinds[own, action, here] == DRIFTING else 1.0
        state.sums[own, action, here] += weight * outcome.rewards[arm]
        state.weights[own, action, here] += weight


@kernel
def _summarise(policy: Myopic, state: MyopicState, t: int, context: Ints, out: Summary) -> None:
    """The estimate is the next reward of an arm that is activated in the state it is in."""
    clear_summary(out)
    _rank(policy, state, t, context, out.index)
    for arm in range(len(context)):
        own, here = state.classes[arm], context[arm]
        out.estimate[arm] = _mean(state, own, 1, here)
        out.count[arm] = state.weights[own, 0, here] + state.weights[own, 1, here]


register(
    Myopic,
    about=About(
        "which transitions can happen; a fade fit for the drift", "none proven", "the greedy rule", family="restless"
    ),
    advance=_advance,
    select=_select,
    update=_update,
    rank=_rank,
    summarise=_summarise,
)
