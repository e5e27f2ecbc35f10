"""Worlds of arms that move on their own: M of N are activated in a slot, and all go to their next states.

    next state of arm n     the first s' with u_{t,n} < P(0) + ... + P(s'),    P the row of its transitions, u uniform
    a slot earns            gamma^h ( sum over arms of r(next state) + what activation earns besides, by the state it is
                            done in, - its costs )        h the slot's place in its episode; gamma is 1 where rewards
                            are not discounted

Arms of a class share rewards and transitions, which drift between episodes, never inside. Where arms `restart`, every
episode begins with all of them in their first states. One u for each slot and arm serves whatever was done before: all
policies, and the oracle they are compared with, meet the same luck.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.kernel import kernel
from driftwise.core.random import fill_uniform
from driftwise.core.seeding import generator, key
from driftwise.core.types import Floats, Ints, Moves, Problem
from driftwise.core.validation import cast_fields, number, one_of, whole
from driftwise.core.verbs import register
from driftwise.errors import ArmError, ParameterError
from driftwise.families.restless.structure import (
    KNOWLEDGE,
    RestlessStructure,
    checked_rows,
    reward_range,
    with_knowledge,
)
from driftwise.families.restless.top_m import NOBODY
from driftwise.families.restless.worlds.wandering import DRIFTS, Wandering, abrupt, seasonal, walk
from driftwise.measure.base_world import BaseWorld
from driftwise.measure.levels import BLOCK, BLOCK_NUMBERS, Levels, phase_starts
from driftwise.measure.variation import Course


class RestlessTape(NamedTuple):
    """Rounds start .. start + len(noise) - 1, a noise for each arm.

    `levels.table` holds transitions as sums along their rows, by (segment, class, action, state, next state).
    `episode` is 0 where arms never start over, `fade` what is left of a reward from slot to slot.
    """

    start: int
    levels: Levels
    noise: Floats
    classes: Ints
    rewards: Floats
    activation_rewards: Floats
    costs: Floats
    origins: Ints
    episode: int
    fade: float


class Herd(NamedTuple):
    """The states of all arms in this slot, those they go to, and what each earns there."""

    states: Ints
    after: Ints
    rewards: Floats


@kernel
def _observe(tape: RestlessTape, herd: Herd, t: int) -> tuple[Ints, bool]:
    over = tape.episode > 0 and t % tape.episode == 0
    for arm in range(len(herd.states)):
        herd.states[arm] = tape.origins[arm] if over else herd.after[arm]
    return herd.states, True


@kernel
def _respond(tape: RestlessTape, herd: Herd, t: int, action: Ints) -> Moves:
    _check(action, len(herd.states))
    i, place, total = t - tape.start, 0, 0.0
    segment = tape.levels.rows[i]
    for arm in range(len(herd.states)):
        active = 0
        if place < len(action) and action[place] == arm:
            active = 1
            place += 1
            total -= tape.costs[arm]
        own = tape.classes[arm]
        row = tape.levels.table[segment, own, active, herd.states[arm]]
        herd.after[arm] = _first_above(row, tape.noise[i, arm])
        herd.rewards[arm] = tape.rewards[own, herd.after[arm]]
        if active:
            herd.rewards[arm] += tape.activation_rewards[own, herd.states[arm]]
        total += herd.rewards[arm]
    if tape.fade < 1.0:
        total *= tape.fade ** (t % tape.episode)
    return Moves(total, herd.rewards, herd.after)


@kernel
def _first_above(sums: Floats, level: float) -> int:
    """The first place at which sums, which end in 1, exceed a level."""
    low, high = 0, len(sums) - 1
    while low < high:
        middle = (low + high) // 2
        if level < sums[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _check(action: Ints, n_arms: int) -> None:
    for place in range(len(action)):
        if action[place] < NOBODY or action[place] >= n_arms:
            raise ArmError("the policy activated an arm that does not exist")
        if place > 0 and action[place] > NOBODY and (action[place] <= action[place - 1] or action[place - 1] == NOBODY):
            raise ArmError("the policy activated arms out of order, or one twice")


register(RestlessTape, observe=_observe, respond=_respond)


@dataclass(frozen=True, kw_only=True)
class RestlessWorld(BaseWorld):
    """Arms in classes, whose transitions follow from a few numbers that drift; subclasses say which, in plain NumPy.

    Parameters
    ----------
    n_arms, activate : int
        How many arms there are, and how many of them are activated in a slot.
    episode : int
        Slots in an episode: from one to the next, transitions drift.
    restarts : int
        1 where every episode begins with all arms in their first states; 0 where episodes only pace the drift.
    discount : float
        Of rewards from slot to slot: what indices are worked out for.
    discounted : int
        1 where rewards count discounted within their episode, 0 where they just add up.
    drift : str
        `walk`, `abrupt`, `seasonal` or `none`; see `families/restless/worlds/wandering.py`.
    step, upward : float
        Of a walk: how far a number moves between episodes, and with which chance upward.
    phases : int
        Of abrupt drift: stretches without change.
    period : float
        Of seasonal drift: episodes in a season.
    at_most : int
        1 where a policy may activate fewer arms: it leaves those alone whose index is below 0.
    knowledge : str
        What policies know of the transitions: all that the world says (`full`), not which are impossible (`rows`), not
        the known chances (`moves`), or nothing (`none`).
    """

    n_arms: int = 10
    activate: int = 1
    episode: int = 100
    restarts: int = 0
    discount: float = 0.99
    discounted: int = 0
    drift: str = "walk"
    step: float = 0.05
    upward: float = 0.7
    phases: int = 5
    period: float = 20.0
    at_most: int = 0
    knowledge: str = "full"

    def __post_init__(self) -> None:
        cast_fields(self)
        whole("n_arms", self.n_arms, high=10**6)
        whole("activate", self.activate, high=self.n_arms)
        whole("episode", self.episode, high=10**9)
        for name in ("restarts", "discounted", "at_most"):
            whole(name, getattr(self, name), low=0, high=1)
        number("discount", self.discount, above=0.0, below=1.0)
        if self.discounted and not self.restarts:
            raise ParameterError("discounted=1 needs restarts=1: rewards are discounted from the start of an episode")
        one_of("drift", self.drift, DRIFTS)
        one_of("knowledge", self.knowledge, KNOWLEDGE)
        number("step", self.step, above=0.0, below=1.0, closed="]")
        number("upward", self.upward, above=0.0, below=1.0, closed="[]")
        whole("phases", self.phases)
        number("period", self.period, above=0.0)

    # ---- what a world says ----

    @abstractmethod
    def structure(self) -> RestlessStructure:
        """What is known of the arms beforehand."""

    @abstractmethod
    def numbers(self, seed: int) -> Wandering:
        """The numbers that drift."""

    @abstractmethod
    def transitions(self, path: Floats) -> Floats:
        """The transitions for some rows of numbers, with the axes (row, class, action, state, next state)."""

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """What each number is called."""

    def origins(self) -> Ints:
        """The state in which each arm begins."""
        return np.zeros(self.n_arms, np.int64)

    def path(self, episodes: int, seed: int) -> Floats:
        """The numbers of every episode, a row each."""
        numbers, luck = self.numbers(seed), generator(seed, "drift")
        if self.drift == "walk":
            return walk(numbers, episodes, self.step, self.upward, luck)
        if self.drift == "abrupt":
            return abrupt(numbers, episodes, self.phases, luck)
        if self.drift == "seasonal":
            return seasonal(numbers, episodes, self.period, luck)
        return np.repeat(numbers.starts[None], episodes, axis=0)

    def lines(self, path: Floats) -> Floats:
        """What to look at of some rows of numbers, in the order of `labels`."""
        return path

    # ---- what follows from it ----

    @property
    def block(self) -> int:
        """Rounds in a block: fewer where there are many arms, or large transitions."""
        structure = self.structure()
        wide = max(self.n_arms, structure.support.size // self.episode, 1)
        return max(1, min(BLOCK, BLOCK_NUMBERS // wide))

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world; the range is that of what one arm earns in a slot, costs aside."""
        structure = self.structure()
        at_most = np.array([self.at_most], np.int64)
        known = with_knowledge(structure._replace(at_most=at_most), self.knowledge)
        low, high = reward_range(structure)
        return Problem(self.n_arms, low, high, horizon=horizon, slate=self.activate, structure=known, family="restless")

    def episodes(self, horizon: int) -> int:
        """How many episodes a run has; the last may be cut short."""
        return -(-whole("horizon", horizon) // self.episode)

    def changes(self, horizon: int, seed: int) -> list[int]:
        """Rounds at which transitions jump; empty where they only glide."""
        if self.drift != "abrupt":
            return []
        return [start * self.episode for start in phase_starts(self.phases, self.episodes(horizon))]

    def segments(self, horizon: int, seed: int) -> tuple[Floats, Ints]:
        """The rows of numbers that follow each other, without those that repeat the one before; and each episode's."""
        path = self.path(self.episodes(horizon), seed)
        moved = np.append(True, (path[1:] != path[:-1]).any(axis=1))
        which: Ints = np.cumsum(moved) - 1
        return path[moved], which

    def courses(self, horizon: int, seed: int) -> Iterator[Course]:
        """The numbers behind the transitions, in one stretch."""
        path, which = self.segments(horizon, seed)
        yield Course(0, Levels(self.lines(path), which[np.arange(horizon) // self.episode].astype(np.int32)), None)

    def checked(self, path: Floats) -> Floats:
        """The transitions for some rows of numbers; what a world says is checked, as the loop trusts it."""
        transitions = checked_rows(np.ascontiguousarray(self.transitions(path), np.float64))
        expected = (len(path), *self.structure().support.shape)
        if transitions.shape != expected:
            raise ParameterError(f"{type(self).__name__} gave transitions of shape {transitions.shape}, not {expected}")
        return transitions

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[RestlessTape]:
        """The world in blocks of at most `size` rounds: the same rounds, however they are cut."""
        horizon, size = whole("horizon", horizon), whole("size", self.block if size is None else size)
        structure, origins, rng = self.structure(), self.origins(), key(seed, "noise")
        path, which = self.segments(horizon, seed)
        for start in range(0, horizon, size):
            rounds = np.arange(start, min(horizon, start + size))
            rows = which[rounds // self.episode]
            table = sums_of(self.checked(path[rows[0] : rows[-1] + 1]))
            noise = np.empty((len(rounds), self.n_arms))
            fill_uniform(rng, start * self.n_arms, noise.reshape(-1))
            yield RestlessTape(
                start,
                Levels(table, (rows - rows[0]).astype(np.int32)),
                noise,
                structure.classes,
                structure.rewards,
                structure.activation_rewards,
                structure.costs,
                origins,
                self.episode if self.restarts else 0,
                self.discount if self.discounted else 1.0,
            )

    def nature(self, horizon: int = 0) -> Herd:
        """All arms in their first states."""
        origins = self.origins()
        return Herd(origins.copy(), origins, np.zeros(self.n_arms))


def sums_of(transitions: Floats) -> Floats:
    """Transitions as sums along their rows; from the last state that can be reached on they are 1, despite rounding."""
    sums: Floats = np.cumsum(transitions, axis=-1)
    size = transitions.shape[-1]
    last = size - 1 - np.argmax(transitions[..., ::-1] > 0.0, axis=-1)
    sums[np.arange(size) >= last[..., None]] = 1.0
    return sums


def steps(up: Floats, down: Floats, size: int) -> Floats:
    """Transitions one state up or down, or stay: a matrix for each pair of chances; at the ends they stay instead.

    `up` and `down` have any shape; the states are the last two axes of what comes back.
    """
    place = np.arange(size)
    transitions = np.zeros((*np.broadcast(up, down).shape, size, size))
    transitions[..., place[:-1], place[1:]] = np.asarray(up)[..., None]
    transitions[..., place[1:], place[:-1]] = np.asarray(down)[..., None]
    transitions[..., place, place] = 1.0 - transitions.sum(axis=-1)
    return transitions


def near(up: bool, down: bool, size: int) -> NDArray[np.bool_]:
    """The transitions that `steps` can make."""
    return steps(np.array(0.3 * up), np.array(0.3 * down), size) > 0.0


def halves(n_arms: int) -> Ints:
    """Two classes: the first half of the arms, and the rest."""
    return (np.arange(n_arms) >= n_arms // 2).astype(np.int64)
