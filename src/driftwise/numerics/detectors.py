"""Has the mean of this arm changed? Four tests that answer one reward at a time; rewards are on the scale [0, 1].

**Walks** (`cusum`, `page_hinkley`): two sums that go up with rewards above and below a baseline, less a slack, and
never below zero; a change drives one of them up. The baseline is the mean of the first rewards (CUSUM) or of all so far
(Page-Hinkley). Page, *Biometrika* 1954; Liu, Lee & Shroff, AAAI 2018, algorithms 2 and 3.

**Halves** (`slide_halves`): the sum of the newer half of the last w rewards against that of the older. Cao, Wen, Kveton
& Xie, AISTATS 2019, algorithm 1. O(1) a reward: each half gains one reward and loses one. So that no rounding stays,
each half is replaced by a fresh sum every w/2 rewards.

**Prefixes** (`likelihood_ratio`): the Bernoulli generalised likelihood ratio over every split of n rewards. With
fit(i..j) the largest log-likelihood one mean can give to the rewards i..j,

    G(s, n) = fit(1..s) + fit(s+1..n) - fit(1..n)  =  s kl(mean_1..s, mean_1..n) + (n - s) kl(mean_s+1..n, mean_1..n)

and there is an alarm when the largest G(s, n) reaches a threshold. Besson & Kaufmann 2019, section 2. Trying every
split after every reward costs O(n); two bounds, both sure, leave little to try. A fit never rises with more rewards,
since every reward's log-likelihood is at most zero. Hence

    G(s, n + 1) <= G(s, n) + fit(1..n) - fit(1..n+1)     one bound for all splits: no scan while it is too low
    G(s, n) <= fit(1..a) + fit(b+1..n) - fit(1..n)       for all s in a..b: one look at a block of splits

and the alarms are exactly those of the full test.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Cache, Floats, PerArm, Problem
from driftwise.core.validation import bounded_range

BLOCK = 12  # splits bounded together; measured
WORTH = 0.6  # a block is tried split by split when its bound exceeds this share of the threshold; measured


def unit_range(policy: str, problem: Problem) -> Floats:
    """What to subtract from a reward and what to divide by: the range, or for unbounded rewards twice their noise."""
    if problem.bounded:
        return np.array(bounded_range(policy, problem.low, problem.high))
    return np.array([0.0, problem.span])


# ---- walks ----


class Walks(NamedTuple):
    """The baseline of each arm, and its sums of rewards above it (`rises`) and below it (`falls`)."""

    baselines: PerArm
    rises: PerArm
    falls: PerArm


def new_walks(n_arms: int) -> Walks:
    """Walks at zero."""
    return Walks(np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms))


@kernel
def cusum(walks: Walks, arm: int, reward: float, count: int, warmup: int, slack: float) -> float:
    """Take the `count`-th reward of `arm` since its restart; the higher walk. The first `warmup` make the baseline."""
    if count > warmup:
        return _step(walks, arm, reward - walks.baselines[arm], slack)
    walks.baselines[arm] += (reward - walks.baselines[arm]) / count
    return 0.0


@kernel
def page_hinkley(walks: Walks, arm: int, reward: float, count: int, warmup: int, slack: float) -> float:
    """Take the `count`-th reward of `arm` since its restart; the higher walk. All rewards make the baseline."""
    walks.baselines[arm] += (reward - walks.baselines[arm]) / count
    if count > warmup:
        return _step(walks, arm, reward - walks.baselines[arm], slack)
    return 0.0


@kernel
def _step(walks: Walks, arm: int, surplus: float, slack: float) -> float:
    rise = max(0.0, float(walks.rises[arm]) + surplus - slack)
    fall = max(0.0, float(walks.falls[arm]) - surplus - slack)
    walks.rises[arm], walks.falls[arm] = rise, fall
    return max(rise, fall)


@kernel
def stop_walks(walks: Walks, arm: int) -> None:
    """Start over for one arm."""
    walks.baselines[arm], walks.rises[arm], walks.falls[arm] = 0.0, 0.0, 0.0


# ---- halves of a window ----


class Halves(NamedTuple):
    """The last w rewards of each arm in a ring, and the sums of the `older` and the `newer` half of them.

    `fresh` sums what entered since `slots` was last at 0 or w/2, `settled` is what it came to before that.
    """

    rewards: PerArm
    slots: PerArm
    filled: PerArm
    newer: PerArm
    older: PerArm
    fresh: PerArm
    settled: PerArm


def new_halves(n_arms: int, window: int) -> Halves:
    """Empty rings of `window` rewards, an even number."""
    return Halves(
        rewards=np.zeros((n_arms, window)),
        slots=np.zeros(n_arms, np.int64),
        filled=np.zeros(n_arms, np.int64),
        newer=np.zeros(n_arms),
        older=np.zeros(n_arms),
        fresh=np.zeros(n_arms),
        settled=np.zeros(n_arms),
    )


@kernel
def slide_halves(halves: Halves, arm: int, reward: float) -> float:
    """Take a reward of `arm`; how far the two halves are apart, 0 until the window is full."""
    window = halves.rewards.shape[1]
    half = window // 2
    slot = halves.slots[arm]
    middle = slot + half if slot < half else slot - half  # what leaves the newer half for the older
    crossing, leaving = 0.0, 0.0
    if halves.filled[arm] >= half:
        crossing = halves.rewards[arm, middle]
    if halves.filled[arm] >= window:
        leaving = halves.rewards[arm, slot]
    halves.rewards[arm, slot] = reward
    halves.newer[arm] += reward - crossing
    halves.older[arm] += crossing - leaving
    halves.fresh[arm] += reward
    halves.filled[arm] = min(halves.filled[arm] + 1, window)
    slot += 1
    if slot in (half, window):
        halves.newer[arm], halves.older[arm] = halves.fresh[arm], halves.settled[arm]
        halves.settled[arm], halves.fresh[arm] = halves.fresh[arm], 0.0
    halves.slots[arm] = slot if slot < window else 0
    return abs(halves.newer[arm] - halves.older[arm]) if halves.filled[arm] == window else 0.0


@kernel
def empty_halves(halves: Halves, arm: int) -> None:
    """Start over for one arm."""
    halves.slots[arm], halves.filled[arm] = 0, 0
    halves.newer[arm], halves.older[arm], halves.fresh[arm], halves.settled[arm] = 0.0, 0.0, 0.0, 0.0


# ---- every split of a sequence ----


class Prefixes(NamedTuple):
    """`sums[k, i]` is the sum of the first i rewards kept of arm k, `n_rewards[k]` how many there are.

    `bounds[k]` is at least the largest G of the arm, `fits[k]` is fit(1..n_rewards). `thresholds[n]` is what G must
    reach with n rewards; `powers[i]` is i ln i.
    """

    sums: PerArm
    n_rewards: PerArm
    bounds: PerArm
    fits: PerArm
    thresholds: Cache
    powers: Cache


def new_prefixes(n_arms: int, thresholds: Floats) -> Prefixes:
    """Nothing kept yet; room for len(thresholds) - 1 rewards of each arm."""
    whole = np.arange(len(thresholds), dtype=np.float64)
    return Prefixes(
        sums=np.zeros((n_arms, len(thresholds))),
        n_rewards=np.zeros(n_arms, np.int64),
        bounds=np.zeros(n_arms),
        fits=np.zeros(n_arms),
        thresholds=thresholds,
        powers=whole * np.log(np.maximum(whole, 1.0)),
    )


@functools.lru_cache(maxsize=8)
def _thresholds(memory: int, delta: float, proven: bool) -> tuple[float, ...]:
    threshold = proven_threshold if proven else practical_threshold
    return math.inf, *(threshold(n, delta) for n in range(1, memory + 1))


def thresholds_of(memory: int, delta: float, proven: bool) -> Floats:
    """What G must reach with 0, 1, .. `memory` rewards; found once for all agents and runs alike."""
    return np.array(_thresholds(memory, delta, proven))


def practical_threshold(n: int, delta: float) -> float:
    """What Besson & Kaufmann use in their experiments: ln(3 n sqrt(n) / delta)."""
    return math.log(3.0 * n * math.sqrt(n) / delta)


def proven_threshold(n: int, delta: float) -> float:
    """The threshold of their theorem: 2 T(ln(3 n sqrt(n) / delta) / 2) + 6 ln(1 + ln n)."""
    return 2.0 * price(0.5 * practical_threshold(n, delta)) + 6.0 * math.log(1.0 + math.log(n))


def price(x: float) -> float:
    """The function T of Kaufmann & Koolen (*Mixture martingales revisited*, 2018): about x + 4 ln(1 + x + sqrt(2 x)).

        T(x) = 2 g((h(1 + x) + ln(2 zeta(2))) / 2),      h the inverse of u - ln u on u >= 1
        g(x) = exp(1 / h(x)) h(x)  where that exponential is at most 3/2,  else  3/2 (x - ln ln 3/2)

    Besson & Kaufmann print the border of the two cases as h(1 / ln 3/2); g is continuous only with the one used here.
    """
    y = 0.5 * (_inverse(1.0 + x) + math.log(math.pi**2 / 3.0))
    border = 1.0 / math.log(1.5)
    if y >= border - math.log(border):
        return 2.0 * math.exp(1.0 / _inverse(y)) * _inverse(y)
    return 3.0 * (y - math.log(math.log(1.5)))


def _inverse(x: float) -> float:
    """The u >= 1 with u - ln u = x, for x >= 1, by Newton's method from above."""
    u = x + math.sqrt(2.0 * (x - 1.0)) + math.log(x)
    for _ in range(60):
        step = (u - math.log(u) - x) * u / max(u - 1.0, 1e-300)
        u = max(1.0, u - step)
        if abs(step) <= 1e-15 * u:
            break
    return u


