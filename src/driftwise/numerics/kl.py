"""Bernoulli divergence, and the upper confidence bounds it gives.

    kl(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)),    0 ln 0 = 0
    kl_upper(mean, level) = max{q in [mean, 1] : kl(mean, q) <= level}

The bound is found as its distance from one, `gap` = 1 - q: close to one a bound has no digits left, its gap has all of
them. There kl(mean, 1 - gap) is convex and falls; with x = q - mean,

    kl = (1 - mean) ln(1 + x / gap) - mean ln(1 + x / mean)

which loses no digits either when x is small. Two starts. In kl = integral_0^x s / ((mean + s)(1 - mean - s)) ds, put
the variance at the centre of gravity s = 2x/3: a quadratic in x, good while x is small. Dropping the term in q, which
is close to one then, gives a bound from below that is good when x is large:
gap >= (1 - mean) exp((mean ln mean - level) / (1 - mean)). From the larger of the two, Halley's steps (the derivatives
cost no logarithm) reach full precision in three at most; a bracket guards them.

`most_optimistic` finds the first of the largest bounds of K arms but solves for few of them. With S and F the sums of
rewards and of what they lack to one, n kl(mean, q) = S ln mean + F ln(1 - mean) - S ln q - F ln(1 - q). The first half
belongs to the arm and is cached (`information`), the logarithms in the second to the leader: an arm whose n kl at the
leader's bound is above the level cannot win, and that test is four multiplications. What is within rounding is solved.
"""

import math

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.numerics.pending import tries

TINY = 1e-300
CLOSE = 1e-5  # a step this small, relative, leaves an error of about its cube
SLACK = 1e-12  # per trial and unit of level: far above the rounding of n kl


@kernel
def kl(p: float, q: float) -> float:
    """Divergence of Bernoulli(q) from Bernoulli(p); infinite where q excludes what p allows."""
    total = 0.0
    if p > TINY:
        total -= p * _log_ratio(q, p)
    if p < 1.0:
        total -= (1.0 - p) * _log_ratio(1.0 - q, 1.0 - p)
    return max(total, 0.0)


@kernel
def _log_ratio(a: float, b: float) -> float:
    """The logarithm of a / b, with all its digits also where the two are close."""
    return math.log1p((a - b) / b) if a > 0.5 * b else math.log(a / b)


@kernel
def kl_upper(mean: float, level: float) -> float:
    """The largest q with kl(mean, q) <= level."""
    return max(mean, 1.0 - kl_gap(mean, level))


@kernel(inline=False)
def kl_gap(mean: float, level: float) -> float:
    """One minus the largest q with kl(mean, q) <= level."""
    rest = 1.0 - mean
    if rest <= 0.0:
        return 0.0
    if level <= 0.0:
        return min(rest, 1.0)
    if mean < TINY:
        return math.exp(-level)
    gap = _start(mean, rest, level)
    if gap < TINY:
        return gap
    low, high, per_mean = 0.0, rest, 1.0 / mean
    for _ in range(64):
        q, x = 1.0 - gap, rest - gap
        if x <= 0.0:  # the level is too small to tell the bound from the mean
            return rest
        slope = 1.0 / (q * gap)  # of kl over x; one division serves them all
        excess = rest * math.log1p(x * q * slope) - mean * math.log1p(x * per_mean) - level
        if excess > 0.0:
            low = gap
        else:
            high = gap
        bend = (mean * gap * gap + rest * q * q) * slope
        move = 2.0 * excess * x * q * gap / (2.0 * x * x - excess * q * gap * bend)
        if not low <= gap + move <= high:
            move = 0.5 * (low + high) - gap
        gap += move
        if abs(move) <= CLOSE * min(x, gap) + 2e-16:
            break
    return gap


@kernel
def _start(mean: float, rest: float, level: float) -> float:
    """A gap close to the solution."""
    lean = level * (rest - mean) * (2.0 / 3.0)
    stretch = 1.0 + level * (8.0 / 9.0)
    gap = rest - (lean + math.sqrt(lean * lean + 2.0 * level * mean * rest * stretch)) / stretch
    if gap < 0.5 * rest:
        gap = max(gap, rest * math.exp((mean * math.log(mean) - level) / rest))
    return gap


@kernel
def exploration(rounds: int, c: float) -> float:
    """The level ln t + c ln ln t of n kl, zero where it would be negative or is not defined."""
    if rounds <= 1:
        return 0.0
    log = math.log(rounds)
    return max(0.0, log + c * math.log(log))


@kernel
def weigh(trials: Floats, totals: Floats, arm: int, count: int, total: float, pending: int) -> None:
    """What the bound of an arm is made of: what is under way pays what has come on average, or one half."""
    if pending == 0:
        trials[arm], totals[arm] = count, total
    else:
        trials[arm] = tries(count, pending, pending)
        totals[arm] = (total / count if count > 0 else 0.5) * trials[arm]


@kernel
def information(count: float, total: float) -> float:
    """S ln mean + F ln(1 - mean): minus n times the entropy of the mean."""
    lack = count - total
    part = total * math.log(total / count) if total > 0.0 else 0.0
    return part + (lack * math.log(lack / count) if lack > 0.0 else 0.0)


@kernel
def gap_of(count: float, total: float, level: float) -> float:
    """The gap of one arm with a trial; sums may be a rounding error outside [0, count]."""
    return kl_gap(min(max(total / count, 0.0), 1.0), level / count)


@kernel
def most_optimistic(counts: Floats, sums: Floats, informations: Floats, level: float) -> int:
    """The lowest arm with the largest bound; one without a trial before all others."""
    winner = 0
    for k in range(len(counts)):
        if counts[k] == 0:
            return k
        if sums[k] > sums[winner]:
            winner = k
    first = winner
    gap = gap_of(counts[first], sums[first], level)
    log_q, log_gap = math.log1p(-gap), math.log(gap)
    for k in range(len(counts)):
        if k == first:
            continue
        evidence = informations[k] - sums[k] * log_q - (counts[k] - sums[k]) * log_gap
        ahead = sums[k] >= counts[k] * (1.0 - gap)
        if not ahead and evidence > level + SLACK * (counts[k] + level):
            continue
        other = gap_of(counts[k], sums[k], level)
        if other < gap or (other == gap and k < winner):
            winner, gap = k, other
            log_q, log_gap = math.log1p(-gap), math.log(gap)
    return winner
