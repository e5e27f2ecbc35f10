"""Whether the choices of a log follow its rewards: then a policy learned there, and shares of arms are no propensities.

For every arm, the mean of its last ten rewards less that of its last two hundred is compared with whether it is
chosen next, both less their means over about two hundred rows. Where choices are random given the time, the sum of
products over its root of squares is nearly standard normal; logs of UCB, KL-UCB and epsilon-greedy give 13 and more in
3,000 rows of three arms. Thompson sampling, whose choices are random, gives 2 to 7: it may go unnoticed.
"""

import numpy as np
from numpy.typing import NDArray

from driftwise.core.types import Floats, Ints

RECENT, LONG = 10, 200  # rewards
STRETCH = 200  # rows
LEAST_ROWS = 500
LEAST_REWARDS = 20
MAX_ARMS = 100
SURE = 4.5  # once in 150,000 logs of random choices


def dependence(n_arms: int, actions: Ints, rewards: Floats) -> float:
    """How many standard deviations choices follow recent rewards by; 0 where there are too few rows to tell."""
    n = len(actions)
    if n < LEAST_ROWS or n_arms > MAX_ARMS:
        return 0.0
    n_stretches = n // STRETCH
    stretches = np.arange(n) * n_stretches // n
    sizes = np.bincount(stretches)

    def less_mean(values: Floats) -> Floats:
        means = np.bincount(stretches, weights=values) / sizes
        residuals: Floats = values - means[stretches]
        return residuals

    products = np.zeros(n)
    for arm in range(n_arms):
        recent = _recent(actions == arm, rewards)
        if recent is not None:
            products += less_mean(np.asarray(actions == arm, np.float64)) * less_mean(recent)
    scale = float(np.sqrt(products @ products))
    return float(products.sum()) / scale if scale > 0.0 else 0.0


def _recent(own: NDArray[np.bool_], rewards: Floats) -> Floats | None:
    """Recent rewards of an arm less those of long before, as known before each row; None where there are few."""
    came = own & ~np.isnan(rewards)
    rows = np.flatnonzero(came)
    if len(rows) < LEAST_REWARDS:
        return None
    sums = np.concatenate([[0.0], np.cumsum(rewards[rows] - rewards[rows].mean())])
    place = np.arange(1, len(sums))
    quick, slow = ((sums[place] - sums[np.maximum(0, place - memory)]) / memory for memory in (RECENT, LONG))
    latest = np.cumsum(came) - came - 1  # the last of its rewards before each row
    recent: Floats = np.where(latest >= 0, (quick - slow)[np.maximum(latest, 0)], 0.0)
    return recent
