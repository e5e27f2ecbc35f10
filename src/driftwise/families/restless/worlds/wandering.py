"""Numbers that drift from one episode to the next, each between its bounds: the chances behind transitions.

walk       with chance `upward` a step up, else a step down; at a bound it stays
abrupt     phases of equal length; in every one but the first drawn anew, uniformly
seasonal   a sine through the whole range, `period` episodes long
none       the same for ever
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.measure.levels import phase_starts

DRIFTS = ("walk", "abrupt", "seasonal", "none")
DIGITS = 12  # sums of steps are rounded to these: 0.05 twenty times is 1


class Wandering(NamedTuple):
    """Where each number starts, and its bounds."""

    starts: Floats
    lows: Floats
    highs: Floats


def walk(numbers: Wandering, episodes: int, step: float, upward: float, luck: np.random.Generator) -> Floats:
    """A row per episode; the paper of Shisher, Tripathi, Chiang & Brinton has step 0.05, upward 0.7, bounds 0 and 1."""
    path = np.empty((episodes, len(numbers.starts)))
    path[0] = numbers.starts
    rises = luck.random((episodes - 1, len(numbers.starts))) < upward
    for e in range(1, episodes):
        moved = np.round(path[e - 1] + np.where(rises[e - 1], step, -step), DIGITS)
        path[e] = np.clip(moved, numbers.lows, numbers.highs)
    return path


def abrupt(numbers: Wandering, episodes: int, phases: int, luck: np.random.Generator) -> Floats:
    """A row per episode."""
    levels = luck.uniform(numbers.lows, numbers.highs, (phases, len(numbers.starts)))
    levels[0] = numbers.starts
    edges = [0, *phase_starts(phases, episodes), episodes]
    path: Floats = np.repeat(levels, np.diff(edges), axis=0)
    return path


def seasonal(numbers: Wandering, episodes: int, period: float, luck: np.random.Generator) -> Floats:
    """A row per episode; whether a number rises or falls first is drawn."""
    middle, swing = (numbers.lows + numbers.highs) / 2.0, (numbers.highs - numbers.lows) / 2.0
    rising = np.arcsin(np.clip((numbers.starts - middle) / np.where(swing > 0.0, swing, 1.0), -1.0, 1.0))
    angles = np.where(luck.random(len(numbers.starts)) < 0.5, rising, np.pi - rising)
    path = middle + swing * np.sin(2.0 * np.pi * np.arange(episodes)[:, None] / period + angles)
    clipped: Floats = np.clip(path, numbers.lows, numbers.highs)
    return clipped
