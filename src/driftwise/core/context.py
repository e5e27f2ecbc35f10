"""What the loop does by the shape of a context, an action or a reward, inside compiled code and out.

decision_of(..., context, row, rng)   a decision that keeps `row` of a matrix of features, or nothing
outcome_of(reward)                    a number becomes an Outcome, the rewards of a slate a SlateOutcome
worth(means, action)                  the mean of an arm, or the sum over the items of a slate
put_away(box, slot, context)          keep a row of features for later; an empty box keeps nothing
note(actions, i, action)              write an action down: a number, or the items of a slate
"""

from typing import Any

import numpy as np

from driftwise.core.types import Decision, Floats, Outcome, SlateOutcome


def decision_of(t: int, action: Any, propensity: float, context: Any, row: int, rng: Any) -> Decision:
    """A decision, with what describes the action chosen: all that `update` will need to know of the context."""
    return Decision(t, action, propensity, context[row] if _is_matrix(context) else context, rng)


def outcome_of(reward: Any) -> Any:
    """What came of a decision, from what was reported."""
    return SlateOutcome(float(np.sum(reward)), reward) if isinstance(reward, np.ndarray) else Outcome(reward)


def worth(means: Floats, action: Any) -> float:
    """The mean reward of an action, from the mean of every arm."""
    return float(means[action].sum()) if isinstance(action, np.ndarray) else float(means[action])


def put_away(box: Any, slot: int, context: Any) -> None:
    """Put what describes an action into a slot of a box."""
    if isinstance(box, np.ndarray):
        box[slot] = context


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

    def outcome(reward: Any) -> Any:
        return _of_slate if isinstance(reward, array) else lambda reward: Outcome(reward)

    def mean(means: Any, action: Any) -> Any:
        return _sum_over if isinstance(action, array) else lambda means, action: means[action]

    def box(box: Any, slot: Any, context: Any) -> Any:
        return _copy_row if isinstance(box, array) else lambda box, slot, context: None

    def mark(actions: Any, i: Any, action: Any) -> Any:
        return _copy_row if isinstance(action, array) else note

    options = {"forceinline": True, "error_model": "numpy", "_nrt": False}
    resolvers = {decision_of: decision, outcome_of: outcome, worth: mean, put_away: box, note: mark}
    for function, resolve in resolvers.items():
        numba.extending.overload(function, jit_options=options, strict=False)(resolve)


def _with_row(t: int, action: Any, propensity: float, context: Any, row: int, rng: Any) -> Decision:
    return Decision(t, action, propensity, context[row], rng)


def _as_it_is(t: int, action: Any, propensity: float, context: Any, row: int, rng: Any) -> Decision:
    return Decision(t, action, propensity, context, rng)


def _of_slate(reward: Any) -> SlateOutcome:
    total = 0.0
    for each in reward:
        total += each
    return SlateOutcome(total, reward)


def _sum_over(means: Any, action: Any) -> float:
    total = 0.0
    for item in action:
        total += means[item]
    return total


def _copy_row(box: Any, slot: int, context: Any) -> None:
    for i in range(len(context)):
        box[slot, i] = context[i]
