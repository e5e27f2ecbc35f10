"""Sliding-window online Whittle policy: indices of the most hopeful transitions that the last `window` episodes allow.

    ball of (s, a)   |P - frequencies|_1 <= d,  and no move that cannot happen
        Z1           d1 = sqrt( size1 / C )                  stationary rows; C: times seen, over all episodes
        Z2           d2 = sqrt( size2 / C ) + slack          drifting rows; C: over the last w_n episodes
    charge           lambda: the M-th largest index in the last slot of the episode before, 0 at first and at least
    index_n          Whittle's index of arm n's state under the transitions in the ball worth most at this charge, (15)

    conf         size_i                                      slack         a row never seen
    calibrated   scale                                       0             counts as seen once
    literal      2 S ln(2 |Z_i| N T / eta_i), eq. (13)       w_n eps_n     may go anywhere
    certain      0                                           0             is spread evenly

The M arms with the largest indices are activated, of equal ones those with the lowest numbers.

| symbol | field | |
|---|---|---|
| w_n | window | episodes remembered of rows that drift; 0: eps_n^(-2/3), type by type, as Theorem 2 has it |
| eps_n | epsilon | the most a row moves from one episode to the next, where `transitions` has no `drift` for its type |
| eta_1, eta_2 | eta1, eta2 | how often a ball may miss |
| | conf, scale | which radius, as above |
| | pooled | 1: arms of a type share their counts; 0: each has its own |
| | every | slots from plan to plan, and what counts as an episode where arms have none; 0: plan once an episode |
| S, N, T, Z_i | | states, arms, episodes, and the pairs of each kind that an arm of this type has, from the problem |

Shisher, Tripathi, Chiang & Brinton, *Online learning of Whittle indices for restless bandits with non-stationary
transition kernels*, Algorithm 1. Known in advance: eps, the number of episodes, which moves can happen, and which rows
are known, stand still or drift. Regret, up to logarithms: O(T^(1 - k/3)) for eps = T^-k (Theorem 2), by the literal
radius. Where no number of episodes is known, T counts the episodes so far.

Deviation: the default is not the paper's Algorithm 1. By (13) the balls stay so wide that indices mean little for
hundreds of episodes, and the policy loses to taking turns. A small radius, counts pooled by type, and a plan every few
slots that takes in what was seen since the last one, earn far more; their balls do not cover, and no bound is proven.
`SlidingWhittle.algorithm1` is the paper's.

Late moves enter the episode of their decision; those older than the window count for rows that stand still only. An arm
that is not indexable has for index the charge from which on it stays passive.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import About, Cache, Derived, Floats, Ints, Problem, Scratch, Shared
from driftwise.core.validation import number, one_of, whole
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.families.restless.index_planning import Arms, PlanRoom, arms_of, hopeful_indices, new_plan_room
from driftwise.families.restless.index_policy import (
    count_and_charge,
    rank_by_index,
    select_by_index,
    summarise_by_index,
    time_to_plan,
)
from driftwise.families.restless.structure import DRIFTING, STATIONARY, RestlessStructure, restless_problem
from driftwise.families.restless.transitions.counts import new_counts
from driftwise.families.restless.transitions.optimistic import VACUOUS, ball_size

CONFS = ("literal", "calibrated", "certain")
ALL, LATELY = 0, 1  # the two views
MAX_WINDOW = 10**4
ROUNDING = 1e-9  # below a whole number of episodes


class SlidingWhittleState(NamedTuple):
    """What was counted, the charge, and the index of every state of every group: an arm, or a type where pooled.

    `classes` has the type of each group. By type: `pairs`, how many pairs are known, stationary and drifting; `slacks`,
    w eps. `laws` holds N, the number of episodes (0 when it is not known), the size of a ball (-1: literal), and the
    radius of a row that was never seen.
    """

    counts: Any
    table: Cache
    classes: Cache
    arms: Arms
    charge: Shared
    pairs: Cache
    slacks: Derived
    laws: Derived
    fresh: Cache
    costs: Cache
    indices: Scratch
    spare: Scratch
    chosen: Scratch
    room: PlanRoom


class SlidingWhittle(NamedTuple):
    """Whittle indices under the most hopeful transitions of a window.

    Parameters
    ----------
    window : int
        Episodes remembered of rows that drift; 0 takes Theorem 2's, by the drift of each type.
    epsilon : float
        The most a row moves from one episode to the next, where the problem does not say.
    eta1, eta2 : float
        How often a literal ball of a stationary, and of a drifting row may miss.
    conf : str
        `calibrated`, `literal` or `certain`.
    scale : float
        Of the calibrated radius.
    pooled : int
        1 where arms of a type share their counts.
    every : int
        Slots from plan to plan, and those that count as an episode where arms have none; 0 plans once an episode.

    >>> SlidingWhittle.algorithm1(episodes=50, epsilon=0.05).window
    7
    """

    window: int = 7
    epsilon: float = 0.05
    eta1: float = 0.1
    eta2: float = 0.1
    conf: str = "calibrated"
    scale: float = 0.3
    pooled: int = 1
    every: int = 10

    @classmethod
    def algorithm1(cls, episodes: int, epsilon: float) -> "SlidingWhittle":
        """Algorithm 1 by the radii of (13), with the window of Theorem 2; arms must have episodes."""
        window = theorem2_window(number("epsilon", epsilon, above=0.0, below=1.0), whole("episodes", episodes))
        return cls(window=window, epsilon=epsilon, conf="literal", pooled=0, every=0)

    def windows(self, structure: RestlessStructure, episodes: int) -> Ints:
        """The window of every type."""
        window, drifts = whole("window", self.window, low=0, high=MAX_WINDOW), self.drifts(structure)
        if window:
            return np.full(len(drifts), window)
        return np.array([theorem2_window(drift, episodes or MAX_WINDOW) for drift in drifts])

    def drifts(self, structure: RestlessStructure) -> Floats:
        """The most that a row of every type moves from one episode to the next."""
        epsilon = number("epsilon", self.epsilon, above=0.0, below=2.0, closed="[]")
        return np.where(structure.drift >= 0.0, structure.drift, epsilon)

    def begins_anew(self, before: Problem, after: Problem) -> bool:
        """Where another horizon asks for other windows."""
        one, other = (self.windows(each.structure, self.episodes(each)) for each in (before, after))
        return bool((one != other).any())

    def episodes(self, problem: Problem) -> int:
        """How many there will be; 0 where nobody knows."""
        return int(problem.horizon // self.period(problem.structure))

    def period(self, structure: RestlessStructure) -> int:
        """The slots of an episode."""
        every = whole("every", self.every, low=0, high=10**9)
        if not structure.episode[0] and not every:
            raise ParameterError(
                "every=0 plans once an episode, and these arms have none: set every, or episode_length"
            )
        return int(structure.episode[0]) or every

    def init(self, problem: Problem) -> SlidingWhittleState:
        """Nothing seen."""
        n_arms, active, structure = restless_problem("sliding-whittle", problem)
        for name in ("eta1", "eta2"):
            number(name, getattr(self, name), above=0.0, below=1.0)
        literal = one_of("conf", self.conf, CONFS) == "literal"
        size = number("scale", self.scale, above=0.0) * (self.conf == "calibrated")
        pooled = bool(whole("pooled", self.pooled, low=0, high=1))
        n_classes, n_states = structure.rewards.shape
        windows = self.windows(structure, self.episodes(problem))
        groups, classes = (
            (structure.classes, np.arange(n_classes)) if pooled else (np.arange(n_arms), structure.classes)
        )
        sizes = np.stack([np.zeros(len(classes), np.int64), windows[classes]], axis=1)
        laws = (n_arms, self.episodes(problem), -1.0 if literal else size, VACUOUS if literal else math.sqrt(size))
        return SlidingWhittleState(
            counts=new_counts(groups, len(classes), n_states, sizes, self.period(structure), pooled=pooled),
            table=np.zeros((len(classes), n_states)),
            classes=classes.copy(),
            arms=arms_of(structure),
            charge=np.zeros(1),
            pairs=np.stack([(structure.kinds == kind).sum(axis=(1, 2)) for kind in range(3)], axis=1),
            slacks=windows * self.drifts(structure) * literal,
            laws=np.array(laws, np.float64),
            fresh=np.ones(1, np.int64),
            costs=structure.costs.copy(),
            indices=np.zeros(n_arms),
            spare=np.zeros(n_arms),
            chosen=np.zeros(active, np.int64),
            room=new_plan_room(n_states),
        )


def theorem2_window(epsilon: float, episodes: int) -> int:
    """T^min(2k/3, 1) for eps = T^-k, that is eps^(-2/3), at most T; T where nothing drifts."""
    longest = min(episodes, MAX_WINDOW)
    if epsilon <= longest**-1.5:
        return longest
    return max(1, int(epsilon ** (-2.0 / 3.0) + ROUNDING))


@kernel
def _advance(policy: SlidingWhittle, state: SlidingWhittleState, t: int, rng: Any) -> None:
    due = time_to_plan(state, t)
    if due or (policy.every > 0 and t % policy.every == 0):
        _plan(policy, state)


@kernel(inline=False)
def _plan(policy: SlidingWhittle, state: SlidingWhittleState) -> None:
    """The indices of every group under the most hopeful transitions of its ball."""
    counts, room, kinds = state.counts, state.room, state.arms.kinds
    for group in range(len(state.table)):
        own = state.classes[group]
        for action in range(2):
            for here in range(len(room.values)):
                view = LATELY if kinds[own, action, here] == DRIFTING else ALL
                for there in range(len(room.values)):
                    now = counts.current[group, action, here, there]
                    room.counts[action, here, there] = counts.views[group, view, action, here, there] + now
        stationary, drifting = ball_sizes(policy, state, own)
        sizes, slacks = (0.0, stationary, drifting), (0.0, 0.0, state.slacks[own])
        hopeful_indices(room, state.arms, own, sizes, slacks, state.laws[3], state.charge[0], state.table[group])


@kernel
def ball_sizes(policy: SlidingWhittle, state: SlidingWhittleState, own: int) -> tuple[float, float]:
    """What a squared radius is before it is divided by the count: of stationary and of drifting pairs of a type."""
    n_arms, known_episodes, size = state.laws[0], state.laws[1], state.laws[2]
    if size >= 0.0:
        return size, size
    n_states, pairs = len(state.room.values), state.pairs[own]
    episodes = int(max(2.0, known_episodes if known_episodes > 0.0 else state.counts.episode[0] + 1.0))
    return (
        ball_size(n_states, pairs[STATIONARY], int(n_arms), episodes, policy.eta1),
        ball_size(n_states, pairs[DRIFTING], int(n_arms), episodes, policy.eta2),
    )


register(
    SlidingWhittle,
    about=About(
        "which rows drift; for the literal radius the drift per episode",
        "O(T^(1 - k/3)) for a drift of T^-k by the literal radius; none for the default",
        "Shisher, Tripathi, Chiang & Brinton 2025",
        family="restless",
        learns_rewards=False,
    ),
    advance=_advance,
    select=select_by_index,
    update=count_and_charge,
    rank=rank_by_index,
    summarise=summarise_by_index,
)
