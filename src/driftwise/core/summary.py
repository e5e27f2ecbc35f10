"""What a policy says of its arms: the table that the verb `summarise` fills, one number per arm and column.

Where choices are rows of features there is one number per row of the context. A number that a policy does not have is
nan. What has the unit of rewards is in that unit, whatever scale the policy works on.

    estimate   the mean reward the policy believes in; nan before anything is known of the arm
    index      what the policy ranks arms by. Infinite for an arm that goes before all others, minus infinite for one
               that comes after all. Nearly always a reward; where arms are drawn by chances that the policy works out,
               the chance; in a restless problem the index of the arm in the state it is in
    low, high  the interval the policy works with: its confidence bounds, or the central 95 % of its posterior
    count      rewards that the estimate rests on. Discounted rewards count what is left of their weight. For a row of
               features it is how many rewards of this very row would teach as much as the policy knows of it, and in a
               restless problem the transitions seen from the state the arm is in
    pending    decisions under way that the policy counts as tries
    costs      mean cost of each resource, as a share of the most a decision can cost; no columns without resources
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats

RANK_ONLY = 2.0**800  # numbers beyond only rank arms of which nothing is known (`numerics/optimism.py`)


class Summary(NamedTuple):
    """A row per arm: `costs` is a matrix with a column per resource, all others are vectors."""

    estimate: Floats
    index: Floats  # type: ignore[assignment]
    low: Floats
    high: Floats
    count: Floats  # type: ignore[assignment]
    pending: Floats
    costs: Floats


def new_summary(n_rows: int, n_resources: int = 0) -> Summary:
    """An empty table."""
    estimate, index, low, high, count, pending = np.full((6, n_rows), np.nan)
    return Summary(estimate, index, low, high, count, pending, np.full((n_rows, n_resources), np.nan))


@kernel
def clear_summary(out: Summary) -> None:
    """Nothing is known: every number is nan."""
    for row in range(len(out.estimate)):
        out.estimate[row], out.index[row], out.low[row], out.high[row] = np.nan, np.nan, np.nan, np.nan
        out.count[row], out.pending[row] = np.nan, np.nan
        for resource in range(out.costs.shape[1]):
            out.costs[row, resource] = np.nan


@kernel
def put_interval(out: Summary, row: int, estimate: float, low: float, high: float) -> None:
    """Write an estimate and its interval, which rounding must not leave beside it."""
    out.estimate[row], out.low[row], out.high[row] = estimate, min(low, estimate), max(high, estimate)


@kernel
def readable_index(index: float) -> float:
    """An index as people read it: numbers that only rank are infinite."""
    return math.copysign(math.inf, index) if abs(index) > RANK_ONLY else index
