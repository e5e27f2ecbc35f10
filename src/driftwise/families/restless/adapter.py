"""Restless arms: a decision needs the states of all arms, and names those to activate.

    decide(states={"ana": "lapsed", ...})        or a list, in the order of the arms
    learn(decision, states=..., rewards=...)     where the arms went, likewise, and perhaps what each earned

An arm without a next state teaches nothing; rewards that are not given are those of the states. A policy that
learns from states alone refuses rewards, which it would not learn. Arms may join and leave between a decision and its
outcome: the others go on teaching.

Arms of a type in the same state have the same index. Policies take those with the lowest numbers first, as papers do;
where arms are people the alphabet would decide. So among equals an agent draws lots, unless the problem says
`tie_break="first"`.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.adapter import Adapter, Examples
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import Facts, packed, unpacked
from driftwise.core.family import check_fit
from driftwise.core.seeding import generator
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Ints, Moves, Problem
from driftwise.core.validation import whole
from driftwise.core.verbs import ABOUT, rank
from driftwise.errors import ArmError, MoveError, ParameterError, RewardError, StateError
from driftwise.families.restless.arguments import RestlessNames, arm_of, structure_of, with_arms
from driftwise.families.restless.problem import Restless
from driftwise.families.restless.random_subset import chance_of_set
from driftwise.families.restless.structure import ACTIONS, restless

UNSEEN = -1


@dataclass(frozen=True)
class Ranked:
    """One arm at a decision: its state and index, whether it is to be activated, and why."""

    arm: Any
    state: Any
    index: float
    chosen: bool
    why: str


class Latest(NamedTuple):
    """The latest decision: the states of the arms, their indices, and the places of those to activate."""

    states: Ints
    indices: Floats
    chosen: Ints


class Moved(NamedTuple):
    """What `learn` was given, each by arm or in order; states are numbers already."""

    states: Any
    rewards: Any


class RestlessAdapter(Adapter):
    """Between a program and policies that activate some of many arms."""

    request_fields = ("states",)
    outcome_fields = ("states", "rewards")
    arm_fields = ("arm_type", "activation_cost")
    change_fields = ("horizon", "n_active")
    view_names = ("ranking", "indices")
    quick = False  # a round may plan for thousands of arms
    counts = False
    rank: Callable[..., None]
    state: Any
    context = None

    def __init__(self, policy: Any, problem: Problem, registry: ArmRegistry, words: RestlessNames) -> None:
        super().__init__(policy, problem, registry)
        self.words, self.learns_rewards = words, ABOUT[type(policy)].learns_rewards
        self._places, self._names = words.places, {name: place for place, name in enumerate(registry.names)}
        n_arms = len(registry)
        still = Moves(0.0, np.zeros(n_arms), np.zeros(n_arms, np.int64))
        states = np.zeros(n_arms, np.int64)
        self.examples = Examples(states, np.zeros(problem.slate, np.int64), states, still)
        self.latest: Latest | None = None

    @classmethod
    def of(cls, policy: Any, problem: Restless) -> "RestlessAdapter":
        """The arms of a problem."""
        registry = problem.arm_registry()
        size = whole("n_active", problem.n_active, high=len(registry))
        structure, words = structure_of(problem, registry)
        low, high = float(structure.rewards.min()), float(structure.rewards.max())
        base = Problem(len(registry), low, high, horizon=whole("horizon", problem.horizon, low=0), slate=size)
        base = base._replace(structure=structure, family=problem.kind)
        check_fit(policy, base)
        return cls(policy, base, registry, words)

    def attach(self, bind: Callable[..., Any], policy: Any, state: Any) -> None:
        """Be able to ask the policy for the index of every arm."""
        states = self.examples.row
        kernel = bind(rank, policy, state, 0, states, np.zeros(len(states)))
        self.rank = lambda t, context, indices: kernel(policy, state, t, context, indices)
        self.state = state

    def refine(self, index: Any, propensity: float, context: Any, t: int, rng: Any, outside: bool) -> tuple[Any, float]:
        """Draw lots among arms with equal indices; the decision is kept, for whoever asks why."""
        indices = np.zeros(len(context))
        self.rank(t, context, indices)
        if not outside:
            index, chance = self.by_lot(index, indices, rng)
            if chance != 1.0:  # on top of what a policy drew itself, nobody knows
                propensity = chance if propensity == 1.0 else math.nan
        self.latest = Latest(context.copy(), indices, index.copy())
        return index, propensity

    def views(self) -> Mapping[str, Callable[[int], Any]]:
        """All arms at the latest decision, and the index of each."""
        return {
            "ranking": lambda t: self.ranking(),
            "indices": lambda t: {each.arm: each.index for each in self.ranking()},
        }

    # ---- a decision ----

    def read_request(self, t: int, request: dict[str, Any]) -> Any:
        """The state of every arm."""
        self.check_request(request)
        states = request.get("states")
        if states is None:
            raise MoveError(f"{self.name} must know the states of the arms: decide(states=...)")
        by_index = self._by_place("states", self._checked("states", states), len(self.registry))
        missing = [name for name, place in self._names.items() if place not in by_index]
        if missing:
            raise MoveError(f"states says nothing of the arm {missing[0]!r}: a decision needs them all")
        return np.array([by_index[place] for place in range(len(self.registry))], np.int64)

    def publish(self, place: Any, context: Any) -> tuple[Any, Any, Any]:
        """The names of the arms to activate; of all arms, numbers and states are kept."""
        names, numbers = self.registry.names, self.registry.numbers
        places = place.tolist()
        row = np.stack([np.array(numbers, np.int64), context])
        return tuple(names[each] for each in places), tuple(numbers[each] for each in places), row

    def index_of(self, action: Any) -> Any:
        """Where arms are that were activated elsewhere, in any order."""
        if isinstance(action, str) or not isinstance(action, Iterable):
            raise ArmError(f"{action!r} is not a list of arms")
        places = sorted(self.registry.place(each) for each in action)
        if len(set(places)) < len(places):
            raise ArmError(f"{list(action)!r} names an arm twice")
        return np.array(places, np.int64)

    def context_of(self, row: Any) -> Any:
        """The states of the request."""
        calls = self.words.calls
        return tuple(calls[state] for state in row[1].tolist())

    def by_lot(self, place: Ints, indices: Floats, own: Any) -> tuple[Ints, float]:
        """Of arms with equal indices, of which some are chosen and some not, others; and how likely just these were.

        Where that is 1, there was nothing to draw; where no float holds it, nan.
        """
        chosen = np.zeros(len(indices), bool)
        chosen[place] = True
        least = indices[chosen].min(initial=np.inf)
        if not self.words.lots or not (indices[~chosen] <= least).all() or not (indices[~chosen] == least).any():
            return place, 1.0  # there is no choice, or the policy explores, or goes by no index
        sure, tied = np.flatnonzero(indices > least), np.flatnonzero(indices == least)
        many = len(place) - len(sure)
        drawn = generator(int(own), "ties").choice(tied, size=many, replace=False)
        return np.sort(np.concatenate([sure, drawn])), chance_of_set(len(tied), many)

    def checkpoint(self) -> Any:
        """The latest decision."""
        return self.latest

    def rollback(self, checkpoint: Any) -> None:
        """The decision that was the latest then."""
        self.latest = checkpoint

    def ranking(self) -> tuple[Ranked, ...]:
        """All arms at the latest decision, those with the largest indices first."""
        if self.latest is None:
            raise ArmError("there is no decision to tell of yet: ask after decide(states=...)")
        states, indices, chosen = self.latest
        active, calls = set(chosen.tolist()), self.words.calls
        falling = -np.nan_to_num(indices, nan=-np.inf)
        lots = self._lots(indices, chosen)
        order = sorted(
            range(len(indices)), key=lambda place: (falling[place], lots[place] > 0 and place not in active, place)
        )
        return tuple(
            Ranked(
                self.registry.names[place],
                calls[states[place]],
                float(indices[place]),
                place in active,
                _why(indices[place], rank, len(active), len(order), place in active)
                + (f", by lot among {lots[place]} alike" if lots[place] else ""),
            )
            for rank, place in enumerate(order, start=1)
        )

    def _lots(self, indices: Floats, chosen: Ints) -> Ints:
        """How many arms each had to draw lots with, itself among them; 0 where its index decided."""
        if not self.words.lots or np.isnan(indices).any():
            return np.zeros(len(indices), np.int64)
        _, groups, sizes = np.unique(indices, return_inverse=True, return_counts=True)
        won = np.bincount(groups[chosen], minlength=len(sizes))
        drawn: Ints = np.where((won > 0) & (won < sizes), sizes, 0)[groups]
        return drawn

    # ---- its outcome ----

    def locate(self, chosen: Any, row: Any) -> tuple[Any, Any] | None:
        """Where the arms are now, and the states they were in; those that are gone are left out."""
        places = self.registry.places
        there = [places.get(number, UNSEEN) for number in row[0].tolist()]
        if max(there) < 0:
            return None
        states = np.full(len(self.registry), UNSEEN)
        for place, state in zip(there, row[1].tolist(), strict=True):
            if place >= 0:
                states[place] = state
        active = [places[number] for number in chosen if number in places]
        return np.array(active, np.int64), states

    def read_outcome(self, outcome: dict[str, Any]) -> Moved:
        """States and rewards, as far as they can be checked without the decision."""
        self.check_fields(outcome)
        if "states" not in outcome:
            raise MoveError(f"states is missing: {self.name} learns from the states that arms went to")
        if "rewards" in outcome and not self.learns_rewards:
            raise RewardError(
                f"{self.name} does not learn from rewards, only from states: leave out rewards; what an arm earns in "
                "each state was given when the agent was made"
            )
        states, rewards = self._checked("states", outcome["states"]), outcome.get("rewards")
        return Moved(states, None if rewards is None else _each("rewards", rewards, _reward))

    def complete(self, value: Any, chosen: Any, row: Any) -> Moves:
        """States and rewards by arm, as arms are now; an arm that could not have gone there is refused."""
        numbers, before = row
        n_arms, structure = len(self.registry), self.problem.structure
        states, rewards = np.full(n_arms, UNSEEN), np.zeros(n_arms)
        gone = any(number not in self.registry.places for number in numbers.tolist())
        went = self._values_of("states", value.states, numbers, gone)
        paid = {} if value.rewards is None else self._values_of("rewards", value.rewards, numbers, gone)
        active, total = set(chosen), 0.0
        for number, state in zip(numbers.tolist(), before.tolist(), strict=True):
            place = self.registry.places.get(number)
            if place is None or place not in went:
                continue
            own, action, after = structure.classes[place], int(number in active), went[place]
            if not structure.support[own, action, state, after]:
                raise MoveError(self._impossible(place, state, after, action))
            states[place], rewards[place] = after, paid.get(place, structure.rewards[own, after])
            total += rewards[place] - action * structure.costs[place]
        return Moves(float(total), rewards, states)

    def _impossible(self, place: int, state: int, after: int, action: int) -> str:
        calls = self.words.calls
        return (
            f"the arm {self.registry.names[place]!r} cannot have gone from {calls[state]!r} to {calls[after]!r} "
            f"when {ACTIONS[action]}: the transitions of the problem forbid it"
        )

    def _values_of(self, what: str, outcome: Any, numbers: Any, gone: bool) -> dict[int, Any]:
        """By index, from values by name, or in the order the arms had at the decision."""
        if isinstance(outcome, dict):
            return self._by_place(what, outcome, len(numbers), lenient=gone)
        if len(outcome) != len(numbers):
            raise MoveError(f"{what} has {len(outcome)} entries for the {len(numbers)} arms of that decision")
        places = (self.registry.places.get(number) for number in numbers.tolist())
        return {
            place: each for place, each in zip(places, outcome, strict=True) if place is not None and each is not None
        }

    def _by_place(self, what: str, outcome: Any, count: int, lenient: bool = False) -> dict[int, Any]:
        """By place; a name that no arm has is let pass only where it may be that of one that has left."""
        if isinstance(outcome, dict):
            outcome = {arm_of(name, self._names): each for name, each in outcome.items()}
            unknown = [name for name in outcome if name not in self._names]
            if unknown and not lenient:
                raise ArmError(f"there is no arm {unknown[0]!r}: {what} may name {_some(self.registry.names)}")
            return {self._names[name]: each for name, each in outcome.items() if name in self._names}
        if len(outcome) != count:
            raise MoveError(f"{what} has {len(outcome)} entries for {count} arms")
        return {place: each for place, each in enumerate(outcome) if each is not None}

    def _checked(self, what: str, given: Any) -> Any:
        """States as numbers."""
        return _each(what, given, self._state)

    def _state(self, name: Any) -> int:
        name = int(name) if isinstance(name, np.integer) else str(name) if isinstance(name, np.str_) else name
        known = isinstance(name, str | int) and not isinstance(name, bool) and name in self._places
        if not known:
            calls = self.words.calls
            there = _some(calls) if self.words.states else f"0 to {len(calls) - 1}"
            raise MoveError(f"state {name!r} is not one of those there are: {there}")
        return self._places[name]

    # ---- arms that come and go, and how many are activated ----

    def regrouped(self, policy: Any, registry: ArmRegistry, options: Mapping[str, Any]) -> "RestlessAdapter":
        """The same with other arms; one that joins brings its type and its cost."""
        kept = self.registry.kept(registry)
        structure = with_arms(self.problem.structure, self.words, kept, options)
        return RestlessAdapter(
            policy, self.problem._replace(n_arms=len(registry), structure=structure), registry, self.words
        )

    def changed(self, t: int, changes: dict[str, Any]) -> "RestlessAdapter":
        """The same with another number of arms to activate, or another horizon."""
        changes, problem = dict(changes), self.problem
        if "n_active" in changes:
            problem = problem._replace(slate=whole("n_active", changes.pop("n_active"), high=len(self.registry)))
        problem = problem._replace(horizon=super().changed(t, changes).problem.horizon)
        return RestlessAdapter(self.policy, problem, self.registry, self.words)

    def columns(self, kept: list[int]) -> list[int] | None:
        """Where arms are classes of their own, classes come and go with them."""
        return kept if self.words.own else None

    # ---- on paper ----

    def encode(self) -> tuple[Facts, list[Packed]]:
        """The words, and the latest decision."""
        words = self.words
        facts: Facts = {"states": list(words.states), "classes": list(words.classes)}
        facts |= {"n_states": words.n_states, "own": words.own, "lots": words.lots}
        latest = [] if self.latest is None else list(zip(Latest._fields, self.latest, strict=True))
        return facts, [packed(name, array) for name, array in latest]

    @classmethod
    def decode(
        cls, policy: Any, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "RestlessAdapter":
        """What was written down; it must fit the problem."""
        states, classes, own = facts.get("states"), facts.get("classes"), facts.get("own")
        if not isinstance(states, list) or not isinstance(classes, list):
            raise StateError("the saved agent does not name its states and classes")
        n_classes, size = _sound(problem, len(registry))
        if len(states) not in (0, size) or len(classes) not in (0, n_classes):
            raise StateError("the saved arms do not fit the saved problem")
        words = RestlessNames(tuple(states), tuple(classes), size, bool(own), bool(facts.get("lots")))
        adapter = cls(policy, problem, registry, words)
        if arrays:
            adapter.latest = _latest(arrays, len(registry), size)
        return adapter

    def encode_rows(self, rows: list[Any]) -> list[Packed]:
        """The numbers and states of pending decisions, one after another, and how many each has."""
        if not rows:
            return []
        lengths = np.array([row.shape[1] for row in rows], np.int64)
        return [packed("lengths", lengths), packed("states", np.concatenate(rows, axis=1))]

    def decode_rows(self, saved: list[Packed], count: int) -> list[Any]:
        """Numbers and states of each decision."""
        if not count:
            return []
        if len(saved) != 2:
            raise StateError("the saved decisions have lost the states of their arms")
        lengths, rows = unpacked(saved[0], (count,), "<i8"), unpacked(saved[1], (2, None), "<i8")
        wrong = lengths.min() < 1 or lengths.sum() != rows.shape[1]
        if wrong or rows.min() < 0 or rows[1].max() >= self.words.n_states:
            raise StateError("the saved decisions do not fit the states of this agent")
        return [np.ascontiguousarray(row) for row in np.split(rows, np.cumsum(lengths)[:-1], axis=1)]

    def check_key(self, t: int, chosen: Any) -> Any:
        """The arms to activate, as they came from paper."""
        if not isinstance(chosen, list):
            raise StateError(f"the saved decision {t} does not name the arms to activate")
        return tuple(chosen)


def _sound(problem: Problem, n_arms: int) -> tuple[int, int]:
    """How many classes and states a saved structure has; kernels trust it, so all of it is checked."""
    structure = problem.structure
    whole_numbers = {"episode": structure.episode.ravel(), "discount": structure.discount.ravel()}
    try:
        plain = structure._asdict() | {name: value[0].item() for name, value in whole_numbers.items()}
        restless(plain.pop("rewards"), n_arms=n_arms, **plain)
    except (ParameterError, IndexError) as error:
        raise StateError(f"the saved arms do not fit the saved problem: {error}") from None
    n_classes, size = structure.rewards.shape
    return int(n_classes), int(size)


def _latest(arrays: dict[str, Packed], n_arms: int, n_states: int) -> Latest:
    if sorted(arrays) != sorted(Latest._fields):
        raise StateError("the latest decision of the saved agent is not complete")
    states = unpacked(arrays["states"], (n_arms,), "<i8")
    chosen = unpacked(arrays["chosen"], (None,), "<i8")
    if (states < 0).any() or (states >= n_states).any() or (chosen < 0).any() or (chosen >= n_arms).any():
        raise StateError("the latest decision of the saved agent does not fit its arms")
    return Latest(states, unpacked(arrays["indices"], (n_arms,)), chosen)


def _each(what: str, given: Any, read: Any) -> Any:
    """A mapping by arm, or a list, with every entry read; None stands for no value."""
    if isinstance(given, Mapping):
        return {name: read(each) for name, each in given.items() if each is not None}
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise MoveError(f"{what}={given!r} is neither a mapping from arms nor a list in their order")
    return [None if each is None else read(each) for each in given]


def _reward(value: Any) -> float:
    try:
        reward = float(value)
    except (TypeError, ValueError, OverflowError):
        raise RewardError(f"reward={value!r} is not a number") from None
    if not np.isfinite(reward):
        raise RewardError(f"reward={reward} is not finite")
    return reward


def _why(index: float, rank: int, size: int, n_arms: int, chosen: bool) -> str:
    if np.isnan(index):
        return "this policy goes by no index"
    place = f"index {rank} of {n_arms}"
    if chosen:
        return place if rank <= size else f"explored, with {place}"
    return place if rank > size else f"left out to explore, with {place}"


def _some(names: Any) -> str:
    some = ", ".join(map(repr, names[:8]))
    return some + (f" and {len(names) - 8} more" if len(names) > 8 else "")
