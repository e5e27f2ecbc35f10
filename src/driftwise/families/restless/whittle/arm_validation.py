"""Restless arms as people tell them: checked once, scaled, and those that are alike found.

Kernels that work on arms trust what they are given; this is the entrance. Rows that sum to one up to ROUNDING are
scaled to do so exactly, for the maths needs it: a constant must have the same mean under every row.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints
from driftwise.core.validation import number
from driftwise.errors import ParameterError

ROUNDING = 1e-6  # how far a row may be from summing to one: what single precision leaves
PASSIVE_ROW, ACTIVE_ROW, REWARD = 1, 2, 3  # what may be wrong

PRIME = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


class ValidArms(NamedTuple):
    """Arms side by side: transitions with an axis over arms, a row of rewards per arm when passive and when active."""

    passive: Floats
    active: Floats
    idle: Floats
    busy: Floats
    discount: float


def valid_arms(
    passive: ArrayLike, active: ArrayLike, rewards: ArrayLike, discount: float | None
) -> tuple[ValidArms, bool]:
    """The arms as the compiled code wants them, and whether it was a single one without an axis over arms."""
    share = 1.0 if discount is None else _discount(discount)
    transitions, pays = (_numbers("passive", passive), _numbers("active", active)), _numbers("rewards", rewards)
    shape = transitions[0].shape
    single = len(shape) == 2
    if len(shape) not in (2, 3) or shape[-1] != shape[-2] or 0 in shape:
        raise ParameterError(f"passive has shape {shape}, not (states, states) or (arms, states, states)")
    if transitions[1].shape != shape:
        raise ParameterError(f"active has shape {transitions[1].shape}, passive has {shape}: they must be the same")
    n_arms, size = 1 if single else shape[0], shape[-1]
    whole = (n_arms, size, size)
    idle, busy = np.empty((2, n_arms, size))
    arms = ValidArms(transitions[0].reshape(whole), transitions[1].reshape(whole), idle, busy, share)
    what, where = _take()(arms, _by_arm(pays, n_arms, size, single))
    if what == REWARD:
        raise ParameterError(f"rewards has {pays[~np.isfinite(pays)][0]} in it, which is not a finite number")
    if what:
        name, values = ("passive", arms.passive) if what == PASSIVE_ROW else ("active", arms.active)
        raise ParameterError(_row(name, values, where, single))
    return arms, single


def _discount(value: float) -> float:
    try:
        return number("discount", value, above=0.0, below=1.0)
    except ParameterError as error:
        raise ParameterError(f"{error}: None stands for the average reward") from None


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        return np.array(values, np.float64, order="C")
    except (TypeError, ValueError):
        raise ParameterError(f"{name} is not an array of numbers with rows of the same length") from None


def _by_arm(pays: Floats, n_arms: int, size: int, single: bool) -> Floats:
    """Rewards by arm, state and action, where all arms, or both actions, may share one."""
    shape = pays.shape
    if shape == (size,):
        return pays.reshape(1, size, 1)
    if shape == ((size, 2) if single else (n_arms, size, 2)):
        return pays.reshape(n_arms, size, 2)
    if not single and shape == (n_arms, size):
        return pays.reshape(n_arms, size, 1)
    shapes = f"({size}, 2)" if single else f"({n_arms}, {size}) or ({n_arms}, {size}, 2)"
    raise ParameterError(f"rewards has shape {shape}, not ({size},) or {shapes}")


def _row(name: str, values: Floats, wrong: int, single: bool) -> str:
    """What is wrong with a row."""
    arm, state = divmod(wrong, values.shape[1])
    row = values[arm, state]
    which = f"row {state} of {name}" + ("" if single else f", arm {arm},")
    strange = row[~((row >= 0.0) & (row <= 1.0 + ROUNDING))]
    if len(strange):
        return f"{which} has {strange[0]:g} in it, which is not a probability"
    return f"{which} sums to {row.sum():.9g}, not to one"


@functools.cache
def _take() -> Callable[..., Any]:
    """`take` without dispatch."""
    one = np.ones((1, 1, 1))
    return take.bind(ValidArms(one, one, one[0], one[0], 0.5), one)


@kernel(inline=False)
def take(arms: ValidArms, pays: Floats) -> tuple[int, int]:
    """Scale the rows and take the rewards; what is wrong, 0 for nothing, and in which row."""
    wrong = scale_rows(arms.passive)
    if wrong >= 0:
        return PASSIVE_ROW, wrong
    wrong = scale_rows(arms.active)
    if wrong >= 0:
        return ACTIVE_ROW, wrong
    total, shared, last = 0.0, len(pays) == 1, pays.shape[2] - 1
    for arm in range(len(arms.idle)):
        row = pays[0] if shared else pays[arm]
        for state in range(len(row)):
            arms.idle[arm, state], arms.busy[arm, state] = row[state, 0], row[state, last]
            total += 0.0 * (row[state, 0] + row[state, last])
    return (0 if total == 0.0 else REWARD), 0


@kernel(inline=False)
def scale_rows(transitions: Floats) -> int:
    """Let all rows sum to one exactly; return the number of the first that is far from it, -1 when none is."""
    size = transitions.shape[1]
    for arm in range(len(transitions)):
        for state in range(size):
            row, total, lowest = transitions[arm, state], 0.0, 0.0
            for j in range(size):
                total += row[j]
                lowest = min(lowest, row[j])
            if not (abs(total - 1.0) <= ROUNDING and lowest >= 0.0):
                return int(arm * size + state)
            for j in range(size):
                row[j] /= total
    return -1


# ---- alike ----


def alike(arms: ValidArms) -> Ints:
    """For every arm the first that is the same in all numbers."""
    marks = np.empty(len(arms.idle), np.uint64)
    mark(arms, marks)
    seen: dict[int, int] = {}
    firsts = np.array([seen.setdefault(number, arm) for arm, number in enumerate(marks.tolist())])
    _confirm(arms, firsts)
    return firsts


@kernel(inline=False)
def mark(arms: ValidArms, marks: NDArray[np.uint64]) -> None:
    """A number per arm, the same for arms that are alike, and hardly ever for others."""
    size = arms.idle.shape[1]
    for arm in range(len(marks)):
        number = np.uint64(size)
        for i in range(size):
            number = _mixed(_mixed(number, arms.idle[arm, i]), arms.busy[arm, i])
            for j in range(size):
                number = _mixed(_mixed(number, arms.passive[arm, i, j]), arms.active[arm, i, j])
        marks[arm] = number


@kernel
def _mixed(number: Any, value: float) -> Any:
    number = (number ^ np.float64(value).view(np.uint64)) * PRIME
    return number ^ (number >> HALF)


@kernel(inline=False)
def _confirm(arms: ValidArms, firsts: Ints) -> None:
    """An arm that only has the mark of another stands for itself."""
    size = arms.idle.shape[1]
    for arm in range(len(firsts)):
        first, same = firsts[arm], True
        for i in range(size):
            same &= arms.idle[arm, i] == arms.idle[first, i] and arms.busy[arm, i] == arms.busy[first, i]
            for j in range(size):
                same &= arms.passive[arm, i, j] == arms.passive[first, i, j]
                same &= arms.active[arm, i, j] == arms.active[first, i, j]
        if not same:
            firsts[arm] = arm
