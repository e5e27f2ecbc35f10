"""The arrays of a state, described once, and passed to compiled code by their address.

numba passes a tuple of arrays as a list of all their sizes, strides and places, from Python and between functions: that
was a third of a round of a live agent, and of the time to compile one. A tuple is *pinned* when all that has been
written to memory once. From then on the address of that memory stands for it: compiled code reads the fields that it
uses, and passes the address on. Nothing is copied: kernels work on the same arrays, which must stay where they are.

`Kernel.__call__` pins what it is given. An entry point that was bound with a `PinnedState` is called with its
`address`.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Array, Decision, Moves, Outcome, SlateOutcome, Slopes, Spent, State

MADE_BY_KERNELS = (Decision, Outcome, SlateOutcome, Spent, Slopes, Moves)  # these they pass on as they are


class PinnedState(NamedTuple):
    """A state, the memory that describes it, and the address of that: valid as long as this tuple lives."""

    state: State
    memory: Array
    address: int

    def __index__(self) -> int:
        return self.address


def pin(state: State) -> PinnedState:
    """Describe the arrays of a state in memory."""
    from driftwise.core.compilation.pinned_type import describe

    memory = describe(state)
    return PinnedState(state, memory, memory.ctypes.data)


def pin_arrays(value: Any) -> Any:
    """A state, or any other NamedTuple that holds arrays, pinned; all else as it is."""
    if not hasattr(value, "_fields") or isinstance(value, (PinnedState, *MADE_BY_KERNELS)) or not _has_arrays(value):
        return value
    return pin(value)


def _has_arrays(value: object) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, tuple) and any(map(_has_arrays, value)))
