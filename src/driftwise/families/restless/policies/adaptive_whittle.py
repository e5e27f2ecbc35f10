"""Whittle indices while transitions drift, with nothing to tune: windows and borrowing chosen by how well they predict.

    experts       a window of 1, 2, 4, ... 32 or all episodes, and how much a row borrows from rows like it
    expert used   the one that has predicted the moves of this class and action best: least sum of fade^age (-ln p)
    transitions   drawn from what that expert believes, anew at every plan
    index_n       Whittle's index of arm n's state under these, less what its activation costs

All experts predict every move before it is counted, so that choosing one costs nothing. Counts are pooled over the arms
of a class; arms that are all different are classes of one. What rows borrow is in
`families/restless/transitions/pooling.py`. Transitions are *drawn* (Thompson's way): what is borrowed comes from a
Dirichlet distribution with the pooled counts. Where much was seen that changes nothing; a class that was left alone
until its window is empty gets another chance.

| symbol | field | |
|---|---|---|
| | every | slots from plan to plan; where arms have no episodes, also what counts as one |
| fade | fade | what is left of an old loss from episode to episode |

Known in advance: which moves can happen and which rows are known or stand still, if anything. Not how fast transitions
drift, and no radius. Regret: none proven. The setting is that of Shisher, Tripathi, Chiang & Brinton
(`sliding-whittle`); windows, borrowing and draws are driftwise's own.

A plan costs O(S^3) per class. Late moves enter the episode of their decision. An arm that is not
indexable has for index the charge from which on it stays passive. Propensity: 1, given the transitions drawn.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import branch, gamma
from driftwise.core.types import About, Cache, Floats, PerClass, Problem, Scratch
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.restless.index_planning import Arms, PlanRoom, arms_of, indices_of, new_plan_room
from driftwise.families.restless.index_policy import count_outcome, rank_by_index, select_by_index, summarise_by_index
from driftwise.families.restless.structure import DRIFTING, KNOWN, restless_problem
from driftwise.families.restless.transitions.counts import ClassCounts, close_episode, new_counts
from driftwise.families.restless.transitions.pooling import add_to_pool, believed_row, empty_pool

WINDOWS = (1, 2, 4, 8, 16, 32, 0)  # episodes; 0 is all
BORROWS = (0.0, 10.0, 100.0)
TINY = 1e-12  # a draw is never quite 0


class AdaptiveWhittleState(NamedTuple):
    """What was counted, the losses of every expert by class and action, the expert used, and the indices.

    `table` has the index of every state of every class. `fresh` is 1 before the first plan.
    """

    counts: ClassCounts
    losses: PerClass
    used: PerClass
    table: Cache
    fresh: Cache
    arms: Arms
    costs: Cache
    indices: Scratch
    spare: Scratch
    chosen: Scratch
    pool: Scratch
    row: Scratch
    room: PlanRoom


class AdaptiveWhittle(NamedTuple):
    """Whittle indices of transitions that are learned while they drift.

    Parameters
    ----------
    every : int
        Slots from plan to plan.
    fade : float
        What is left of a loss from one episode to the next.

    >>> AdaptiveWhittle(every=20)
    AdaptiveWhittle(every=20, fade=0.9)
    """

    every: int = 10
    fade: float = 0.9

    def init(self, problem: Problem) -> AdaptiveWhittleState:
        """Nothing seen: rows go where they may, all places alike."""
        n_arms, active, structure = restless_problem("adaptive-whittle", problem)
        every = whole("every", self.every, high=10**9)
        number("fade", self.fade, above=0.0, below=1.0, closed="]")
        n_classes, n_states = structure.rewards.shape
        period = int(structure.episode[0]) or every
        experts = len(WINDOWS) * len(BORROWS)
        return AdaptiveWhittleState(
            counts=new_counts(structure.classes, n_classes, n_states, np.array(WINDOWS), period, pooled=True),
            losses=np.zeros((n_classes, 2, experts)),
            used=np.full((n_classes, 2), experts - 1, np.int64),
            table=np.zeros((n_classes, n_states)),
            fresh=np.ones(1, np.int64),
            arms=arms_of(structure),
            costs=structure.costs.copy(),
            indices=np.zeros(n_arms),
            spare=np.zeros(n_arms),
            chosen=np.zeros(active, np.int64),
            pool=np.zeros((n_states + 1, n_states)),
            row=np.zeros(n_states),
            room=new_plan_room(n_states),
        )


@kernel
def _advance(policy: AdaptiveWhittle, state: AdaptiveWhittleState, t: int, rng: Any) -> None:
    """Come to slot `t`: close episodes that have ended, and plan when it is time."""
    episode = t // state.counts.period[0]
    ended = state.counts.episode[0] < episode
    while state.counts.episode[0] < episode:
        _score(policy, state)
        close_episode(state.counts)
    if ended or state.fresh[0] or t % policy.every == 0:
        _plan(state, branch(branch(rng)))
        state.fresh[0] = 0


@kernel(inline=False)
def _score(policy: AdaptiveWhittle, state: AdaptiveWhittleState) -> None:
    """Charge every expert for the episode that ends, and use the best from now on."""
    for own in range(len(state.table)):
        for action in range(2):
            best, least = 0, np.inf
            for expert in range(state.losses.shape[2]):
                window, borrow = expert % len(WINDOWS), BORROWS[expert // len(WINDOWS)]
                loss = _loss(state, own, action, window, borrow)
                state.losses[own, action, expert] = policy.fade * state.losses[own, action, expert] + loss
                if state.losses[own, action, expert] <= least:
                    best, least = expert, state.losses[own, action, expert]
            state.used[own, action] = best


@kernel(inline=False)
def _loss(state: AdaptiveWhittleState, own: int, action: int, window: int, borrow: float) -> float:
    """Minus the logarithm of the chance that an expert gave to what happened in this episode."""
    arms, now, loss = state.arms, state.counts.current[own, action], 0.0
    views = state.counts.views[own, window, action]
    _fill_pool(state, own, action, views, views)
    for here in range(len(now)):
        seen = 0.0
        for there in range(len(now)):
            seen += now[here, there]
        if seen == 0.0 or arms.kinds[own, action, here] == KNOWN:
            continue
        believed_row(state.pool, arms.allowed[own, action, here], views[here], borrow, state.row)
        for there in range(len(now)):
            if now[here, there] > 0.0:
                loss -= now[here, there] * math.log(max(TINY, state.row[there]))
    return loss


@kernel
def _fill_pool(state: AdaptiveWhittleState, own: int, action: int, drifting: Floats, lasting: Floats) -> None:
    """Pool the rows of an action: those that drift by their counts in one window, those that stand still in another."""
    arms = state.arms
    empty_pool(state.pool)
    for here in range(len(drifting)):
        kind, allowed = arms.kinds[own, action, here], arms.allowed[own, action, here]
        if kind != KNOWN:
            add_to_pool(state.pool, allowed, drifting[here] if kind == DRIFTING else lasting[here])


@kernel(inline=False)
def _plan(state: AdaptiveWhittleState, rng: Any) -> None:
    """Draw transitions for every class, and look up their indices."""
    arms, room = state.arms, state.room
    for own in range(len(state.table)):
        for action in range(2):
            rng = _draw_row(state, own, action, rng)
        indices_of(room, arms, own, room.transitions, state.table[own])


@kernel(inline=False)
def _draw_row(state: AdaptiveWhittleState, own: int, action: int, rng: Any) -> Any:
    """What the expert in use believes of an action, with what is borrowed drawn at random; the stream moved on."""
    arms, room, counts, expert = state.arms, state.room, state.counts, state.used[own, action]
    borrow, everything = BORROWS[expert // len(WINDOWS)], len(WINDOWS) - 1
    for here in range(len(room.values)):
        kind = arms.kinds[own, action, here]
        view = expert % len(WINDOWS) if kind == DRIFTING else everything
        for there in range(len(room.values)):
            now = counts.current[own, action, here, there]
            room.counts[action, here, there] = counts.views[own, view, action, here, there] + now
    _fill_pool(state, own, action, room.counts[action], room.counts[action])
    for places in range(len(state.pool)):
        for k in range(places):
            drawn, rng = gamma(state.pool[places, k], rng)
            state.pool[places, k] = max(TINY, drawn)
    for here in range(len(room.values)):
        if arms.kinds[own, action, here] == KNOWN:
            for there in range(len(room.values)):
                room.transitions[action, here, there] = arms.known[own, action, here, there]
        else:
            allowed, seen = arms.allowed[own, action, here], room.counts[action, here]
            believed_row(state.pool, allowed, seen, borrow, room.transitions[action, here])
    return rng


register(
    AdaptiveWhittle,
    about=About(
        "which moves can happen, if anything", "none proven", "driftwise", family="restless", learns_rewards=False
    ),
    advance=_advance,
    select=select_by_index,
    update=count_outcome,
    rank=rank_by_index,
    summarise=summarise_by_index,
)