@kernel
def likelihood_ratio(prefixes: Prefixes, arm: int, reward: float, due: bool, stride: int) -> bool:
    """Take a reward of `arm`; whether some split s, a multiple of `stride`, gives an alarm. Not asked unless `due`."""
    if prefixes.n_rewards[arm] + 1 == prefixes.sums.shape[1]:
        _drop_half(prefixes, arm)
    n = prefixes.n_rewards[arm] + 1
    total = prefixes.sums[arm, n - 1] + reward
    prefixes.sums[arm, n], prefixes.n_rewards[arm] = total, n
    fit = best_fit(prefixes.powers, total, n)
    prefixes.bounds[arm] += max(0.0, prefixes.fits[arm] - fit)
    prefixes.fits[arm] = fit
    if not due or prefixes.bounds[arm] < prefixes.thresholds[n]:
        return False
    prefixes.bounds[arm] = _scan(prefixes.sums[arm], prefixes.powers, n, prefixes.thresholds[n], stride)
    return bool(prefixes.bounds[arm] >= prefixes.thresholds[n])


@kernel
def forget_prefixes(prefixes: Prefixes, arm: int) -> None:
    """Start over for one arm; `sums[arm, 0]` is 0 always."""
    prefixes.n_rewards[arm], prefixes.bounds[arm], prefixes.fits[arm] = 0, 0.0, 0.0


