"""Sliding-window online Whittle policy: indices of the most hopeful kernels that the last `window` episodes allow.

    ball of (s, a)   |P - frequencies|_1 <= d,  and no move that cannot happen
        stationary   d1 = sqrt( 2 S ln(2 S N T / eta) / C )                    C: times seen, over all episodes
        drifting     d2 = sqrt( 2 S ln(2 S N T / eta) / C ) + w eps            C: over the last w episodes
    index_n          Whittle's index of arm n's state under the kernel in the ball that is worth most, problem (15)

The M arms with the largest indices are activated, of equal ones those with the lowest numbers. Kernels are worked out
once an episode.

| symbol | field | |
|---|---|---|
| w | window | episodes remembered of rows that drift; `theorem2` takes it from eps |
| eps | epsilon | the most a row moves from one episode to the next |
| eta | eta | how often a ball may miss |
| | conf | `literal` as above, equation (13); `calibrated` sqrt(scale / C); `certain` no ball at all |
| | scale | of the calibrated radius |
| | pooled | 1: arms of a class share their counts; 0: each has its own |
| S, N, T | | states, arms and episodes, from the problem |

Shisher, Tripathi, Chiang & Brinton, *Online learning of Whittle indices for restless bandits with non-stationary
transition kernels*, Algorithm 1. Known in advance: eps, the number of episodes, which moves can happen, and which rows
are known, stand still or drift. Regret, up to logarithms: O(T^(1 - k/3)) for eps = T^-k (Theorem 2).

By (13) the balls stay so wide that indices mean little for hundreds of episodes. `calibrated`, a radius some 28 times
smaller, with counts pooled and rows not seen yet spread evenly, comes near the paper's own numbers; its balls do not
cover. Where no number of episodes is known, T counts the episodes so far.

Late moves enter the episode of their decision; those older than the window count for rows that stand
still only. An arm that is not indexable has for index the charge from which on it stays passive.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import About, Cache, Derived, Problem, Scratch
from driftwise.core.validation import number, one_of, whole
from driftwise.core.verbs import register
from driftwise.families.restless.index_planning import Arms, PlanRoom, arms_of, hopeful_indices, new_plan_room
from driftwise.families.restless.index_policy import (
    count_outcome,
    rank_by_index,
    select_by_index,
    summarise_by_index,
    time_to_plan,
)
from driftwise.families.restless.structure import DRIFTING, restless_problem
from driftwise.families.restless.transitions.counts import new_counts
from driftwise.families.restless.transitions.optimistic import VACUOUS, ball_size

CONFS = ("literal", "calibrated", "certain")
ALL, LATELY = 0, 1  # the two views


class SlidingWhittleState(NamedTuple):
    """What was counted, and the index of every state of every group: an arm, or a class where counts are pooled.

    `classes` has the class of each group. `laws` holds S, N, eta, w eps, the size of a calibrated ball, the radius of a
    row that was never seen, and the number of episodes, 0 when it is not known.
    """

    counts: Any
    table: Cache
    classes: Cache
    arms: Arms
    laws: Derived
    fresh: Cache
    costs: Cache
    indices: Scratch
    spare: Scratch
    chosen: Scratch
    room: PlanRoom


class SlidingWhittle(NamedTuple):
    """Whittle indices under the most hopeful kernels of a window.

    Parameters
    ----------
    window : int
        Episodes remembered of rows that drift.
    epsilon : float
        The most a row moves from one episode to the next.
    eta : float
        How often a ball may miss.
    conf : str
        `literal`, `calibrated` or `certain`.
    scale : float
        Of the calibrated radius.
    pooled : int
        1 where arms of a class share their counts.
    every : int
        Slots that count as an episode, where arms have none.

    >>> SlidingWhittle.theorem2(episodes=50, epsilon=0.05).window
    7
    """

    window: int = 7
    epsilon: float = 0.05
    eta: float = 0.1
    conf: str = "literal"
    scale: float = 0.3
    pooled: int = 0
    every: int = 100

    @classmethod
    def theorem2(cls, episodes: int, epsilon: float, **more: Any) -> "SlidingWhittle":
        """The window T^(2k/3) for eps = T^-k, at most T."""
        episodes = whole("episodes", episodes, low=2)
        k = -math.log(number("epsilon", epsilon, above=0.0, below=1.0)) / math.log(episodes)
        return cls(window=max(1, min(episodes, int(episodes ** (2.0 * k / 3.0)))), epsilon=epsilon, **more)

    @classmethod
    def calibrated(cls, window: int = 7, scale: float = 0.3) -> "SlidingWhittle":
        """Small balls, counts pooled."""
        return cls(window=window, conf="calibrated", scale=scale, pooled=1)

    @classmethod
    def certain(cls, window: int = 7) -> "SlidingWhittle":
        """Frequencies taken for the truth, counts pooled."""
        return cls(window=window, conf="certain", pooled=1)

    def init(self, problem: Problem) -> SlidingWhittleState:
        """Nothing seen."""
        n_arms, active, structure = restless_problem("sliding-whittle", problem)
        window = whole("window", self.window, high=10**4)
        number("epsilon", self.epsilon, above=0.0, below=2.0, closed="[]")
        number("eta", self.eta, above=0.0, below=1.0)
        one_of("conf", self.conf, CONFS)
        number("scale", self.scale, above=0.0)
        whole("pooled", self.pooled, low=0, high=1)
        period = int(structure.episode[0]) or whole("every", self.every, high=10**9)
        n_classes, n_states = structure.rewards.shape
        groups = structure.classes if self.pooled else np.arange(n_arms)
        classes = np.arange(n_classes) if self.pooled else structure.classes
        literal = self.conf == "literal"
        slack, size = window * self.epsilon * literal, self.scale * (self.conf == "calibrated")
        unseen = VACUOUS if literal else math.sqrt(size)  # a row never seen counts as seen once
        laws = [n_states, n_arms, self.eta, slack, -1.0 if literal else size, unseen]
        sizes = np.array([0, window])
        return SlidingWhittleState(
            counts=new_counts(groups, len(classes), n_states, sizes, period, pooled=bool(self.pooled)),
            table=np.zeros((len(classes), n_states)),
            classes=classes.copy(),
            arms=arms_of(structure),
            laws=np.array([*laws, problem.horizon // period]),
            fresh=np.ones(1, np.int64),
            costs=structure.costs.copy(),
            indices=np.zeros(n_arms),
            spare=np.zeros(n_arms),
            chosen=np.zeros(active, np.int64),
            room=new_plan_room(n_states),
        )


@kernel
def _advance(policy: SlidingWhittle, state: SlidingWhittleState, t: int, rng: Any) -> None:
    if time_to_plan(state, t):
        _plan(state)


@kernel(inline=False)
def _plan(state: SlidingWhittleState) -> None:
    """The indices of every group under the most hopeful kernel of its ball."""
    counts, room, kinds = state.counts, state.room, state.arms.kinds
    size = _size(state)
    sizes, slacks = (0.0, size, size), (0.0, 0.0, state.laws[3])
    for group in range(len(state.table)):
        own = state.classes[group]
        for action in range(2):
            for here in range(len(room.values)):
                view = LATELY if kinds[own, action, here] == DRIFTING else ALL
                for there in range(len(room.values)):
                    room.counts[action, here, there] = counts.views[group, view, action, here, there]
        hopeful_indices(room, state.arms, own, sizes, slacks, state.laws[5], 0.0, state.table[group])


@kernel
def _size(state: SlidingWhittleState) -> float:
    """What a squared radius is before it is divided by the count."""
    laws = state.laws
    if laws[4] >= 0.0:
        return float(laws[4])
    episodes = laws[6] if laws[6] > 0.0 else state.counts.episode[0] + 1.0
    return ball_size(int(laws[0]), int(laws[0]), int(laws[1]), int(max(2.0, episodes)), laws[2])


register(
    SlidingWhittle,
    about=About(
        "the drift per episode, and which rows drift",
        "O(T^(1 - k/3)) for a drift of T^-k",
        "Shisher, Tripathi, Chiang & Brinton 2025",
        family="restless",
        learns_rewards=False,
    ),
    advance=_advance,
    select=select_by_index,
    update=count_outcome,
    rank=rank_by_index,
    summarise=summarise_by_index,
)
