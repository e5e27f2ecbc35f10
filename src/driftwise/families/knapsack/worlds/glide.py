"""Drifts that glide, kept as steps: what is computed for a stretch of rounds is stored once, however long the run."""

import numpy as np
from numpy.typing import NDArray

from driftwise.core.types import Floats

STEPS = 2000  # at most; a run that is shorter has a step for every round


def moments(horizon: int) -> Floats:
    """The middle of every step, as a share of the run.

    >>> moments(4)
    array([0.125, 0.375, 0.625, 0.875])
    """
    count = min(horizon, STEPS)
    middles: Floats = (np.arange(count) + 0.5) / count
    return middles


def step_of_rounds(horizon: int) -> NDArray[np.int32]:
    """The step that every round lies in."""
    return (np.arange(horizon) * min(horizon, STEPS) // horizon).astype(np.int32)
