"""What policies of several families say of their arms alike (`core/summary.py`).

Statistics may be kept on another scale than rewards: a value x stands for the reward low + span x.
"""

import math
from typing import Any

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary, put_interval, readable_index
from driftwise.core.types import Floats
from driftwise.numerics.kl import gap_of


@kernel
def summarise_bounds(
    out: Summary, counts: Any, sums: Floats, pending: Any, means: Floats, roots: Floats, scale: float
) -> None:
    """Arms with bounds mean + scale / sqrt(tries), kept as rewards are (`numerics/optimism.py`)."""
    summarise_scaled_bounds(out, counts, sums, pending, means, roots, scale, 0.0, 1.0)


@kernel(inline=False)
def summarise_scaled_bounds(
    out: Summary,
    counts: Any,
    sums: Floats,
    pending: Any,
    means: Floats,
    roots: Floats,
    scale: float,
    low: float,
    span: float,
) -> None:
    """The same on another scale. The interval is as wide below the mean as the bonus makes it above."""
    clear_summary(out)
    for arm in range(len(means)):
        out.count[arm], out.pending[arm] = counts[arm], pending[arm]
        out.index[arm] = low + span * readable_index(means[arm] + scale * roots[arm])
        if counts[arm] > 0:
            mean, bonus = low + span * (sums[arm] / counts[arm]), span * scale * roots[arm]
            put_interval(out, arm, mean, mean - bonus, mean + bonus)


@kernel(inline=False)
def summarise_kl_bound(
    out: Summary,
    arm: int,
    count: int,
    total: float,
    trials: float,
    trial_total: float,
    level: float,
    low: float,
    span: float,
) -> None:
    """One arm with a Kullback-Leibler bound at this level of n kl (`numerics/kl.py`).

    `count` and `total` are those of rewards, `trials` and `trial_total` those that bounds are made
    of. The lower end is the bound of what rewards lack to one.
    """
    out.count[arm] = count
    out.index[arm] = low + span * (1.0 - gap_of(trials, trial_total, level)) if trials > 0 else math.inf
    if count > 0:
        least = gap_of(trials, trials - trial_total, level)
        put_interval(out, arm, low + span * (total / count), low + span * least, out.index[arm])
        out.index[arm] = out.high[arm]
