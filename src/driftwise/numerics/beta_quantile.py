"""Quantiles of the Beta distribution, for intervals that people read: a search, slow beside anything a round does.

The distribution function is the continued fraction of DLMF 8.17.22, which converges fast where x is below its mean;
elsewhere the mirror image F(x; a, b) = 1 - F(1 - x; b, a) is taken.
"""

import math

from driftwise.core.kernel import kernel

TAIL = 0.025  # beyond each end of the central 95 %
NORMAL_95 = 1.959963984540054  # standard deviations that hold the central 95 % of a Gaussian
STEPS = 20_000  # of the fraction; it takes about the root of a + b
CLOSE = 1e-15
TINY = 1e-300


@kernel(inline=False)
def beta_quantile(a: float, b: float, share: float) -> float:
    """The x below which a Beta(a, b) lies with this probability."""
    low, high = 0.0, 1.0
    for _ in range(200):
        x = 0.5 * (low + high)
        if x in (low, high):
            break
        if beta_below(a, b, x) < share:
            low = x
        else:
            high = x
    return 0.5 * (low + high)


@kernel(inline=False)
def beta_below(a: float, b: float, x: float) -> float:
    """The probability that a Beta(a, b) lies below x."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(front) * _fraction(a, b, x) / a
    return 1.0 - math.exp(front) * _fraction(b, a, 1.0 - x) / b


@kernel(inline=False)
def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction, from the front (modified Lentz)."""
    above, below = 1.0, _away(1.0 - (a + b) * x / (a + 1.0))
    value = 1.0 / below
    below = 1.0 / below
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        below, above = 1.0 / _away(1.0 + even * below), _away(1.0 + even / above)
        value *= below * above
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        below, above = 1.0 / _away(1.0 + odd * below), _away(1.0 + odd / above)
        value *= below * above
        if abs(below * above - 1.0) < CLOSE:
            break
    return value


@kernel
def _away(x: float) -> float:
    """The same, but not zero."""
    return TINY if abs(x) < TINY else x
