"""Back to before a step that failed.

A kernel that meets features it cannot invert raises in the middle of its work, and what is done with its answer may
fail too. To leave the state as it was, a copy of it is kept from some steps ago, and the steps since: all is
deterministic, so doing them again ends in the same bits. A copy is taken when the steps need as much room as the state
does, which costs next to nothing a step at any size.

Agents for bare arms keep none: their kernels raise nothing (`checks/failures.py`), and after those nothing can fail.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.core import serialization as states
from driftwise.core.pinned import PinnedState
from driftwise.core.protocols import Policy
from driftwise.core.types import State

STEP_BYTES = 200  # what a step takes beside its arrays
LEAST_BYTES = 16_384  # what steps may take however small the state is

Step = tuple[Callable[..., Any], tuple[Any, ...]]  # a kernel, and its arguments after the policy and the address


class Rewind:
    """A copy of a state, and what has happened to it since. `example` is like the arrays that a step is given."""

    def __init__(self, policy: Policy, pinned: PinnedState, example: object) -> None:
        self._policy, self._pinned = policy, pinned
        self._pairs = list(zip(_arrays(pinned.state), _arrays(states.clone(pinned.state)), strict=True))
        size = sum(array.nbytes for array, _ in self._pairs)
        self._room = (LEAST_BYTES + size) // (STEP_BYTES + _bytes(example))
        self._steps: list[Step] = []

    def note(self, *steps: Step) -> None:
        """Steps that were taken, of which only all or none may be undone."""
        self._steps += steps
        if len(self._steps) > self._room:
            self._steps.clear()
            for array, copy in self._pairs:
                np.copyto(copy, array)

    def back(self) -> None:
        """Make the state what it was after the last step noted."""
        for array, copy in self._pairs:
            np.copyto(array, copy)
        for kernel, arguments in self._steps:
            kernel(self._policy, self._pinned.address, *arguments)


def _arrays(state: State) -> list[Any]:
    return [array for _, array in states.arrays(state)]


def _bytes(example: object) -> int:
    """What arrays take, and those in tuples."""
    if isinstance(example, tuple):
        return sum(map(_bytes, example))
    return example.nbytes if isinstance(example, np.ndarray) else 0
