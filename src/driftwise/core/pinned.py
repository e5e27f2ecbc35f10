"""The arrays of a state, described once, and passed to compiled code by their address.

numba passes a tuple of arrays as a list of all their sizes, strides and places, from Python and between functions: that
was a third of a round of a live agent, and of the time to compile one. A tuple is *pinned* when all that has been
written to memory once. From then on the address of that memory stands for it: compiled code reads the fields that it
uses, and passes the address on. Nothing is copied: kernels work on the same arrays, which must stay where they are.

`Kernel.__call__` pins what it is given. An entry point that was bound with a `PinnedState` is called with its
`address`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from driftwise.core.types import Array, Decision, Moves, Outcome, SlateOutcome, Slopes, Spent, State

SMALL, FEW = 1 << 20, 16  # bytes of a tuple, and tuples, that stay pinned
MADE_BY_KERNELS = (Decision, Outcome, SlateOutcome, Spent, Slopes, Moves)  # these they pass on as they are
_RECENT: dict[int, "PinnedState"] = {}  # by the id of the tuple, which lives as long as it is here


class PinnedState:
    """A state, the memory that describes it, and the address of that: valid as long as this object lives."""

    __slots__ = "address", "classes", "kind", "memory", "state"

    def __init__(self, state: State, memory: Array) -> None:
        self.state, self.memory = state, memory
        self.address: int = memory.ctypes.data
        self.classes = tuple(kinds([state]))
        self.kind: Any = None  # numba's type of it, once it was asked for

    def __index__(self) -> int:
        return self.address


def pin(state: State) -> PinnedState:
    """Describe the arrays of a state in memory."""
    from driftwise.core.compilation.pinned_type import describe

    return PinnedState(state, describe(state))


def kinds(values: Iterable[Any]) -> Iterator[type]:
    """The classes of values and of the tuples inside them: what the code compiled for them depends on."""
    for value in values:
        if isinstance(value, PinnedState):
            yield from value.classes
            continue
        yield type(value)
        if isinstance(value, tuple):
            yield from kinds(inner for inner in value if isinstance(inner, tuple))


def pin_arrays(value: Any) -> Any:
    """A state, or any other NamedTuple that holds arrays, pinned; all else as it is.

    Who calls verbs one at a time passes the same few tuples again and again: they are pinned once, if they are small.
    """
    known = _RECENT.get(id(value))
    if known is not None and known.state is value:
        return known
    if not hasattr(value, "_fields") or isinstance(value, (PinnedState, *MADE_BY_KERNELS)):
        return value
    arrays = list(_arrays(value))
    if not arrays:
        return value
    pinned = pin(value)
    if sum(each.nbytes for each in arrays) <= SMALL:
        if len(_RECENT) >= FEW:
            _RECENT.clear()
        _RECENT[id(value)] = pinned
    return pinned


def _arrays(value: object) -> Iterator[Array]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _arrays(each)
