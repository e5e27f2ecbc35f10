"""What the loop does by the shape of a context, an action or a reward, inside compiled code and out.

decision_of(..., context, row, rng)   a decision that keeps `row` of a matrix of features, or nothing
outcome_of(told)                      a number becomes an Outcome, the rewards of a slate a SlateOutcome; else as it is
worth(means, action)                  the mean of an arm, none for the null arm, or the sum over the items of a slate
put_away(box, slot, context)          keep a row of numbers for later; an empty box keeps nothing
put_costs(box, slot, outcome)         keep what an outcome cost for later; an empty box keeps nothing
recalled(box, slot, reward)           an outcome of long ago, with the costs that were kept
note(actions, i, action)              write an action down: a number, or the items of a slate
"""

from typing import Any

import numpy as np

from driftwise.core.types import Decision, Floats, Outcome, SlateOutcome, Spent


def decision_of(t: int, action: Any, propensity: float, context: Any, row: int, rng: Any) -> Decision:
    """A decision, with what describes the action chosen: all that `update` will need to know of the context."""
    return Decision(t, action, propensity, context[row] if _is_matrix(context) else context, rng)


def outcome_of(told: Any) -> Any:
    """What came of a decision, from what was reported."""
    if isinstance(told, tuple):
        return told
    return SlateOutcome(float(np.sum(told)), told) if isinstance(told, np.ndarray) else Outcome(told)


def worth(means: Floats, action: Any) -> float:
    """The mean reward of an action, from the mean of every arm."""
    if isinstance(action, np.ndarray):
        return float(means[action].sum())
    return float(means[action]) if action >= 0 else 0.0


def put_away(box: Any, slot: int, context: Any) -> None:
    """Put what describes an action into a slot of a box."""
    if isinstance(box, np.ndarray):
        box[slot] = context


def put_costs(box: Any, slot: int, outcome: Any) -> None:
    """Put what an outcome cost into a slot of a box."""
    if isinstance(box, np.ndarray):
        box[slot] = outcome.costs


def recalled(box: Any, slot: int, reward: float) -> Any:
    """An outcome from a slot of a box of costs, or one without."""
    return Spent(reward, box[slot]) if isinstance(box, np.ndarray) else Outcome(reward)


def note(actions: Any, i: int, action: Any) -> None:
    """Write down the action of round i."""
    actions[i] = action


def _is_matrix(context: Any) -> bool:
    return isinstance(context, np.ndarray) and context.ndim == 2


def teach(numba: Any) -> None:
    """Make them callable inside compiled code, where the shape is known from the type."""
    array = numba.types.Array

    def decision(t: Any, action: Any, propensity: Any, context: Any, row: Any, rng: Any) -> Any:
        return _with_row if isinstance(context, array) and context.ndim == 2 else _as_it_is

    def outcome(told: Any) -> Any:
        if isinstance(told, numba.types.BaseTuple):
            return lambda told: told
        return _of_slate if isinstance(told, array) else lambda told: Outcome(told)

    def mean(means: Any, action: Any) -> Any:
        return _sum_over if isinstance(action, array) else _of_one

    def box(box: Any, slot: Any, context: Any) -> Any:
        return _copy_row if isinstance(box, array) else lambda box, slot, context: None

    def costs(box: Any, slot: Any, outcome: Any) -> Any:
        return _copy_costs if isinstance(box, array) else lambda box, slot, outcome: None

    def recall(box: Any, slot: Any, reward: Any) -> Any:
        return _with_costs if isinstance(box, array) else lambda box, slot, reward: Outcome(reward)

    def mark(actions: Any, i: Any, action: Any) -> Any:
        return _copy_row if isinstance(action, array) else note

    options = {"forceinline": True, "error_model": "numpy", "_nrt": False}
    resolvers = {decision_of: decision, outcome_of: outcome, worth: mean, put_away: box, note: mark}
    resolvers |= {put_costs: costs, recalled: recall}
    for function, resolve in resolvers.items():
        numba.extending.overload(function, jit_options=options, strict=False)(resolve)


def _with_row(t: int, action: Any, propensity: float, context: Any, row: int, rng: Any) -> Decision:
    return Decision(t, action, propensity, context[row], rng)


def _as_it_is(t: int, action: Any, propensity: float, context: Any, row: int, rng: Any) -> Decision:
    return Decision(t, action, propensity, context, rng)


def _of_slate(told: Any) -> SlateOutcome:
    total = 0.0
    for each in told:
        total += each
    return SlateOutcome(total, told)


def _of_one(means: Any, action: int) -> float:
    return float(means[action]) if action >= 0 else 0.0


def _sum_over(means: Any, action: Any) -> float:
    total = 0.0
    for item in action:
        total += means[item]
    return total


def _copy_row(box: Any, slot: int, context: Any) -> None:
    for i in range(len(context)):
        box[slot, i] = context[i]


def _copy_costs(box: Any, slot: int, outcome: Any) -> None:
    for i in range(len(outcome.costs)):
        box[slot, i] = outcome.costs[i]


def _with_costs(box: Any, slot: int, reward: float) -> Spent:
    return Spent(reward, box[slot])
