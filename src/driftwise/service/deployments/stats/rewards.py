"""What a deployment earns per decision, and how much more than uniform choice would, with 95 % intervals.

Uniform choice is estimated from the same decisions: one whose action had the propensity p among K arms has the weight
1 / (K p), and the weighted mean of rewards (self-normalised importance sampling) estimates what an arm chosen at random
would have earned. The interval of the difference is that of a ratio of sums: each decision contributes its deviation
from the mean, less its weighted deviation from the estimate. Where rewards drift, both are a little too wide.

There is no estimate where the decisions cannot support one. Weights have the mean 1 where every arm has a chance; a
policy that never gives one to some arm has less. And with few effective decisions the interval could not be trusted.

Sums are those of r - c, where c, the `shift`, is near the rewards: a variance is a difference of sums, which for large
rewards with a small spread would be nothing but rounding. A variance that may be all rounding is 0.
"""

import math
import sys

import msgspec

MIN_FOR_INTERVAL = 10  # rewards, where their range is not known
MIN_EFFECTIVE = 50.0  # decisions of uniform choice that the weighted ones amount to
WEIGHT_SLACK, WEIGHT_ERRORS = 0.05, 3.0  # that the mean weight may be away from 1: so much, and so many standard errors
Z = 1.96
ROUNDING = 1e-12  # of the size of rewards; more where more numbers than 1 / (1e12 * epsilon) were added
Sums = list[float]  # see `reward_sums`


class RewardEstimate(msgspec.Struct):
    """A mean over `n` decisions, and the ends of its 95 % interval; null where there are too few for one."""

    n: int
    mean: float
    low: float | None
    high: float | None


def reward_sums(reward: float, weight: float | None) -> Sums:
    """What a decision adds: 1, r and r² of all; then of those with a weight 1, r, r², w, wr, wr², w², w²r and w²r².

    `reward` is what it earned, less the `shift`.
    """
    squared = reward * reward
    if weight is None:
        return [1.0, reward, squared]
    w, v = weight, weight * weight
    return [1.0, reward, squared, 1.0, reward, squared, w, w * reward, w * squared, v, v * reward, v * squared]


def mean_interval(sums: Sums, low: float, high: float, shift: float = 0.0) -> tuple[int, float, float, float] | None:
    """Count and mean of rewards with a 95 % interval for the expected reward; None without rewards.

    Where rewards lie in a known range, two more at either end are counted in, as Agresti and Coull do for coins: a few
    equal rewards do not make a narrow interval. Otherwise it is the normal approximation.
    """
    count, total, squares = sums
    if not count:
        return None
    mean = total / count
    if not math.isfinite(low):
        spread = _beyond_rounding(squares - total * mean, count, squares)
        half = Z * math.sqrt(spread / max(1.0, count - 1) / count)
        return int(count), shift + mean, shift + mean - half, shift + mean + half
    more, least, most = count + 4, low - shift, high - shift
    center = (total + 2 * (least + most)) / more
    half = Z * math.sqrt(max(0.0, (squares + 2 * (least * least + most * most)) / more - center * center) / more)
    return int(count), shift + mean, max(low, shift + center - half), min(high, shift + center + half)


def reward_estimate(sums: Sums, low: float, high: float, shift: float = 0.0) -> RewardEstimate | None:
    """The mean reward of a decision; None without rewards."""
    interval = mean_interval(sums[:3], low, high, shift) if sums else None
    if interval is None:
        return None
    n, mean, *ends = interval
    if not math.isfinite(low) and n < MIN_FOR_INTERVAL:
        return RewardEstimate(n, mean, None, None)
    return RewardEstimate(n, mean, *ends)


def lift_estimate(sums: Sums, shift: float = 0.0) -> tuple[RewardEstimate, RewardEstimate] | None:
    """What uniform choice would earn, and how much more was earned in the same decisions; None if that is not known."""
    if len(sums) <= 3:
        return None
    n, r, rr, w, wr, wrr, ww, wwr, wwrr = sums[3:]
    if not n or not ww or w * w / ww < MIN_EFFECTIVE:
        return None
    mean, weight, uniform = r / n, w / n, wr / w
    error = math.sqrt(max(0.0, ww / n - weight * weight) / n)
    if abs(weight - 1.0) > WEIGHT_SLACK + WEIGHT_ERRORS * error:
        return None
    own = rr / n - mean * mean
    joint = (wrr - (mean + uniform) * wr + mean * uniform * w) / w
    other = (wwrr - 2 * uniform * wwr + uniform * uniform * ww) * n / (w * w)
    size = rr / n + wwrr * n / (w * w)
    half = Z * math.sqrt(_beyond_rounding(own - 2 * joint + other, n, size) / n)
    alone = Z * math.sqrt(_beyond_rounding(other, n, size) / n)
    lift = mean - uniform if half else 0.0  # what never varies is uniform choice itself, or one reward
    count, level = int(n), shift + uniform
    return (
        RewardEstimate(count, level, level - alone, level + alone),
        RewardEstimate(count, lift, lift - half, lift + half),
    )


def _beyond_rounding(variance: float, n: float, size: float) -> float:
    """A variance that sums of `n` numbers give, whose squares are about `size`; 0 where it may be all rounding."""
    return variance if variance > max(ROUNDING, n * sys.float_info.epsilon) * size else 0.0
