"""The centre from which the means of a run stray least: the sharpest spread there is, W-min.

    W1-min = min over centre of sum_t max_i |mu_{t,i} - centre_i|
    W2-min = min over centre of sum_t max_i sum_j |C_{t,j,i} - centre_{j,i}|

Each is a linear program with several rows for every round, arm and resource: too many to solve at once, but convex in
the centre alone. So: cutting planes (`caution.py`), with a plane for each of some stretches of rounds instead of one
for all, which takes a fraction of the steps. The model is a small linear program for HiGHS. Each coordinate is sought
between its smallest and its largest mean: outside of them every distance grows. The bound from below is worked out from
the model's multipliers alone, so that it holds however loosely the model was solved.

The nearest centre need not lie among the convex combinations of the means: of (1,0,0), (0,1,0) and (0,0,1) it is
(1/2,1/2,1/2), at a distance of 3/2, where the nearest in their hull has 2.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.families.knapsack.hindsight.cutting_planes import CAUTION, between, next_caution
from driftwise.families.knapsack.hindsight.path_length import distances
from driftwise.families.knapsack.means import Means

STRETCHES = 20  # planes a step: more make fewer steps of larger programs
NOTHING = 1e-12  # a spread this small, per round and in units of the largest mean, is rounding
EXACT = 1e-10  # the finest tolerance HiGHS knows


class Centre(NamedTuple):
    """A centre, how far the means stray from it, and how far they stray from any centre at least."""

    point: Floats
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """How far it may be from the nearest one, in shares of its value."""
        return max(0.0, self.value - self.bound) / self.value if self.value > 0.0 else 0.0


class Centres(NamedTuple):
    """The nearest centre of the rewards, shape (m,), and that of the costs, shape (d, m)."""

    rewards: Centre
    costs: Centre


def nearest_centres(means: Means, *, tolerance: float = 1e-6, questions: int = 500) -> Centres:
    """W1-min and W2-min, from both sides.

    Parameters
    ----------
    means : Means
        Of the whole run.
    tolerance : float
        The gap at which to stop.
    questions : int
        The number of centres to ask before stopping in any case; `gap` then says how far it got.

    Examples
    --------
    >>> means = Means.of(np.eye(3), np.ones((3, 1, 3)))
    >>> rewards, costs = nearest_centres(means)
    >>> rewards.point.round(6), round(rewards.value, 6), costs.value
    (array([0.5, 0.5, 0.5]), 1.5, 0.0)
    """
    means = Means.of(*means)
    number("tolerance", tolerance, above=0.0, below=1.0)
    counts, questions = means.counts, whole("questions", questions)
    rewards = _nearest(means.rewards[:, None, :], counts, tolerance, questions)
    costs = _nearest(means.costs, counts, tolerance, questions)
    return Centres(rewards._replace(point=rewards.point[0]), costs)


def _nearest(table: Floats, counts: Floats, tolerance: float, questions: int) -> Centre:
    played = np.flatnonzero(counts)
    if len(played) < len(table):
        table, counts = table[played], counts[played]
    search = _Search(table, counts)
    nothing = NOTHING * counts.sum() * max(np.abs(table).max(), np.finfo(float).tiny)
    for _ in range(questions):
        search.ask()
        if search.value - search.bound <= max(tolerance * search.value, nothing):
            break
    return Centre(search.best.reshape(table.shape[1:]), search.value, search.bound)


class _Search:
    """Centres tried, planes, and what follows from them. A plane is value + slope (centre - tried)."""

    def __init__(self, table: Floats, counts: Floats) -> None:
        self.table, self.counts = table, counts
        self.cuts = np.linspace(0, len(table), min(STRETCHES, len(table)) + 1).astype(np.int64)
        self.low, self.high = table.min(axis=0).ravel(), table.max(axis=0).ravel()
        mean = np.tensordot(counts, table, 1).ravel() / counts.sum()
        self.best = self.lowest = np.clip(mean, self.low, self.high)
        self.value, self.bound, self.caution = np.inf, 0.0, CAUTION
        self.slopes = np.empty((0, len(mean)))
        self.heights = np.empty(0)

    def ask(self) -> None:
        """A plane more for each stretch, and the lowest point of the model with it."""
        centre = between(self.best, self.lowest, self.caution)
        values, slopes = np.empty(len(self.cuts) - 1), np.empty((len(self.cuts) - 1, *self.table.shape[1:]))
        shaped = centre.reshape(self.table.shape[1:])
        distances(self.table, self.counts, self.cuts, shaped, np.empty(self.table.shape[2]), values, slopes)
        total, flat = float(values.sum()), slopes.reshape(len(values), -1)
        self.caution = next_caution(self.caution, total < self.value)
        if total < self.value:
            self.value, self.best = total, centre
        self.slopes = np.vstack([self.slopes, flat])
        self.heights = np.append(self.heights, values - flat @ centre)
        self._solve()

    def _solve(self) -> None:
        """Min sum_g level_g such that level_g >= each plane of stretch g, the centre within its ranges."""
        from scipy.optimize import linprog  # slow to import

        stretches = len(self.cuts) - 1
        unit = self.counts.sum() / stretches  # brings planes and levels near 1, where tolerances are meant to be
        levels = np.tile(np.eye(stretches), (len(self.heights) // stretches, 1))
        solved: Any = linprog(
            np.append(np.zeros(len(self.low)), np.ones(stretches)),
            A_ub=np.hstack([self.slopes / unit, -levels]),
            b_ub=-self.heights / unit,
            bounds=list(zip([*self.low, *[0.0] * stretches], [*self.high, *[np.inf] * stretches], strict=True)),
            method="highs-ds",
            options={"primal_feasibility_tolerance": EXACT, "dual_feasibility_tolerance": EXACT},
        )
        if solved.x is None:  # the planes are in doubt, not the bounds found so far
            return
        self.lowest = np.clip(solved.x[: len(self.low)], self.low, self.high)
        self.bound = max(self.bound, self._certain(np.maximum(-solved.ineqlin.marginals, 0.0)))

    def _certain(self, multipliers: Floats) -> float:
        """What any multipliers of the planes prove: the least of their sum over the ranges, each stretch once."""
        shares = multipliers.reshape(-1, len(self.cuts) - 1)
        shares = (shares / np.maximum(1.0, shares.sum(axis=0))).ravel()
        slope = shares @ self.slopes
        return float(shares @ self.heights + np.minimum(slope * self.low, slope * self.high).sum())
