"""A state that compiled code finds by its address.

When Python calls a kernel, numba makes a struct of every array of a state, each time anew: that was up to a third of a
round of a live agent. A state is *pinned* when these structs have been written to memory once. From then on its address
stands for it: an entry point that was bound with a `PinnedState` is called with its `address`, and `unpin` inside reads
what the kernel needs. Nothing is copied: kernels work on the same arrays, which must stay where they are.
"""

from typing import Any, NamedTuple

from driftwise.core.types import Array, State


class PinnedState(NamedTuple):
    """A state, the memory that describes it, and the address of that: valid as long as this tuple lives."""

    state: State
    memory: Array
    address: int


def pin(state: State) -> PinnedState:
    """Describe the arrays of a state in memory."""
    from driftwise.core.compilation.pinned_type import describe

    memory = describe(state)
    return PinnedState(state, memory, memory.ctypes.data)


def unpin(state: Any) -> Any:
    """The state that an address stands for, inside compiled code; a state that is not pinned as it is."""
    return state