@kernel
def best_fit(powers: Floats, total: float, count: int) -> float:
    """The largest Bernoulli log-likelihood of `count` rewards with this total: count (m ln m + (1 - m) ln(1 - m))."""
    return _power(powers, total) + _power(powers, count - total) - float(powers[count])


@kernel
def _power(powers: Floats, x: float) -> float:
    """The function x ln x; looked up for whole numbers, which are all there is when rewards are 0 or 1."""
    i = int(x)
    if i == x:
        return float(powers[i])
    return x * math.log(x) if x > 0.0 else 0.0


@kernel(inline=False)
def _scan(sums: Floats, powers: Floats, n: int, threshold: float, stride: int) -> float:
    """The largest G over the splits, or a bound of it that lies below the threshold."""
    top = 0.0
    total = sums[n]
    whole = best_fit(powers, total, n)
    for a in range(1, n, BLOCK):
        b = min(a + BLOCK - 1, n - 1)
        bound = best_fit(powers, sums[a], a) + best_fit(powers, total - sums[b], n - b) - whole
        if bound > WORTH * threshold:
            bound = 0.0
            for s in range(a + (-a) % stride, b + 1, stride):
                ratio = best_fit(powers, sums[s], s) + best_fit(powers, total - sums[s], n - s) - whole
                bound = max(bound, ratio)
        top = max(top, bound)
    return top


@kernel(inline=False)
def _drop_half(prefixes: Prefixes, arm: int) -> None:
    """Forget the older half of what is kept. Every split has another G now: no bound is known until the next scan."""
    size = prefixes.sums.shape[1] - 1
    half = size // 2
    base = prefixes.sums[arm, half]
    for i in range(half, size + 1):
        prefixes.sums[arm, i - half] = prefixes.sums[arm, i] - base
    rest = size - half
    prefixes.n_rewards[arm] = rest
    prefixes.fits[arm] = best_fit(prefixes.powers, prefixes.sums[arm, rest], rest)
    prefixes.bounds[arm] = math.inf
