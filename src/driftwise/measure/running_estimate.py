"""The doubly robust estimate of a policy's mean reward, row by row in bounded memory, beside what was earned.

Rows are collected in blocks of a hundred. A full block is folded into sums: of contributions, and of their squared
distances from the mean of the block, as in `intervals.standard_error`. So drift from block to block does not widen
intervals, and a state that was saved in the middle of a block goes on with the same bits.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from driftwise.core.types import Floats
from driftwise.measure.estimators import ERRORS, FAR, LEAST_SIZE, Terms, doubly_robust
from driftwise.measure.intervals import NEIGHBOURS, Interval, interval_of

RARE = 10.0  # effective rows with one of two rewards, below which the spread of rows says little


class RewardCount(msgspec.Struct, array_like=True):
    """A value that rewards have: rows with it, the sum of their weights, and that of the squares."""

    value: float
    n: int = 0
    weight: float = 0.0
    weight_squares: float = 0.0


class EstimateState(msgspec.Struct, array_like=True):
    """Sums over full blocks, and the rows of the last one.

    `totals` and `squares` are those of the policy, of what was earned, and of the difference. `values` are the values
    of rewards while there are at most two, and None afterwards.
    """

    n: int = 0
    totals: list[float] = msgspec.field(default_factory=lambda: [0.0, 0.0, 0.0])
    squares: list[float] = msgspec.field(default_factory=lambda: [0.0, 0.0, 0.0])
    weight: float = 0.0
    weight_squares: float = 0.0
    values: list[RewardCount] | None = []
    rows: list[tuple[float, float, float, float]] = []  # weight, reward, prediction, expectation


class RunningValues(NamedTuple):
    """The mean reward of a policy, what was earned, the difference, and the effective sample size."""

    policy: Interval
    earned: Interval
    difference: Interval
    size: float


class RunningEstimate:
    """Adds rows to a state."""

    def __init__(self, state: EstimateState | None = None) -> None:
        self.state = EstimateState() if state is None else state

    @property
    def n(self) -> int:
        """How many rows were added."""
        return self.state.n + len(self.state.rows)

    @property
    def size(self) -> float:
        """The effective sample size (Kish 1965)."""
        state = self.state
        return state.weight**2 / state.weight_squares if state.weight_squares > 0.0 else 0.0

    def add(self, weight: float, reward: float, prediction: float, expectation: float) -> None:
        """Add a row: the terms of `estimators.Terms`."""
        state = self.state
        state.weight += weight
        state.weight_squares += weight * weight
        state.rows.append((weight, reward, prediction, expectation))
        self._count(weight, reward)
        if len(state.rows) == NEIGHBOURS:
            totals, squares = _block(state.rows)
            state.n += NEIGHBOURS
            state.totals, state.squares = (state.totals + totals).tolist(), (state.squares + squares).tolist()
            state.rows = []

    def _count(self, weight: float, reward: float) -> None:
        values = self.state.values
        if values is None:
            return
        entry = next((each for each in values if each.value == reward), None)
        if entry is None:
            if len(values) == 2:
                self.state.values = None
                return
            entry = RewardCount(reward)
            values.append(entry)
        entry.n += 1
        entry.weight += weight
        entry.weight_squares += weight * weight

    def doubt(self) -> str | None:
        """Why the rows cannot tell the value of the policy; None where they can."""
        n, size, state = self.n, self.size, self.state
        if size < LEAST_SIZE:
            return (
                f"the effective sample size is {size:.1f}, below {LEAST_SIZE}: what was decided is too rarely what "
                "this policy would choose"
            )
        mean = state.weight / n
        error = math.sqrt(max(0.0, state.weight_squares / n - mean * mean) / n)
        if abs(mean - 1.0) > max(FAR, ERRORS * error):
            why = (
                "this policy often chooses what could not be decided"
                if mean < 1.0
                else "the propensities do not fit the choices"
            )
            return f"the weights average {mean:.2f}, not 1: {why}"
        return None

    def values(self) -> RunningValues:
        """The estimates so far; the intervals are those of `intervals.mean_interval`."""
        state, n, size = self.state, self.n, self.size
        totals, squares = np.array(state.totals), np.array(state.squares)
        if state.rows:
            more, spread = _block(state.rows)
            if len(state.rows) == 1 and state.n:  # a block of one has no spread of its own
                spread = (more - totals / state.n) ** 2
            totals, squares = totals + more, squares + spread
        means, errors, ends = totals / n, np.sqrt(squares) / n, self._ends()
        few = ends is not None and any(_effective(each) < RARE for each in self._counts(ends))
        hardly = ends is not None and any(each.n < RARE for each in self._counts(ends))
        mean, earned, difference = map(float, means)
        error, spread_earned, spread_difference = map(float, errors)
        return RunningValues(
            interval_of(mean, error, size, size, ends=ends, rare=few),
            interval_of(earned, spread_earned, n, n, ends=ends, rare=hardly),
            interval_of(difference, spread_difference, size, size),
            size,
        )

    def _ends(self) -> tuple[float, float] | None:
        """The two values of rewards, where there are no more; a constant 0 or 1 is one of 0 and 1."""
        ends = sorted(each.value for each in self.state.values or [])
        if len(ends) == 1 and ends[0] in (0.0, 1.0):
            return 0.0, 1.0
        return (ends[0], ends[1]) if len(ends) == 2 else None

    def _counts(self, ends: tuple[float, float]) -> list[RewardCount]:
        counts = {each.value: each for each in self.state.values or []}
        return [counts.get(end, RewardCount(end)) for end in ends]


def _block(rows: Sequence[tuple[float, float, float, float]]) -> tuple[Floats, Floats]:
    """Sums of contributions to the three means, and of their squared distances from the means of these rows."""
    terms = Terms(*np.array(rows).T)
    policy = doubly_robust(terms)
    series = np.stack([policy, terms.rewards, policy - terms.rewards])
    n = len(rows)
    squares: Floats = ((series - series.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) * (n / max(1, n - 1))
    totals: Floats = series.sum(axis=1)
    return totals, squares


def _effective(count: RewardCount) -> float:
    return count.weight**2 / count.weight_squares if count.weight_squares > 0.0 else 0.0
