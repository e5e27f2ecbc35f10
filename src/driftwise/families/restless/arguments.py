"""The arguments of a restless problem, read and checked: states, what they earn, types of arms, known transitions.

    states          a number of them, called 0, 1, ..., or a list of names
    state_rewards   a number per state, in their order or by name; with types perhaps one such for each type
    arm_types       the type of each arm, in their order or by name; "own" where no two arms are alike
    transitions     {"passive": ..., "active": ..., "still": ..., "drift": ...}, or one such for each type

`passive` and `active` map states to what follows them: chances, {"lapsed": 0.2, "engaged": 0.8}, where they are known,
and a list of states where it is only known which can follow. A matrix of chances is known altogether. Of states that
are not mentioned, nothing is known. `still` names what is the same for ever though not known: "passive", "active", or
pairs such as ("active", "lapsed"). All the rest may drift; `drift` is the most that a row moves from one episode to the
next, the sum of its absolute changes, where that is known.

Names are text in JSON: arms and states that are only counted are named "0", "1", ... there.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.types import Floats, Ints
from driftwise.core.validation import number, one_of, whole
from driftwise.errors import ArmError, ParameterError
from driftwise.families.restless.problem import Restless
from driftwise.families.restless.structure import (
    ACTIONS,
    DRIFTING,
    KNOWN,
    ROUNDING,
    STATIONARY,
    UNSAID,
    RestlessStructure,
    restless,
)

OWN = "own"
BY_CLASS = ("rewards", "support", "kinds", "known", "activation_rewards", "drift")


class RestlessNames(NamedTuple):
    """The names of states and types; none where they are only numbered, or every arm is a type of its own.

    `lots` is whether arms with equal indices draw lots.
    """

    states: tuple[str, ...]
    classes: tuple[str, ...]
    n_states: int
    own: bool
    lots: bool

    @property
    def calls(self) -> tuple[Any, ...]:
        """The states as a program knows them."""
        return self.states or tuple(range(self.n_states))

    @property
    def places(self) -> dict[Any, int]:
        """Where each state is."""
        return {name: place for place, name in enumerate(self.calls)}


def structure_of(problem: Restless, registry: ArmRegistry) -> tuple[RestlessStructure, RestlessNames]:
    """What kernels know of a problem, and the names of its states and types."""
    states = _states(problem.states)
    types, members = _types(_by_number(problem.arm_types, registry), registry)
    lots = one_of("tie_break", problem.tie_break, ("random", "first")) == "random"
    named = states if isinstance(states, tuple) else ()
    words = RestlessNames(named, types, _count(states), _is_own(problem.arm_types), lots)
    n_types = len(registry) if words.own else max(1, len(types))
    arguments = problem.state_rewards, problem.activation_rewards, problem.transitions
    rewards, extra, transitions = arguments if named else (_counted(each, types) for each in arguments)
    table, tables = _rewards("state_rewards", rewards, words), _structures(transitions, words)
    besides = np.zeros((1, words.n_states)) if extra is None else _rewards("activation_rewards", extra, words)
    structure = restless(
        np.repeat(table, n_types, axis=0) if len(table) == 1 < n_types else table,
        n_arms=len(registry),
        classes=members,
        **dict(zip(("support", "kinds", "known", "drift"), tables, strict=True)),
        episode=whole("episode_length", problem.episode_length, low=0),
        discount=problem.discount,
        costs=_costs(_by_number(problem.activation_cost, registry), registry),
        activation_rewards=np.repeat(besides, n_types, axis=0) if len(besides) == 1 < n_types else besides,
        at_most=int(problem.at_most),
    )
    return structure, words


def _by_number(values: object, registry: ArmRegistry) -> Any:
    """Values by arm, where arms that are only counted may be named by text."""
    return {arm_of(name, registry.names): each for name, each in values.items()} if isinstance(values, dict) else values


def arm_of(name: object, names: Collection[Any]) -> Any:
    """The name of an arm; of one that is only counted, its number also where that comes as text."""
    if name in names or not isinstance(name, str) or not name.isdecimal() or len(name) > 16 or int(name) not in names:
        return name
    return int(name)


def _counted(values: object, types: Collection[str]) -> Any:
    """Names that are numbers as numbers, except where they are those of all types."""
    if not isinstance(values, Mapping):
        return values
    by_type = bool(types) and set(values) == set(types)
    return {
        int(name) if isinstance(name, str) and name.isdecimal() and len(name) < 4 and not by_type else name: _counted(
            each, ()
        )
        for name, each in values.items()
    }


def with_arms(
    structure: RestlessStructure, words: RestlessNames, old_indices: Sequence[int], options: Mapping[str, Any]
) -> RestlessStructure:
    """The structure of other arms: `old_indices[new]` is that of arm `new` before, or -1 for one with `options`.

    Where every arm is a type of its own, a new one is taken to be like the first: rewards and transitions are those of
    all.
    """
    old, cost = np.asarray(old_indices, np.int64), options.get("activation_cost")
    fresh = old < 0
    costs = structure.costs[old]
    costs[fresh] = 0.0 if cost is None else number("activation_cost", cost)
    if words.own:
        rows = np.where(fresh, 0, old)
        tables = {name: getattr(structure, name)[rows] for name in BY_CLASS}
        return structure._replace(classes=np.arange(len(old)), costs=costs, **tables)
    classes = structure.classes[old]
    if fresh.any():
        classes[fresh] = _type_of(options.get("arm_type"), words)
    return structure._replace(classes=classes, costs=costs)


def _type_of(name: object, words: RestlessNames) -> int:
    if not words.classes:
        if name is not None:
            raise ArmError(f"arm_type={name!r} cannot be given: all arms of this agent are of one type")
        return 0
    if name not in words.classes:
        raise ArmError(f"arm_type={name!r} is not one of {', '.join(map(repr, words.classes))}")
    return words.classes.index(name)


def _states(argument: object) -> int | tuple[str, ...]:
    if isinstance(argument, str) or not isinstance(argument, Iterable):
        return whole("states", argument, low=1)
    names = tuple(argument)
    for name in names:
        if not isinstance(name, str) or not name.isprintable():
            raise ParameterError(f"state {name!r} is not named by printable text")
    if len(set(names)) < len(names) or not names:
        raise ParameterError(f"states={list(names)} does not name each state once")
    return names


def _is_own(classes: object) -> bool:
    return isinstance(classes, str) and classes == OWN


def _count(states: int | tuple[str, ...]) -> int:
    return states if isinstance(states, int) else len(states)


def _types(argument: object, registry: ArmRegistry) -> tuple[tuple[str, ...], Ints | None]:
    """The names of the types, and the type of each arm; none where all are alike, or each is its own."""
    if argument is None or _is_own(argument):
        return (), None
    entries = _by_arm("arm_types", argument, registry)
    for name in entries:
        if not isinstance(name, str) or not name.isprintable():
            raise ParameterError(f"type {name!r} is not named by printable text")
    names = tuple(dict.fromkeys(entries))
    return names, np.array([names.index(name) for name in entries], np.int64)


def _costs(argument: object, registry: ArmRegistry) -> float | list[float]:
    if argument is None:
        return 0.0
    if isinstance(argument, Mapping) or not np.isscalar(argument):
        return [number("activation_cost", each) for each in _by_arm("activation_cost", argument, registry)]
    return number("activation_cost", argument)


def _by_arm(what: str, argument: object, registry: ArmRegistry) -> list[Any]:
    """One thing for every arm, told in their order or by name."""
    if isinstance(argument, Mapping):
        for name in argument:
            if name not in registry.names:
                raise ParameterError(f"{what} names {name!r}, which is not one of the arms")
        for name in registry.names:
            if name not in argument:
                raise ParameterError(f"{what} says nothing of the arm {name!r}")
        return [argument[name] for name in registry.names]
    if isinstance(argument, str) or not isinstance(argument, Iterable):
        raise ParameterError(f"{what}={argument!r} is neither a list, one for each arm, nor a mapping from arms")
    entries = list(argument)
    if len(entries) != len(registry):
        raise ParameterError(f"{what} has {len(entries)} entries for {len(registry)} arms")
    return entries


def _rewards(what: str, argument: object, words: RestlessNames) -> Floats:
    """A row for all classes, or one for each."""
    if words.classes and isinstance(argument, Mapping) and set(argument) == set(words.classes):
        return np.array([_row_of_rewards(what, argument[name], words) for name in words.classes])
    return np.array([_row_of_rewards(what, argument, words)])


def _row_of_rewards(what: str, argument: object, words: RestlessNames) -> list[float]:
    if isinstance(argument, Mapping):
        for name in argument:
            _place(what, name, words)
        for name in words.calls:
            if name not in argument:
                raise ParameterError(f"{what} says nothing of the state {name!r}")
        argument = [argument[name] for name in words.calls]
    if (
        isinstance(argument, str)
        or not isinstance(argument, Iterable)
        or len(entries := list(argument)) != words.n_states
    ):
        raise ParameterError(f"{what}={argument!r} is not a number for each of {words.n_states} states")
    return [number("reward", each) for each in entries]


def _place(what: str, name: object, words: RestlessNames) -> int:
    if name not in words.places:
        raise ParameterError(f"{what} names the state {name!r}: there are {', '.join(map(repr, words.calls))}")
    return words.places[name]


Tables = tuple[Any, Any, Any]  # support, kinds and known rows, with the axes (action, state, next state)
AllTables = tuple[Any, Any, Any, Any]  # and how fast they drift


def _structures(argument: object, words: RestlessNames) -> AllTables:
    """Tables for all classes, or with one more axis for each."""
    if words.classes and isinstance(argument, Mapping) and set(argument) == set(words.classes):
        each = (_structure(argument[name], words) for name in words.classes)
        support, kinds, tables, drift = map(np.stack, zip(*each, strict=True))
        return support, kinds, tables, drift
    return _structure(argument, words)


def _structure(argument: object, words: RestlessNames) -> AllTables:
    size = words.n_states
    support, kinds = np.ones((2, size, size), np.bool_), np.full((2, size), DRIFTING)
    rows = np.zeros((2, size, size))
    if argument is None:
        return support, kinds, rows, UNSAID
    if not isinstance(argument, Mapping) or not set(argument) <= {*ACTIONS, "still", "drift"}:
        raise ParameterError(
            f"transitions={argument!r} does not map passive, active, still and drift to what is known of them"
        )
    for action, name in enumerate(ACTIONS):
        if name in argument:
            _transitions(name, argument[name], words, (support[action], kinds[action], rows[action]))
    for action, place in _still(argument.get("still", ()), words):
        kinds[action, place] = np.where(kinds[action, place] == KNOWN, KNOWN, STATIONARY)
    drift = UNSAID
    if "drift" in argument:
        drift = number("drift", argument["drift"], above=0.0, below=2.0, closed="[]")
    return support, kinds, rows, drift


def _transitions(name: str, argument: object, words: RestlessNames, tables: Tables) -> None:
    """Write what is known of the transitions of one action."""
    support, kinds, rows = tables
    if not isinstance(argument, Mapping):
        try:
            rows[...] = _square(np.asarray(argument, np.float64), len(rows))
        except (TypeError, ValueError):
            raise ParameterError(
                f"transitions: {name} is not a matrix with a row for each of {len(rows)} states"
            ) from None
        kinds[...] = KNOWN
        return
    for state, follows in argument.items():
        place = _place(f"transitions: {name}", state, words)
        if isinstance(follows, str) or not isinstance(follows, Iterable):
            raise ParameterError(
                f"transitions: what follows {state!r} is neither a mapping to chances nor a list of states"
            )
        if isinstance(follows, Mapping):
            for after, chance in follows.items():
                at = _place(f"transitions: {name}", after, words)
                rows[place, at] = number(f"the chance of {after!r}", chance, above=0.0, below=1.0, closed="[]")
            total = rows[place].sum()
            if abs(total - 1.0) > ROUNDING:
                raise ParameterError(f"transitions: what follows {state!r} when {name} sums to {total:.9g}, not to one")
            kinds[place] = KNOWN
        else:
            support[place] = False
            support[place, [_place(f"transitions: {name}", after, words) for after in follows]] = True


def _square(matrix: Floats, size: int) -> Floats:
    if matrix.shape != (size, size):
        raise ValueError
    return matrix


def _still(argument: object, words: RestlessNames) -> Iterable[tuple[int, Any]]:
    """Which rows do not drift: the number of the action, and the place of the state, or all of them."""
    for each in argument if isinstance(argument, Iterable) and not isinstance(argument, str) else [argument]:
        name, *state = tuple(each) if isinstance(each, Iterable) and not isinstance(each, str) else (each,)
        if name not in ACTIONS or len(state) > 1:
            raise ParameterError(f"transitions: still names {each!r}: passive, active, or a pair of one and a state")
        yield ACTIONS.index(name), _place("transitions: still", state[0], words) if state else slice(None)
