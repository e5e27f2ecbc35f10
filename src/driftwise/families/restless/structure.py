"""What is known beforehand of arms that move on their own, made and checked here once: kernels trust it.

    restless([0.0, 1.0], n_arms=5)                          two states, nothing known of how arms move between them
    restless([0.0, 1.0], n_arms=5, known=K, kinds=[[0, 0], [2, 2]])       left alone, arms move by the rows K[0]

Tables of transitions have the axes (class, action, state, next state); action 0 is to leave an arm alone, 1 to activate
it.
One table will do for all classes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftwise.core.types import Floats, Ints, Problem
from driftwise.core.validation import number, one_of, whole
from driftwise.errors import ParameterError

KNOWN, STATIONARY, DRIFTING = 0, 1, 2
KNOWLEDGE = ("full", "rows", "moves", "none")
UNSAID = -1.0  # the drift of arms whose drift nobody says
ACTIONS = ("passive", "active")
ROUNDING = 1e-6  # how far a row may be from summing to one: what single precision leaves
MAX_STATES = 10**4


class RestlessStructure(NamedTuple):
    """Arms that go from state to state on their own, and otherwise when activated: what is known of them beforehand.

    There are N arms in C classes, with S states. Arms of a class share their rewards and their transitions: of an arm
    that is left alone (0) and of one that is activated (1). `restless` makes one and checks it.

    classes (N)            the class of each arm
    rewards (C, S)         what an arm earns in a slot, by the state that the slot leads to
    support (C, 2, S, S)   which transitions can happen
    kinds (C, 2, S)        of each row of transitions: 0 known, 1 unknown and always the same, 2 drifting
    known (C, 2, S, S)     the rows that are known; the others are 0
    episode (1)            slots after which all arms start over; 0 when they never do
    discount (1)           of rewards, from slot to slot
    costs (N)              of activating each arm
    activation_rewards     (C, S) what activating earns besides, by the state in which it is done: r(s, 1) - r(s, 0)
    drift (C)              the most that a row of transitions moves from one episode to the next; -1 where nobody says
    at_most (1)            1 where arms whose index is below 0 are left alone, so that fewer are activated than may be
    """

    classes: Ints
    rewards: Floats
    support: NDArray[np.bool_]
    kinds: Ints
    known: Floats
    episode: Ints
    discount: Floats
    costs: Floats
    activation_rewards: Floats
    drift: Floats
    at_most: Ints


def restless(
    rewards: ArrayLike,
    *,
    n_arms: int,
    classes: ArrayLike | None = None,
    support: ArrayLike | None = None,
    kinds: ArrayLike | None = None,
    known: ArrayLike | None = None,
    episode: int = 0,
    discount: float = 0.99,
    costs: ArrayLike = 0.0,
    activation_rewards: ArrayLike = 0.0,
    drift: ArrayLike = UNSAID,
    at_most: int = 0,
) -> RestlessStructure:
    """A checked structure. What is not said is not known: all transitions can happen, and all rows drift.

    Parameters
    ----------
    rewards
        A number per state, (S,), or a row of them per class, (C, S).
    n_arms
        How many arms there are.
    classes
        The class of each arm; left out where there is one class, or one for every arm.
    support, kinds, known
        See `Restless`; a table without the axis of classes holds for all of them.
    episode, discount, costs
        See `Restless`; one cost will do for all arms.
    activation_rewards, drift, at_most
        What activating earns besides, by state; the drift of each class; whether fewer arms may be activated.

    >>> restless([[0.0, 1.0], [0.0, 2.0]], n_arms=2).classes
    array([0, 1])
    """
    n_arms = whole("n_arms", n_arms)
    pays = np.atleast_2d(_array("rewards", rewards, np.float64))
    if pays.ndim != 2 or 0 in pays.shape or pays.shape[1] > MAX_STATES:
        raise ParameterError(f"rewards has shape {pays.shape}: it must be a number per state, or a row per class")
    if not np.isfinite(pays).all():
        raise ParameterError(f"rewards has {pays[~np.isfinite(pays)][0]} in it, which is not a finite number")
    n_classes, size = pays.shape
    square = (n_classes, 2, size, size)
    allowed = _table("support", np.True_ if support is None else support, square, np.bool_)
    marks = _table("kinds", DRIFTING if kinds is None else kinds, square[:3], np.int64)
    rows = _table("known", 0.0 if known is None else known, square, np.float64)
    if not np.isin(marks, (KNOWN, STATIONARY, DRIFTING)).all():
        raise ParameterError("kinds holds something other than 0, 1 and 2: known, stationary, drifting")
    is_known = marks == KNOWN
    rows[is_known] = checked_rows(rows, is_known)[is_known]
    rows[~is_known] = 0.0
    if (rows > 0.0)[~allowed].any():
        c, a, s, _ = np.argwhere((rows > 0.0) & ~allowed)[0]
        raise ParameterError(f"{_row(c, a, s, n_classes)} is known to go where support forbids it")
    allowed[is_known] = rows[is_known] > 0.0
    if not allowed.any(axis=-1).all():
        c, a, s = np.argwhere(~allowed.any(axis=-1))[0]
        raise ParameterError(f"{_row(c, a, s, n_classes)} leads nowhere: support forbids every transition")
    return RestlessStructure(
        classes=_classes(classes, n_arms, n_classes),
        rewards=np.ascontiguousarray(pays),
        support=allowed,
        kinds=marks,
        known=rows,
        episode=np.array([whole("episode", episode, low=0)], np.int64),
        discount=np.array([number("discount", discount, above=0.0, below=1.0)]),
        costs=_costs(costs, n_arms),
        activation_rewards=_finite("activation_rewards", _table("activation_rewards", activation_rewards, pays.shape)),
        drift=_drift(drift, n_classes),
        at_most=np.array([whole("at_most", at_most, low=0, high=1)], np.int64),
    )


def reward_range(structure: RestlessStructure) -> tuple[float, float]:
    """The least and the most that one arm can earn in a slot, costs aside."""
    rewards, besides = structure.rewards, structure.activation_rewards
    low = (rewards.min(axis=1) + np.minimum(besides.min(axis=1), 0.0)).min()
    high = (rewards.max(axis=1) + np.maximum(besides.max(axis=1), 0.0)).max()
    return float(low), float(high)


def rewards_by_action(structure: RestlessStructure) -> Floats:
    """What indices are computed for, (C, 2, S): rewards of the state an arm is in, when passive and when active.

    A slot earns in the state it leads to, one slot later; what activating earns besides comes at once, and counts one
    discount less beside it. Indices for these rewards are the discount times those of what is earned.
    """
    besides = structure.discount[0] * structure.activation_rewards
    return np.ascontiguousarray(np.stack([structure.rewards, structure.rewards + besides], axis=1))


def with_knowledge(structure: RestlessStructure, knowledge: str) -> RestlessStructure:
    """The same arms, of which less is known beforehand.

    full    all that the structure says
    rows    not which transitions are impossible, except in rows that are known
    moves   not which rows are known; they are still known not to drift
    none    nothing: every transition can happen, and every row drifts
    """
    known = structure.kinds == KNOWN
    if one_of("knowledge", knowledge, KNOWLEDGE) == "full":
        return structure
    if knowledge == "rows":
        return structure._replace(support=structure.support | ~known[..., None])
    no_rows = structure._replace(
        kinds=np.where(known, STATIONARY, structure.kinds), known=np.zeros_like(structure.known)
    )
    if knowledge == "moves":
        return no_rows
    return no_rows._replace(support=np.ones_like(structure.support), kinds=np.full_like(structure.kinds, DRIFTING))


def restless_problem(policy: str, problem: Problem) -> tuple[int, int, RestlessStructure]:
    """How many arms there are, how many are activated, and what is known of them; refused where none move."""
    n_arms = whole("n_arms", problem.n_arms)
    structure = problem.structure
    if not isinstance(structure, RestlessStructure):
        raise ParameterError(f"{policy} activates arms that move on their own, and this problem has none")
    if len(structure.classes) != n_arms:
        raise ParameterError(f"n_arms={n_arms} does not fit the classes of {len(structure.classes)} arms")
    return n_arms, whole("slate", problem.slate, high=n_arms), structure


def checked_rows(transitions: Floats, which: NDArray[np.bool_] | None = None) -> Floats:
    """Transitions whose rows are probabilities and sum to one, exactly; the first that is neither is named.

    `which` says which rows to check; all if it is not given.
    """
    looked = np.ones(transitions.shape[:-1], np.bool_) if which is None else which
    strange = looked & ~((transitions >= 0.0) & (transitions <= 1.0 + ROUNDING)).all(axis=-1)
    if strange.any():
        row = transitions[tuple(np.argwhere(strange)[0])]
        value = row[~((row >= 0.0) & (row <= 1.0 + ROUNDING))][0]
        raise ParameterError(f"{_named(strange)} has {value:g} in it, which is not a probability")
    totals = transitions.sum(axis=-1)
    wrong = looked & ~(np.abs(totals - 1.0) <= ROUNDING)
    if wrong.any():
        total = totals[tuple(np.argwhere(wrong)[0])]
        raise ParameterError(f"{_named(wrong)} sums to {total:.9g}, not to one")
    scaled: Floats = transitions / np.where(looked, totals, 1.0)[..., None]
    return scaled


def _named(wrong: NDArray[np.bool_]) -> str:
    """The first row that is wrong, by its class, action and state, and the episode where transitions have one."""
    *episode, c, a, s = np.argwhere(wrong)[0]
    when = f" in episode {episode[0]}" if episode else ""
    return _row(c, a, s, wrong.shape[-3]) + when


def _row(c: int, a: int, s: int, n_classes: int) -> str:
    whose = f" of class {c}" if n_classes > 1 else ""
    return f"row {s} of the {ACTIONS[a]} transitions{whose}"


def _array(name: str, values: object, kind: type[np.generic]) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        whole_numbers = array.dtype.kind in "biu"
        return array.astype(kind, casting="unsafe" if kind is np.bool_ and whole_numbers else "same_kind")
    except (TypeError, ValueError):
        raise ParameterError(f"{name} is not an array of numbers with rows of the same length") from None


def _table(name: str, values: object, shape: tuple[int, ...], kind: type[np.generic] = np.float64) -> NDArray[Any]:
    """A table for every class; one number, or one table for all classes, is spread out."""
    table = _array(name, values, kind)
    if table.ndim and table.shape not in (shape, shape[1:]):
        raise ParameterError(f"{name} has shape {table.shape}, not {shape[1:]} or {shape}")
    return np.array(np.broadcast_to(table, shape), order="C")  # in any other order kernels would be compiled anew


def _classes(values: object, n_arms: int, n_classes: int) -> Ints:
    if values is None:
        if n_classes not in (1, n_arms):
            raise ParameterError(f"there are {n_classes} classes and {n_arms} arms: say which arm is of which class")
        return np.zeros(n_arms, np.int64) if n_classes == 1 else np.arange(n_arms)
    classes = _array("classes", values, np.int64)
    if classes.shape != (n_arms,):
        raise ParameterError(f"classes has shape {classes.shape}: it must name the class of each of {n_arms} arms")
    if classes.min() < 0 or classes.max() >= n_classes:
        wrong = classes[(classes < 0) | (classes >= n_classes)][0]
        raise ParameterError(f"class {wrong} is not one of the {n_classes} there are, counted from 0")
    return np.ascontiguousarray(classes)


def _costs(values: object, n_arms: int) -> Floats:
    costs = _array("costs", values, np.float64)
    if costs.shape not in ((), (n_arms,)):
        raise ParameterError(f"costs has shape {costs.shape}: it must be one number, or one for each of {n_arms} arms")
    if not np.isfinite(costs).all():
        raise ParameterError("costs holds something that is not a finite number")
    return np.array(np.broadcast_to(costs, n_arms), np.float64)


def _finite(name: str, table: Floats) -> Floats:
    if not np.isfinite(table).all():
        raise ParameterError(f"{name} has {table[~np.isfinite(table)][0]} in it, which is not a finite number")
    return table


def _drift(values: object, n_classes: int) -> Floats:
    """The drift of each class; a row of probabilities cannot move by more than 2."""
    drift = _array("drift", values, np.float64)
    if drift.shape not in ((), (n_classes,)):
        raise ParameterError(
            f"drift has shape {drift.shape}: it must be one number, or one for each of {n_classes} classes"
        )
    wrong = ~((drift == UNSAID) | ((drift >= 0.0) & (drift <= 2.0)))
    if wrong.any():
        raise ParameterError(f"drift={np.atleast_1d(drift)[np.atleast_1d(wrong)][0]:g} is outside [0, 2]")
    return np.array(np.broadcast_to(drift, n_classes), np.float64)
