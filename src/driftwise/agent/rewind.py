"""Back to before a step that failed.

A kernel that meets features it cannot invert raises in the middle of its work. To leave the state as it was, a copy of
it is kept from some steps ago, and the steps since: all is deterministic, so doing them again ends in the same bits. A
copy is taken when the steps need as much room as the state does, which costs next to nothing a step at any size.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.core import state as states
from driftwise.core.verbs import advance, pend

STEP_BYTES = 200  # what a step takes beside its row of features


class Rewind:
    """A copy of a state, and what has happened to it since."""

    def __init__(self, state: Any, dim: int) -> None:
        self._pairs = list(zip(_arrays(state), _arrays(states.clone(state)), strict=True))
        self._room = max(64, sum(array.nbytes for array, _ in self._pairs) // (STEP_BYTES + 8 * dim))
        self._steps: list[tuple[Any, ...]] = []

    def note(self, *step: Any) -> None:
        """A step that was taken: a decision, or all that a reward was learned with."""
        self._steps.append(step)
        if len(self._steps) >= self._room:
            self._steps.clear()
            for array, copy in self._pairs:
                np.copyto(copy, array)

    def back(self, policy: Any, state: Any, learn: Callable[..., Any]) -> None:
        """Make the state what it was after the last step noted."""
        for array, copy in self._pairs:
            np.copyto(array, copy)
        for step in self._steps:
            if len(step) == 1:
                advance(policy, state, step[0].t, step[0].rng)
                pend(policy, state, step[0])
            else:
                learn(policy, state, *step)


def _arrays(state: Any) -> list[Any]:
    return [array for _, array in states.arrays(state)]
