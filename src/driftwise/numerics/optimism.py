"""Upper confidence bounds of the form mean + scale / sqrt(tries), with the part that changes slowly cached.

Tries are rewards, and more where others are under way (`numerics/pending.py`). `means[k]` and `roots[k]` =
1/sqrt(tries) change only for the arm that was touched; the scale, a logarithm of time, is one number a round. An arm
without a try is above all others: first those never tried, lowest number first, then by how long ago they were.
"""

import math

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.numerics.pending import tries

ABOVE = 2.0**900  # above any bound; its multiples by whole numbers below 2^53 are exact
NEVER_LEFT = -1


@kernel
def tally(
    means: Floats, roots: Floats, arm: int, count: float, total: float, pending: int, middle: float, left: int
) -> None:
    """Recompute what is cached of one arm, of which `pending` decisions are under way."""
    if pending > 0:
        tally_weighted(means, roots, arm, count, total, pending, pending, middle)
    elif count > 0:
        means[arm], roots[arm] = total / count, 1.0 / math.sqrt(count)
    else:
        means[arm], roots[arm] = untried(left), 0.0


@kernel(inline=False)
def tally_weighted(
    means: Floats, roots: Floats, arm: int, count: float, total: float, pending: float, number: float, middle: float
) -> None:
    """The same where something is under way, and `count` and `pending` may be weights."""
    mean = total / count if count > 0 else middle
    if math.isnan(mean):
        means[arm], roots[arm] = -ABOVE * number, 0.0
    else:
        means[arm], roots[arm] = mean, 1.0 / math.sqrt(tries(count, pending, number))


@kernel
def untried(left: int) -> float:
    """The bound of an arm without a try: infinite if it never had one, else the larger the earlier it `left`."""
    return math.inf if left < 0 else (2.0**53 - left) * ABOVE


@kernel
def most_promising(means: Floats, roots: Floats, scale: float) -> int:
    """The lowest arm with the largest bound."""
    winner = 0
    top = means[0] + scale * roots[0]
    for k in range(1, len(means)):
        bound = means[k] + scale * roots[k]
        if bound > top:
            winner, top = k, bound
    return winner


@kernel
def log_scale(span: float, xi: float, rounds: int) -> float:
    """Span sqrt(xi log rounds), zero in the first round."""
    return span * math.sqrt(xi * math.log(max(rounds, 1)))
