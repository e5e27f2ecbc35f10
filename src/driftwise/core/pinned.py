"""The arrays of a state, described once, and passed to compiled code by their address.

numba passes a tuple of arrays as all that it knows of each: sizes, strides, places. From Python that was a third of a
round of a live agent, and between functions it makes them long to compile. A tuple is *pinned* when all that has been
written to memory once. From then on the address of that memory stands for it: compiled code reads the fields that it
uses, and passes the address on. Nothing is copied: kernels work on the same arrays, which must stay where they are.

`Kernel.__call__` pins what it is given; who calls again and again pins first. An entry point that was bound with a
`PinnedState` is called with its `address`.
"""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from driftwise.core.types import Array, Decision, Moves, Outcome, SlateOutcome, Slopes, Spent, State

MADE_BY_KERNELS = (Decision, Outcome, SlateOutcome, Spent, Slopes, Moves)  # these they pass on as they are
NUMBERS = (int, float, np.number, np.bool_)


class PinnedState:
    """A state, the memory that describes it, and the address of that: valid as long as this object lives."""

    __slots__ = "address", "classes", "kind", "memory", "state"

    def __init__(self, state: State, memory: "array[int] | Array", address: int, kind: object) -> None:
        self.state, self.memory, self.address = state, memory, address
        self.kind = kind  # numba's type of it
        self.classes = tuple(kinds([state]))

    def __index__(self) -> int:
        return self.address


def pin(state: State) -> PinnedState:
    """Describe the arrays of a state in memory."""
    from driftwise.core.compilation.pinned_type import describe

    return PinnedState(state, *describe(state))


def pin_arrays(value: Any) -> Any:
    """A state, or any other NamedTuple of arrays and numbers, pinned; all else as it is."""
    if not hasattr(value, "_fields") or isinstance(value, MADE_BY_KERNELS):
        return value
    leaves = [*_leaves(value)]
    holds_arrays = any(isinstance(each, np.ndarray) for each in leaves)
    return pin(value) if holds_arrays and all(isinstance(each, (np.ndarray, *NUMBERS)) for each in leaves) else value


def kinds(values: Iterable[Any]) -> Iterator[type]:
    """The classes of values and of the tuples inside them: what the code compiled for them depends on."""
    for value in values:
        if isinstance(value, PinnedState):
            yield from value.classes
            continue
        yield type(value)
        if isinstance(value, tuple):
            yield from kinds(inner for inner in value if isinstance(inner, tuple))


def _leaves(value: tuple[Any, ...]) -> Iterator[object]:
    """What is in a tuple, and in the tuples inside it."""
    for each in value:
        if isinstance(each, tuple):
            yield from _leaves(each)
        else:
            yield each
