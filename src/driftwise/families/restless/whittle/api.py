"""Whittle indices of one arm or of many: `whittle_index`, for people.

    index = whittle_index(passive, active, rewards, discount=0.99)
    index.values                 an index per state, a row per arm
    index.indexable              whether each arm is indexable

Arms that are alike are worked out once, and the others on as many threads as are worth it.
"""

import functools
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftwise.core.cores import available_cores
from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints
from driftwise.core.validation import whole
from driftwise.errors import ParameterError
from driftwise.families.restless.whittle.advantage_lines import RestlessArm
from driftwise.families.restless.whittle.arm_validation import ValidArms, alike, valid_arms
from driftwise.families.restless.whittle.index import WhittleRoom, new_whittle_room, whittle_indices
from driftwise.families.restless.whittle.sweep import INDEXABLE, NOT_INDEXABLE, UNDEFINED
from driftwise.families.restless.whittle.warm_start import WhittleMemory, new_whittle_memory, whittle_again

WORTH = 100_000  # arms times cubed states from which on a thread pays

ALONE: Ints = np.zeros(1, np.int64)


class WhittleIndex(NamedTuple):
    """An index per state and whether the arm is indexable: of one arm, or with a first axis over arms."""

    values: Floats
    indexable: Any


def whittle_index(
    passive: ArrayLike,
    active: ArrayLike,
    rewards: ArrayLike,
    discount: float | None,
    *,
    threads: int | None = None,
    memory: WhittleMemory | None = None,
) -> WhittleIndex:
    """The Whittle index of every state: the charge for activating up to which activating pays.

    Parameters
    ----------
    passive, active
        The transitions of an arm that is left alone and that is activated: (S, S), or (N, S, S) for N arms. Row s says
        where state s goes. Rows that sum to one up to 1e-6 are scaled.
    rewards
        A number per state, (S,), the same whether active or not; or one when passive and one when active, (S, 2).
        For N arms (N, S) or (N, S, 2), or (S,) for all of them.
    discount
        In (0, 1), or None for the average reward.
    threads
        How many arms are worked on at a time; by default as many as there are processors.
    memory
        `new_whittle_memory(n_arms, n_states)`, for arms that are asked about again and again: arms of 30 states or more
        whose transitions changed in a few rows since last time take about half the time. It is written to.

    Returns
    -------
    WhittleIndex
        `values`, exact up to rounding, and `indexable`. An arm that is not indexable is warned of; the index of a state
        is then the charge from which on it stays passive. Where there is no index the arm is warned of too, and it is
        nan.

    >>> stays, moves = np.eye(2), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> whittle_index(stays, moves, [0.0, 1.0], discount=0.5).values.tolist()
    [1.0, 0.0]
    """
    arms, single = valid_arms(passive, active, rewards, discount)
    if memory is not None and memory.passive.shape != arms.passive.shape:
        shapes = f"{memory.passive.shape}, these have {arms.passive.shape}"
        raise ParameterError(f"the memory is for arms of shape {shapes}")
    workers = 0 if threads is None else whole("threads", threads)
    values, status = np.empty(arms.idle.shape), np.empty(len(arms.idle), np.int64)
    if len(status) == 1:
        share(arms, memory, ALONE, values, status, 1)
    else:
        firsts = alike(arms)
        distinct: Ints = np.flatnonzero(firsts == np.arange(len(firsts)))
        share(arms, memory, distinct, values, status, workers or available_cores())
        values, status = values[firsts], status[firsts]
    if (status.min() if len(status) > 1 else status[0]) < INDEXABLE:
        _warn(status, single, discount)
    return (
        WhittleIndex(values[0], bool(status[0] == INDEXABLE)) if single else WhittleIndex(values, status == INDEXABLE)
    )


def share(
    arms: ValidArms, memory: WhittleMemory | None, which: Ints, values: Floats, status: Ints, threads: int
) -> None:
    """Work the arms `which` out, on as many threads as are worth it."""
    size = arms.idle.shape[1]
    threads = max(1, min(threads, len(which), len(which) * size**3 // WORTH))
    work = _worker(False) if memory is None else functools.partial(_worker(True), memory)
    if threads == 1:
        work(arms, which, _room(size), values, status)
        return
    with ThreadPoolExecutor(threads) as pool:
        parts = np.array_split(which, threads)
        jobs = [pool.submit(work, arms, part, new_whittle_room(size), values, status) for part in parts]
        for job in jobs:
            job.result()


_LAST = threading.local()


def _room(size: int) -> WhittleRoom:
    """Room for arms of this size: that of the last call of this thread, if it fits."""
    room: WhittleRoom | None = getattr(_LAST, "room", None)
    if room is None or len(room.tableau) != size:
        room = _LAST.room = new_whittle_room(size)
    return room


@functools.cache
def _worker(remembers: bool) -> Callable[..., Any]:
    """The compiled loop without dispatch: the types are the same for any number of arms and states."""
    one = np.ones((1, 1, 1))
    examples = ValidArms(one, one, one[0], one[0], 0.5), ALONE, new_whittle_room(1), one[0], ALONE
    return index_again.bind(new_whittle_memory(1, 1), *examples) if remembers else index_arms.bind(*examples)


@kernel
def _arm(arms: ValidArms, n: int) -> RestlessArm:
    return RestlessArm(arms.passive[n], arms.active[n], arms.idle[n], arms.busy[n], arms.discount)


@kernel(inline=False)
def index_arms(arms: ValidArms, which: Ints, room: WhittleRoom, values: Floats, status: Ints) -> None:
    """The indices and the status of the arms `which`."""
    for k in range(len(which)):
        n = which[k]
        status[n] = whittle_indices(room, _arm(arms, n), values[n])


@kernel(inline=False)
def index_again(
    memory: WhittleMemory, arms: ValidArms, which: Ints, room: WhittleRoom, values: Floats, status: Ints
) -> None:
    """The same, for arms that are remembered."""
    for k in range(len(which)):
        n = which[k]
        status[n] = whittle_again(room, memory, n, _arm(arms, n), values[n])


def _warn(status: Ints, single: bool, discount: float | None) -> None:
    split = "for the average reward, a policy with a charge splits its states into parts that never meet"
    lost = f"rounding leaves no digits of it at discount={discount}"
    reasons = {
        NOT_INDEXABLE: ("not indexable", "the index of a state is the charge from which on it stays passive"),
        UNDEFINED: ("without an index", f"{split if discount is None else lost}; it is nan"),
    }
    for code, (what, instead) in reasons.items():
        arms_of_code = np.flatnonzero(status == code)
        if len(arms_of_code):
            who = "the arm is" if single else f"{len(arms_of_code)} of {len(status)} arms are"
            first = "" if single else f", arm {arms_of_code[0]} first"
            warnings.warn(f"{who} {what}{first}: {instead}", stacklevel=3)
