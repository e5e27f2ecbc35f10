"""What the loop does by the shape of a context, an action or a reward, inside compiled code and out.

decision_of(..., context, row, rng)   a decision with `row` of a matrix of features, or with nothing
outcome_of(value)                     a number becomes an Outcome, the rewards of a slate a SlateOutcome; else as it is
worth(means, action)                  the mean of an arm, none for the null arm, or the sum over the items of a slate
put_row(box, slot, context)           store a row of numbers for later; an empty box stores nothing
put_costs(box, slot, outcome)         store the costs of an outcome for later; an empty box stores nothing
take_outcome(box, slot, reward)       a late outcome, with the costs that were stored
note(actions, i, action)              write an action into a trace: a number, or the items of a slate
"""

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.core.types import Array, Decision, Floats, Ints, Outcome, SlateOutcome, Spent

if TYPE_CHECKING:
    from numba.types import Type as NumbaType

Action = int | Ints | Floats  # an arm, several, or a point
Context = Floats | tuple[()]  # a matrix of features, the row of one action, or nothing
Box = Floats | tuple[()]  # a row per slot, or nothing
KernelOutcome = tuple[Any, ...]  # Outcome, SlateOutcome, or the outcome of another family
Reported = float | Floats | KernelOutcome
Body = Callable[..., Any]  # the Python function that numba compiles for some types


def decision_of(t: int, action: Action, propensity: float, context: Context, row: int, rng: np.uint64) -> Decision:
    """A decision, with what describes the action chosen: all that `update` will need to know of the context."""
    return Decision(t, action, propensity, row_of(context, row), rng)


def outcome_of(value: Reported) -> KernelOutcome:
    """The outcome that `update` reads, from what an adapter read."""
    if isinstance(value, tuple):
        return value
    return SlateOutcome(float(np.sum(value)), value) if isinstance(value, np.ndarray) else Outcome(value)


def worth(means: Floats, action: int | Ints) -> float:
    """The mean reward of an action, from the mean of every arm."""
    if isinstance(action, np.ndarray):
        return float(means[action].sum())
    return float(means[action]) if action >= 0 else 0.0


def put_row(box: Box, slot: int, context: Context) -> None:
    """Put what describes an action into a slot of a box."""
    if isinstance(box, np.ndarray):
        box[slot] = context


def put_costs(box: Box, slot: int, outcome: Spent) -> None:
    """Put what an outcome cost into a slot of a box."""
    if isinstance(box, np.ndarray):
        box[slot] = outcome.costs


def take_outcome(box: Box, slot: int, reward: float) -> Outcome | Spent:
    """An outcome from a slot of a box of costs, or one without."""
    return Spent(reward, box[slot]) if isinstance(box, np.ndarray) else Outcome(reward)


def note(actions: Array, i: int, action: Action) -> None:
    """Write down the action of round i."""
    actions[i] = action


def row_of(context: Context, row: int) -> Context:
    """The row of a matrix of features; anything else as it is."""
    return context[row] if isinstance(context, np.ndarray) and context.ndim == 2 else context


def teach(numba: ModuleType, how: dict[str, Any]) -> None:
    """Make them callable inside compiled code, where the shape is known from the type; `how` they are compiled."""
    array = numba.types.Array

    def decision(
        t: "NumbaType",
        action: "NumbaType",
        propensity: "NumbaType",
        context: "NumbaType",
        row: "NumbaType",
        rng: "NumbaType",
    ) -> Body:
        return _with_row if isinstance(context, array) and context.ndim == 2 else _as_it_is

    def outcome(value: "NumbaType") -> Body:
        if isinstance(value, numba.types.BaseTuple):
            return lambda value: value
        return _of_slate if isinstance(value, array) else lambda value: Outcome(value)

    def mean(means: "NumbaType", action: "NumbaType") -> Body:
        return _sum_over if isinstance(action, array) else _of_one

    def box(box: "NumbaType", slot: "NumbaType", context: "NumbaType") -> Body:
        return _copy_row if isinstance(box, array) else lambda box, slot, context: None

    def costs(box: "NumbaType", slot: "NumbaType", outcome: "NumbaType") -> Body:
        return _copy_costs if isinstance(box, array) else lambda box, slot, outcome: None

    def recall(box: "NumbaType", slot: "NumbaType", reward: "NumbaType") -> Body:
        return _with_costs if isinstance(box, array) else lambda box, slot, reward: Outcome(reward)

    def mark(actions: "NumbaType", i: "NumbaType", action: "NumbaType") -> Body:
        return _copy_row if isinstance(action, array) else note

    options = {"forceinline": True, "error_model": "numpy", "_nrt": False} | how
    resolvers = {decision_of: decision, outcome_of: outcome, worth: mean, put_row: box, note: mark}
    resolvers |= {put_costs: costs, take_outcome: recall}
    for function, resolve in resolvers.items():
        numba.extending.overload(function, jit_options=options, strict=False)(resolve)


def _with_row(t: int, action: Action, propensity: float, context: Floats, row: int, rng: np.uint64) -> Decision:
    return Decision(t, action, propensity, context[row], rng)


def _as_it_is(t: int, action: Action, propensity: float, context: Context, row: int, rng: np.uint64) -> Decision:
    return Decision(t, action, propensity, context, rng)


def _of_slate(value: Floats) -> SlateOutcome:
    total = 0.0
    for each in value:
        total += each
    return SlateOutcome(total, value)


def _of_one(means: Floats, action: int) -> float:
    return float(means[action]) if action >= 0 else 0.0


def _sum_over(means: Floats, action: Ints) -> float:
    total = 0.0
    for item in action:
        total += means[item]
    return total


def _copy_row(box: Floats, slot: int, context: Floats) -> None:
    for i in range(len(context)):
        box[slot, i] = context[i]


def _copy_costs(box: Floats, slot: int, outcome: Spent) -> None:
    for i in range(len(outcome.costs)):
        box[slot, i] = outcome.costs[i]


def _with_costs(box: Floats, slot: int, reward: float) -> Spent:
    return Spent(reward, box[slot])
