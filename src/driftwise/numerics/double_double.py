"""Sums of products with twice the digits: a number is a double and the little that it leaves out.

Dekker's and Knuth's transformations, which are exact as long as nothing overflows: about 32 digits in all. For
residuals: a linear system whose residuals are worked out like this can be solved to the last digit of its entries.
"""

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats

SPLIT = 2.0**27 + 1.0


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """`a + b` rounded, and what rounding left out."""
    total = a + b
    rounded = total - a
    return total, (a - (total - rounded)) + (b - rounded)


@kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """`a * b` rounded, and what rounding left out."""
    product = a * b
    lifted = SPLIT * a
    a_high = lifted - (lifted - a)
    lifted = SPLIT * b
    b_high = lifted - (lifted - b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


@kernel
def add_long(value: float, rest: float, other: float, other_rest: float) -> tuple[float, float]:
    """One long number and another."""
    total, error = two_sum(value, other)
    return two_sum(total, error + (rest + other_rest))


@kernel
def times_long(factor: float, value: float, rest: float) -> tuple[float, float]:
    """A double times a long number."""
    product, error = two_product(factor, value)
    return two_sum(product, error + factor * rest)


@kernel(inline=False)
def dot_long(weights: Floats, values: Floats, rests: Floats, column: int) -> tuple[float, float]:
    """The sum of `weights` times a column of long numbers (Ogita, Rump & Oishi 2005)."""
    total, rest = 0.0, 0.0
    for j in range(len(weights)):
        product, error = two_product(weights[j], values[j, column])
        total, lost = two_sum(total, product)
        rest += error + lost + weights[j] * rests[j, column]
    return two_sum(total, rest)
