"""Upper confidence bounds of the form mean + scale / sqrt(count), with the part that changes slowly cached.

`means[k]` and `roots[k]` = 1/sqrt(count) change only for the arm that was touched; the scale, a logarithm of time,
is one number a round. An arm without a count has an infinite bound: it is tried first, lowest number first.
"""

import math

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats


@kernel
def tally(means: Floats, roots: Floats, arm: int, count: int, total: float) -> None:
    """Recompute what is cached of one arm."""
    if count == 0:
        means[arm], roots[arm] = math.inf, 0.0
    else:
        means[arm], roots[arm] = total / count, 1.0 / math.sqrt(count)


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
