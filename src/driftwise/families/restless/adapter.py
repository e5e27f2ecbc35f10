"""Restless arms: a decision needs the states of all arms, and names those to activate.

    decide(states={"ana": "lapsed", ...})        or a list, in the order of the arms
    learn(decision, states=..., rewards=...)     where the arms went, likewise, and perhaps what each earned

Nothing is learned from an arm without a next state; where `rewards` is absent, those of the states count. A policy that
learns from states alone refuses rewards, which it would not learn. Arms may join and leave between a decision and its
outcome: the policy still learns from the others. Ties of indices are broken as `ranking.py` says.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftwise.core.adapter import Adapter, Examples
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import Arm, Facts, packed, unpacked
from driftwise.core.family import check_fit
from driftwise.core.pinned import PinnedState
from driftwise.core.problem import by_label
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Ints, Moves, Problem, State
from driftwise.core.validation import to_float, whole
from driftwise.core.verbs import ABOUT, rank
from driftwise.errors import ArmError, MoveError, ParameterError, RewardError, StateError
from driftwise.families.restless.arguments import RestlessNames, arm_of, structure_of, with_arms
from driftwise.families.restless.problem import Restless
from driftwise.families.restless.ranking import Latest, Ranked, break_ties, decode_latest, rank_arms
from driftwise.families.restless.structure import ACTIONS, restless, reward_range
from driftwise.families.restless.top_m import NOBODY

UNSEEN, UNPAID = -1, math.nan  # in place of a state and of a reward that nobody knows
PLAIN = {int, str, type(None)}  # types of states that need no second look
Number = TypeVar("Number", int, float)
Array = NDArray[Any]


class TransitionReport(NamedTuple):
    """The arguments of `learn`, each by the names of arms, or an array in their order; states are indices already."""

    states: dict[Any, int] | Ints
    rewards: dict[Any, float] | Floats | None


class RestlessAdapter(Adapter[Ints, Ints, tuple[int, ...], Ints, TransitionReport]):
    """Between a program and policies that activate some of many arms."""

    request_fields = ("states",)
    outcome_fields = ("states", "rewards")
    arm_fields = ("arm_type", "activation_cost")
    change_fields = ("horizon", "n_active")
    view_names = ("ranking", "indices")
    quick = False  # a round may plan for thousands of arms
    counts = False
    rank: Callable[..., None]
    state: State
    context = None

    def __init__(self, policy: Policy, problem: Problem, registry: ArmRegistry, words: RestlessNames) -> None:
        super().__init__(policy, problem, registry)
        self.words, self.learns_rewards = words, ABOUT[type(policy)].learns_rewards
        self._state_indices: dict[object, int] = {**words.places, None: UNSEEN}
        self._arm_indices = {name: index for index, name in enumerate(registry.names)}
        n_arms = len(registry)
        still = Moves(0.0, np.zeros(n_arms), np.zeros(n_arms, np.int64))
        states = np.zeros(n_arms, np.int64)
        self.examples = Examples(states, np.zeros(problem.slate, np.int64), states, still)
        self.latest: Latest | None = None

    @classmethod
    def of(cls, policy: Policy, problem: Restless) -> "RestlessAdapter":
        """The arms of a problem."""
        registry = problem.arm_registry()
        size = whole("n_active", problem.n_active, high=len(registry))
        structure, words = structure_of(problem, registry)
        low, high = reward_range(structure)
        base = Problem(len(registry), low, high, horizon=whole("horizon", problem.horizon, low=0), slate=size)
        base = base._replace(structure=structure, family=problem.kind)
        check_fit(policy, base)
        return cls(policy, base, registry, words)

    def attach(self, bind: Callable[..., Callable[..., Any]], policy: Policy, pinned: PinnedState) -> None:
        """Be able to ask the policy for the index of every arm."""
        states = self.examples.row
        kernel = bind(rank, policy, pinned, 0, states, np.zeros(len(states)))
        self.rank = lambda t, context, indices: kernel(policy, pinned.address, t, context, indices)
        self.state = pinned.state

    def refine(
        self, index: Ints, propensity: float, context: Ints, t: int, rng: np.uint64, outside: bool
    ) -> tuple[Ints, float]:
        """Break ties of indices at random; the decision is stored for `ranking`."""
        index, indices = index[index > NOBODY], np.zeros(len(context))
        self.rank(t, context, indices)
        if self.words.lots and not outside:
            index, chance = break_ties(index, indices, rng)
            if chance != 1.0:  # on top of a random choice of the policy, it is unknown
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

    def read_request(self, t: int, request: dict[str, Any]) -> Ints:
        """The state of every arm."""
        self.check_request(request)
        states = request.get("states")
        if states is None:
            raise MoveError(f"{self.name} must know the states of the arms: decide(states=...)")
        now = np.arange(len(self.registry))
        by_index: Ints = self._by_index("states", self._read_states(states), now, UNSEEN)
        missing = np.flatnonzero(by_index == UNSEEN)
        if len(missing):
            raise MoveError(f"states lacks the arm {self.registry.names[missing[0]]!r}: a decision needs them all")
        return by_index

    def publish(self, index: Ints, context: Ints) -> tuple[object, tuple[int, ...], Ints]:
        """The names of the arms to activate; of all arms, uids and states are stored."""
        names, uids, indices = self.registry.names, self.registry.uids, index.tolist()
        row = np.stack([np.array(uids, np.int64), context])
        return tuple(names[each] for each in indices), tuple(uids[each] for each in indices), row

    def index_of(self, action: object) -> Ints:
        """The indices of arms that were activated outside, in any order."""
        if isinstance(action, str) or not isinstance(action, Iterable):
            raise ArmError(f"{action!r} is not a list of arms")
        indices = sorted(self.registry.index(each) for each in action)
        if len(set(indices)) < len(indices):
            raise ArmError(f"{list(action)!r} names an arm twice")
        return np.array(indices, np.int64)

    def context_of(self, row: Ints) -> tuple[Arm, ...]:
        """The states of the request."""
        calls = self.words.calls
        return tuple(calls[state] for state in row[1].tolist())

    def checkpoint(self) -> Latest | None:
        """The latest decision."""
        return self.latest

    def rollback(self, checkpoint: Latest | None) -> None:
        """Restore the decision that was the latest then."""
        self.latest = checkpoint

    def ranking(self) -> tuple[Ranked, ...]:
        """All arms at the latest decision, those with the largest indices first."""
        if self.latest is None:
            raise ArmError("there is no ranking yet: the first decide(states=...) makes one")
        return rank_arms(self.latest, self.registry.names, self.words.calls, self.words.lots)

    # ---- its outcome ----

    def locate(self, key: tuple[int, ...], row: Ints) -> tuple[Ints, Ints] | None:
        """The indices of the active arms now, and the states that all arms were in; retired arms are left out."""
        indices = self._indices_now(row[0])
        still = indices >= 0
        if not still.any():
            return None
        states = np.full(len(self.registry), UNSEEN)
        states[indices[still]] = row[1][still]
        active = [self.registry.index_by_uid[uid] for uid in key if uid in self.registry.index_by_uid]
        return np.array(active, np.int64), states

    def _indices_now(self, uids: Ints) -> Ints:
        """The index of each arm of a decision, UNSEEN where it has retired."""
        index_by_uid = self.registry.index_by_uid
        return np.array([index_by_uid.get(uid, UNSEEN) for uid in uids.tolist()], np.int64)

    def read_outcome(self, outcome: dict[str, Any]) -> TransitionReport:
        """States and rewards, as far as they can be checked without the decision."""
        self.check_fields(outcome)
        if "states" not in outcome:
            raise MoveError(f"states is missing: {self.name} learns from the states that arms went to")
        if "rewards" in outcome and not self.learns_rewards:
            raise RewardError(
                f"{self.name} does not learn from rewards, only from states: leave out rewards; what an arm earns in "
                "each state is part of the problem"
            )
        states, rewards = self._read_states(outcome["states"]), outcome.get("rewards")
        return TransitionReport(states, None if rewards is None else _read_by_arm("rewards", rewards, _reward, UNPAID))

    def complete(self, value: TransitionReport, key: tuple[int, ...], row: Ints) -> Moves:
        """States and rewards by arm, as arms are now; an arm that could not have gone there is refused."""
        structure, indices = self.problem.structure, self._indices_now(row[0])
        next_states: Ints = self._by_index("states", value.states, indices, UNSEEN)
        paid = value.rewards if value.rewards is None else self._by_index("rewards", value.rewards, indices, UNPAID)
        known = np.flatnonzero((indices >= 0) & (next_states[indices] != UNSEEN))
        arms, before, action = indices[known], row[1][known], np.isin(row[0][known], key).astype(np.int64)
        own, after = structure.classes[arms], next_states[arms]
        impossible = np.flatnonzero(~structure.support[own, action, before, after].astype(bool))
        if len(impossible):
            raise MoveError(self._impossible(*(int(each[impossible[0]]) for each in (arms, before, after, action))))
        earned = structure.rewards[own, after] + action * structure.activation_rewards[own, before]
        if paid is not None:
            earned = np.where(np.isnan(paid[arms]), earned, paid[arms])
        states, rewards = np.full(len(self.registry), UNSEEN), np.zeros(len(self.registry))
        states[arms], rewards[arms] = after, earned
        gains = np.append(0.0, earned - action * structure.costs[arms])
        return Moves(float(np.cumsum(gains)[-1]), rewards, states)  # summed in their order

    def _impossible(self, arm: int, state: int, after: int, action: int) -> str:
        calls = self.words.calls
        return (
            f"the arm {self.registry.names[arm]!r} cannot have gone from {calls[state]!r} to {calls[after]!r} "
            f"when {ACTIONS[action]}: the transitions of the problem forbid it"
        )

    def _by_index(self, what: str, values: dict[Any, Number] | Array, indices: Ints, empty: Number) -> Array:
        """Values by index, from values by name, or in the order of the arms of a decision with these `indices` now.

        A name that no arm has is accepted only where an arm of the decision was retired since.
        """
        by_index = np.full(len(self.registry), empty)
        if isinstance(values, dict):
            by_name = {arm_of(name, self._arm_indices): each for name, each in values.items()}
            unknown = [name for name in by_name if name not in self._arm_indices]
            if unknown and indices.min() >= 0:
                raise ArmError(f"there is no arm {unknown[0]!r}: {what} may name {_some(self.registry.names)}")
            for name in by_name.keys() - unknown:
                by_index[self._arm_indices[name]] = by_name[name]
        elif len(values) != len(indices):
            raise MoveError(f"{what} has {len(values)} entries for the {len(indices)} arms of the decision")
        else:
            by_index[indices[indices >= 0]] = values[indices >= 0]
        return by_index

    def _read_states(self, states: object) -> dict[Any, int] | Ints:
        """The indices of states."""
        states = states.tolist() if isinstance(states, np.ndarray) else states
        if isinstance(states, list) and {*map(type, states)} <= PLAIN:
            places = self._state_indices
            with suppress(KeyError):  # read again below, where the error names the state
                return np.array([places[state] for state in states], np.int64)
        return _read_by_arm("states", states, self._state, UNSEEN)

    def _state(self, name: object) -> int:
        name = int(name) if isinstance(name, np.integer) else str(name) if isinstance(name, np.str_) else name
        known = isinstance(name, str | int) and not isinstance(name, bool) and name in self._state_indices
        if not known:
            calls = self.words.calls
            there = _some(calls) if self.words.states else f"0 to {len(calls) - 1}"
            raise MoveError(f"state {name!r} is not one of those there are: {there}")
        return self._state_indices[name]

    # ---- arms that come and go, and how many are activated ----

    def regrouped(self, policy: Policy, registry: ArmRegistry, options: Mapping[str, Any]) -> "RestlessAdapter":
        """The same with other arms; one that joins brings its type and its cost."""
        old_indices = self.registry.old_indices(registry)
        structure = with_arms(self.problem.structure, self.words, old_indices, options)
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

    def columns(self, old_indices: list[int]) -> list[int] | None:
        """Where arms are classes of their own, classes come and go with them."""
        return old_indices if self.words.own else None

    # ---- bytes ----

    def encode(self) -> tuple[Facts, list[Packed]]:
        """The words, and the latest decision."""
        words = self.words
        facts: Facts = {"states": list(words.states), "classes": list(words.classes)}
        facts |= {"n_states": words.n_states, "own": words.own, "lots": words.lots}
        latest = [] if self.latest is None else list(zip(Latest._fields, self.latest, strict=True))
        return facts, [packed(name, array) for name, array in latest]

    @classmethod
    def decode(
        cls, policy: Policy, problem: Problem, registry: ArmRegistry, facts: Facts, arrays: dict[str, Packed]
    ) -> "RestlessAdapter":
        """The adapter that `encode` describes; it must fit the problem."""
        states, classes, own = facts.get("states"), facts.get("classes"), facts.get("own")
        if not isinstance(states, list) or not isinstance(classes, list):
            raise StateError("the saved agent does not name its states and classes")
        n_classes, size = _sound(problem, len(registry))
        if len(states) not in (0, size) or len(classes) not in (0, n_classes):
            raise StateError("the saved arms do not fit the saved problem")
        words = RestlessNames(tuple(states), tuple(classes), size, bool(own), bool(facts.get("lots")))
        adapter = cls(policy, problem, registry, words)
        if arrays:
            adapter.latest = decode_latest(arrays, len(registry), size)
        return adapter

    def encode_rows(self, rows: list[Ints]) -> list[Packed]:
        """The uids and states of pending decisions, one after another, and how many each has."""
        if not rows:
            return []
        lengths = np.array([row.shape[1] for row in rows], np.int64)
        return [packed("lengths", lengths), packed("states", np.concatenate(rows, axis=1))]

    def decode_rows(self, saved: list[Packed], count: int) -> list[Ints]:
        """Uids and states of each decision."""
        if not count:
            return []
        if len(saved) != 2:
            raise StateError("the saved decisions have lost the states of their arms")
        lengths, rows = unpacked(saved[0], (count,), "<i8"), unpacked(saved[1], (2, None), "<i8")
        wrong = lengths.min() < 1 or lengths.sum() != rows.shape[1]
        if wrong or rows.min() < 0 or rows[1].max() >= self.words.n_states:
            raise StateError("the saved decisions do not fit the states of this agent")
        return [np.ascontiguousarray(row) for row in np.split(rows, np.cumsum(lengths)[:-1], axis=1)]

    def check_key(self, t: int, key: int | list[int]) -> tuple[int, ...]:
        """The uids of the arms to activate."""
        if not isinstance(key, list):
            raise StateError(f"the saved decision {t} does not name the arms to activate")
        return tuple(key)


def _sound(problem: Problem, n_arms: int) -> tuple[int, int]:
    """How many classes and states a saved structure has; kernels trust it, so all of it is checked."""
    structure = problem.structure
    single = ("episode", "discount", "at_most")
    try:
        plain = structure._asdict() | {name: getattr(structure, name).ravel()[0].item() for name in single}
        restless(plain.pop("rewards"), n_arms=n_arms, **plain)
    except (ParameterError, IndexError) as error:
        raise StateError(f"the saved arms do not fit the saved problem: {error}") from None
    n_classes, size = structure.rewards.shape
    return int(n_classes), int(size)


def _read_by_arm(
    what: str, values: object, read: Callable[[object], Number], empty: Number
) -> dict[Any, Number] | Array:
    """A mapping by arm, or an array in their order, with every entry read; None stands for no value."""
    values = by_label(values)
    if isinstance(values, Mapping):
        return {name: read(each) for name, each in values.items() if each is not None}
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise MoveError(f"{what}={values!r} is neither a mapping from arms nor a list in their order")
    return np.array([empty if each is None else read(each) for each in values], type(empty))


def _reward(value: object) -> float:
    try:
        reward = to_float(value)
    except (TypeError, ValueError, OverflowError):
        raise RewardError(f"reward={value!r} is not a number") from None
    if not np.isfinite(reward):
        raise RewardError(f"reward={reward} is not finite")
    return reward


def _some(names: Sequence[Arm]) -> str:
    some = ", ".join(map(repr, names[:8]))
    return some + (f" and {len(names) - 8} more" if len(names) > 8 else "")
