"""Who wins a race of Beta draws: exact Thompson sampling that asks most arms only one cheap question.

Drawing K Betas costs 2K gammas. Instead one promising arm is drawn, giving x; every other arm is asked only
"would your draw exceed x, and if so where?" To the right of x a log-concave density f lies below its tangent
exponential,

    f(y) <= f(x) exp(s (y - x)),   s = (log f)'(x) < 0,   of total mass  m = f(x) / -s.

With probability m a point y of that exponential is proposed, and kept with probability f(y) over the bound: the
kept points have density exactly f on (x, 1), so the winner and its value have exactly the law of the full race.
Arms for which m > 1, or which rise at x, are simply drawn.

Posteriors are Beta(S + a, F + b) from S successes, F failures and a prior Beta(a, b), uniform as a rule: log-concave
where neither a nor b is below 1. `ahead` = a - 1 and `behind` = b - 1 are what the prior adds to S and F.
"""

import math
from typing import Any

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import beta, branch, exponential, positive_uniform, uniform
from driftwise.core.summary import Summary, put_interval
from driftwise.core.types import Floats, Ints
from driftwise.numerics.beta_quantile import TAIL, beta_quantile

TABLE = np.array([math.lgamma(n + 1.0) for n in range(256)])
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
LOG_2 = math.log(2.0)


@kernel
def log_factorial(n: int) -> float:
    """Log n!; from 256 on by Stirling's series, whose first dropped term is below 1e-15."""
    if n < 256:
        return float(TABLE[n])
    x = float(n)
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
    return (x + 0.5) * math.log(x) - x + HALF_LOG_TAU + series


@kernel
def log_height(successes: float, trials: int) -> float:
    """Log of the constant of the Beta(S + 1, F + 1) density."""
    s = int(successes)
    return log_factorial(trials + 1) - log_factorial(s) - log_factorial(trials - s)


@kernel
def log_height_with_prior(successes: float, trials: int, ahead: float, behind: float) -> float:
    """Log of the constant of the density of Beta(S + 1 + ahead, F + 1 + behind)."""
    if ahead == 0.0 and behind == 0.0:
        return log_height(successes, trials)
    a, b = successes + 1.0 + ahead, trials - successes + 1.0 + behind
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)


@kernel
def trial(reward: float, low: float, span: float, rng: Any) -> float:
    """A reward in [low, low + span] turned into success (1) or failure (0) with the same mean."""
    u, rng = uniform(branch(rng))
    return 1.0 if u < (reward - low) / span else 0.0


@kernel
def race(successes: Floats, trials: Ints, heights: Floats, ahead: float, behind: float, rng: Any) -> int:
    """The arm with the largest draw. `heights[k]` is `log_height` of arm k, `ahead` and `behind` are the prior's."""
    first = 0
    for k in range(1, len(trials)):
        if successes[k] > successes[first]:
            first = k
    winner = first
    x, rng = beta(successes[first] + 1.0 + ahead, trials[first] - successes[first] + 1.0 + behind, rng)
    log_x, log_rest = math.log(x), math.log1p(-x)
    for k in range(len(trials)):
        if k == first:
            continue
        s = successes[k] + ahead
        f = trials[k] - successes[k] + behind
        fall = f / (1.0 - x) - s / x
        mass = 2.0
        u = 1.0
        if fall > 0.0:
            u, rng = positive_uniform(rng)
            height = heights[k] + s * log_x + f * log_rest
            if height < LOG_2 * ((np.float64(u * fall).view(np.int64) >> 52) - 1023):
                continue  # e^height < u fall, told from the exponent alone: no exponential for most arms
            mass = math.exp(height) / fall
        if mass > 1.0:
            y, rng = beta(s + 1.0, f + 1.0, rng)
            if y <= x:
                continue
        else:
            if u >= mass:
                continue
            step, rng = exponential(rng)
            y = x + step / fall
            if y >= 1.0:
                continue
            u, rng = uniform(rng)
            if u >= math.exp(s * math.log(y / x) + f * math.log((1.0 - y) / (1.0 - x)) + step):
                continue
        winner, x = k, y
        log_x, log_rest = math.log(x), math.log1p(-x)
    return winner


@kernel
def summarise_beta(out: Summary, arm: int, a: float, b: float, count: float, low: float, span: float) -> None:
    """One arm whose place in the range of rewards is believed to be Beta(a, b): its mean, and the central 95 %.

    Successes are random trials (`trial`): their share is the mean of rewards only on average, so the estimate is not
    exactly what the rewards came to, which nobody keeps.
    """
    out.count[arm] = count
    least, most = beta_quantile(a, b, TAIL), beta_quantile(a, b, 1.0 - TAIL)
    put_interval(out, arm, low + span * a / (a + b), low + span * least, low + span * most)
