"""Whittle indices of one arm or of many: `whittle_index`, for people. Arms that are alike are worked out once.

    index = whittle_index(passive, active, rewards, discount=0.99)
    index.values                 an index per state, a row per arm
    index.indexable              whether each arm is indexable

What is told is checked here, once: the kernels of `whittle` trust what they are given.
"""

import functools
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftwise.core.kernel import kernel
from driftwise.core.rules import number, whole
from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError
from driftwise.kernels.restless_lines import RestlessArm
from driftwise.kernels.whittle import WhittleRoom, new_whittle_room, whittle_indices
from driftwise.kernels.whittle_sweep import INDEXABLE, NOT_INDEXABLE, UNDEFINED

ROUNDING = 1e-6  # how far a row may be from summing to one: what single precision leaves
WORTH = 100_000  # arms times cubed states from which on a thread pays

PRIME = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


class WhittleIndex(NamedTuple):
    """An index per state and whether the arm is indexable: of one arm, or with a first axis over arms."""

    values: Floats
    indexable: Any


class Arms(NamedTuple):
    """Arms side by side: kernels with an axis over arms, a row of rewards per arm."""

    passive: Floats
    active: Floats
    idle: Floats
    busy: Floats
    discount: float


def whittle_index(
    passive: ArrayLike, active: ArrayLike, rewards: ArrayLike, discount: float | None, *, threads: int | None = None
) -> WhittleIndex:
    """The Whittle index of every state: the charge for activating up to which activating pays.

    Parameters
    ----------
    passive, active
        The kernels of an arm that is left alone and that is activated: (S, S), or (N, S, S) for N arms. Row s says
        where state s goes. Rows that sum to one up to 1e-6 are scaled.
    rewards
        A number per state, (S,), the same whether active or not; or one when passive and one when active, (S, 2).
        For N arms (N, S) or (N, S, 2), or (S,) for all of them.
    discount
        In (0, 1), or None for the average reward.
    threads
        How many arms are worked on at a time; by default as many as there are processors.

    Returns
    -------
    `values`, exact up to rounding, and `indexable`. An arm that is not indexable is warned of; the index of a state is
    then the charge from which on it stays passive. Where there is no index the arm is warned of too, and it is nan.

    >>> stays, moves = np.eye(2), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> whittle_index(stays, moves, [0.0, 1.0], discount=0.5).values.tolist()
    [1.0, 0.0]
    """
    arms, single = _told(passive, active, rewards, discount)
    firsts = _alike(arms)
    distinct: Ints = np.flatnonzero(firsts == np.arange(len(firsts)))
    values, status = np.empty(arms.idle.shape), np.empty(len(firsts), np.int64)
    _share(arms, distinct, values, status, os.cpu_count() or 1 if threads is None else whole("threads", threads))
    if len(distinct) < len(firsts):
        values, status = values[firsts], status[firsts]
    if (status != INDEXABLE).any():
        _warn(status, single, discount)
    indexable = status == INDEXABLE
    return WhittleIndex(values[0], bool(indexable[0])) if single else WhittleIndex(values, indexable)


def _told(passive: ArrayLike, active: ArrayLike, rewards: ArrayLike, discount: float | None) -> tuple[Arms, bool]:
    """The arms as the compiled code wants them, and whether it was a single one."""
    factor = 1.0 if discount is None else _discount(discount)
    kernels = {"passive": _numbers("passive", passive), "active": _numbers("active", active)}
    pays = _numbers("rewards", rewards)
    shape = kernels["passive"].shape
    single = len(shape) == 2
    if len(shape) not in (2, 3) or shape[-1] != shape[-2] or 0 in shape:
        raise ParameterError(f"passive has shape {shape}, not (states, states) or (arms, states, states)")
    if kernels["active"].shape != shape:
        raise ParameterError(f"active has shape {kernels['active'].shape}, passive has {shape}: they must be the same")
    n_arms, size = 1 if single else shape[0], shape[-1]
    kernels = {name: told.reshape(n_arms, size, size) for name, told in kernels.items()}
    for name, told in kernels.items():
        wrong = scale_rows(told)
        if wrong >= 0:
            raise ParameterError(_row(name, told, wrong, single))
    given = [(size,), (size, 2)] if single else [(size,), (n_arms, size), (n_arms, size, 2)]
    if pays.shape not in given:
        raise ParameterError(f"rewards has shape {pays.shape}, not {' or '.join(map(str, given))}")
    if not np.isfinite(pays).all():
        raise ParameterError(f"rewards has {pays[~np.isfinite(pays)][0]} in it, which is not a finite number")
    both = pays.ndim == (2 if single else 3)
    idle, busy = (pays[..., 0], pays[..., 1]) if both else (pays, pays)
    idle, busy = (np.ascontiguousarray(np.broadcast_to(each, (n_arms, size))) for each in (idle, busy))
    return Arms(kernels["passive"], kernels["active"], idle, busy, factor), single


