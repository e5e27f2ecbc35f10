"""What the tests of summaries share: a table to fill, outcomes that come late, and which policies to try when."""

import math
from typing import Any

import numpy as np
import pytest

from driftwise.core.summary import Summary, new_summary
from driftwise.core.types import Floats
from driftwise.core.verbs import summarise
from tests.families import ARMED, SLATED

CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
LOW, HIGH, ARMS, HORIZON, ROUNDS, LATE = -2.0, 8.0, 3, 300, 150, 9
EVERYDAY = {
    *ARMED,
    *SLATED,
    "sliding-lin-ucb",
    "kalman-mixture",
    "sliding-knapsack-ucb",
    "greedy-ratio",
    "wiql",
    "myopic",
}


def table_of(policy: Any, state: Any, t: int, context: Any, n_rows: int, n_resources: int = 0) -> Summary:
    out = new_summary(n_rows, n_resources)
    summarise(policy, state, t, context, out)
    return out


def everyday(*names: str) -> list[Any]:
    """Names to try every day, or, where it takes long to compile, only when all are."""
    return [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.deep) for name in names]


def agree(found: Floats, expected: Any) -> None:
    np.testing.assert_allclose(found, np.asarray(expected, float), **CLOSE)


def mean(rewards: Any) -> float:
    return math.fsum(rewards) / len(rewards) if len(rewards) else math.nan


class Late:
    """Outcomes up to `LATE` rounds late, one in ten never."""

    def __init__(self) -> None:
        self.luck, self.due = np.random.default_rng(4), dict[int, list[Any]]()

    def after(self, t: int, *sent: Any) -> list[Any]:
        """Send something off in round `t`; what arrives in it."""
        if self.luck.random() < 0.9:
            self.due.setdefault(t + int(self.luck.integers(LATE)), []).append(sent)
        return self.due.pop(t, [])
