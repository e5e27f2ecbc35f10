"""Gaussian posteriors of a mean with known noise: centre and spread per arm, and a race of draws.

With prior N(m, s^2) and n rewards of total R and noise sd v, the posterior has precision 1/s^2 + n/v^2 and
centre (m/s^2 + R/v^2) / precision. An infinite s believes nothing beforehand: an arm without rewards has the centre
infinity, and wins, the lowest of them first. Decisions whose rewards are under way narrow the spread as `tries` of
their arm do (`numerics/pending.py`); where that is all there is, and nothing is believed beforehand, the arm with the
fewest of them comes first among such, after all others.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import normal
from driftwise.core.summary import RANK_ONLY, Summary, clear_summary, put_interval
from driftwise.core.types import Floats, PerArm, Shared
from driftwise.numerics.beta_quantile import NORMAL_95
from driftwise.numerics.optimism import ABOVE, untried
from driftwise.numerics.pending import tries


class Beliefs(NamedTuple):
    """Where each arm's mean is thought to lie; `prior` holds m/s^2, 1/s^2 and 1/v^2."""

    centres: PerArm
    spreads: PerArm
    prior: Shared


def new_beliefs(n_arms: int, *, mean: float, sd: float, noise: float) -> Beliefs:
    """Nothing seen yet: the prior for every arm."""
    prior = np.array([mean / sd**2, 1.0 / sd**2, 1.0 / noise**2])
    centre, spread = (mean, sd) if math.isfinite(sd) else (math.inf, 0.0)
    return Beliefs(np.full(n_arms, float(centre)), np.full(n_arms, float(spread)), prior)


@kernel
def believe(beliefs: Beliefs, arm: int, count: int, total: float, pending: int, left: int) -> None:
    """Recompute one arm's posterior; `left` is when it had its last try, see `numerics/optimism.py`."""
    precision = beliefs.prior[1] + count * beliefs.prior[2]
    if precision == 0.0:
        beliefs.centres[arm] = -ABOVE * pending if pending > 0 else untried(left)
        beliefs.spreads[arm] = 0.0
        return
    beliefs.centres[arm] = (beliefs.prior[0] + total * beliefs.prior[2]) / precision
    if pending > 0:
        precision = beliefs.prior[1] + tries(count, pending, pending) * beliefs.prior[2]
    beliefs.spreads[arm] = 1.0 / math.sqrt(precision)


@kernel
def race_normals(centres: Floats, spreads: Floats, rng: Any) -> int:
    """The arm with the largest draw."""
    winner = 0
    top = -math.inf
    for k in range(len(centres)):
        z, rng = normal(rng)
        draw = centres[k] + spreads[k] * z
        if draw > top:
            winner, top = k, draw
    return winner


@kernel
def summarise_beliefs(out: Summary, beliefs: Beliefs, counts: Any, pending: Any) -> None:
    """The centre of each posterior, and its central 95 % as draws are made from it: what is under way narrows it."""
    clear_summary(out)
    for arm in range(len(beliefs.centres)):
        out.count[arm], out.pending[arm] = counts[arm], pending[arm]
        centre, reach = beliefs.centres[arm], NORMAL_95 * beliefs.spreads[arm]
        if abs(centre) < RANK_ONLY:
            put_interval(out, arm, centre, centre - reach, centre + reach)