def _discount(value: float) -> float:
    try:
        return number("discount", value, above=0.0, below=1.0)
    except ParameterError as error:
        raise ParameterError(f"{error}: None stands for the average reward") from None


def _numbers(name: str, told: ArrayLike) -> Floats:
    try:
        return np.array(told, np.float64, order="C")
    except (TypeError, ValueError):
        raise ParameterError(f"{name} is not an array of numbers with rows of the same length") from None


def _row(name: str, told: Floats, wrong: int, single: bool) -> str:
    """What is wrong with a row."""
    arm, state = divmod(wrong, told.shape[1])
    row = told[arm, state]
    which = f"row {state} of {name}" + ("" if single else f", arm {arm},")
    strange = row[~((row >= 0.0) & (row <= 1.0 + ROUNDING))]
    if len(strange):
        return f"{which} has {strange[0]:g} in it, which is not a probability"
    return f"{which} sums to {row.sum():.9g}, not to one"


@kernel(inline=False)
def scale_rows(kernels: Floats) -> int:
    """Let all rows sum to one exactly; return the number of the first that is far from it, -1 when none is."""
    size = kernels.shape[1]
    for arm in range(len(kernels)):
        for state in range(size):
            row, total, lowest = kernels[arm, state], 0.0, 0.0
            for j in range(size):
                total += row[j]
                lowest = min(lowest, row[j])
            if not (abs(total - 1.0) <= ROUNDING and lowest >= 0.0):
                return int(arm * size + state)
            for j in range(size):
                row[j] /= total
    return -1


def _alike(arms: Arms) -> Ints:
    """For every arm the first that is the same in all numbers."""
    marks = np.empty(len(arms.idle), np.uint64)
    _mark(arms, marks)
    seen: dict[int, int] = {}
    firsts = np.array([seen.setdefault(mark, arm) for arm, mark in enumerate(marks.tolist())])
    _confirm(arms, firsts)
    return firsts


@kernel(inline=False)
def _mark(arms: Arms, marks: NDArray[np.uint64]) -> None:
    """A number per arm, the same for arms that are alike, and hardly ever for others."""
    size = arms.idle.shape[1]
    for arm in range(len(marks)):
        mark = np.uint64(arms.idle.shape[0])
        for i in range(size):
            mark = _mixed(_mixed(mark, arms.idle[arm, i]), arms.busy[arm, i])
            for j in range(size):
                mark = _mixed(_mixed(mark, arms.passive[arm, i, j]), arms.active[arm, i, j])
        marks[arm] = mark


@kernel
def _mixed(mark: Any, value: float) -> Any:
    mark = (mark ^ np.float64(value).view(np.uint64)) * PRIME
    return mark ^ (mark >> HALF)


@kernel(inline=False)
def _confirm(arms: Arms, firsts: Ints) -> None:
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


def _share(arms: Arms, which: Ints, values: Floats, status: Ints, threads: int) -> None:
    """Work the arms `which` out, on as many threads as are worth it."""
    size = arms.idle.shape[1]
    threads = max(1, min(threads, len(which), len(which) * size**3 // WORTH))
    parts = np.array_split(which, threads)
    if threads == 1:
        _worker()(new_whittle_room(size), arms, which, values, status)
        return
    with ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(_worker(), new_whittle_room(size), arms, part, values, status) for part in parts]
        for job in jobs:
            job.result()


@functools.cache
def _worker() -> Callable[..., Any]:
    """`index_arms` without dispatch: the types are the same for any number of arms and states."""
    one = np.ones((1, 1, 1))
    arms = Arms(one, one, one[0], one[0], 0.5)
    return index_arms.bind(new_whittle_room(1), arms, np.zeros(1, np.int64), one[0], np.zeros(1, np.int64))


@kernel(inline=False)
def index_arms(room: WhittleRoom, arms: Arms, which: Ints, values: Floats, status: Ints) -> None:
    """The indices and the status of the arms `which`."""
    for k in range(len(which)):
        n = which[k]
        arm = RestlessArm(arms.passive[n], arms.active[n], arms.idle[n], arms.busy[n], arms.discount)
        status[n] = whittle_indices(room, arm, values[n])


def _warn(status: Ints, single: bool, discount: float | None) -> None:
    split = "for the average reward, a policy with a charge splits its states into parts that never meet"
    lost = f"rounding leaves no digits of it at discount={discount}"
    reasons = {
        NOT_INDEXABLE: ("not indexable", "the index of a state is the charge from which on it stays passive"),
        UNDEFINED: ("without an index", f"{split if discount is None else lost}; it is nan"),
    }
    for code, (what, instead) in reasons.items():
        found = np.flatnonzero(status == code)
        if len(found):
            who = "the arm is" if single else f"{len(found)} of {len(status)} arms are"
            first = "" if single else f", arm {found[0]} first"
            warnings.warn(f"{who} {what}{first}: {instead}", stacklevel=3)
