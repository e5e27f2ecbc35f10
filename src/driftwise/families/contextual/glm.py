"""Generalised linear rewards: links, and the parameter that fits the pairs of a window best.

    mean of x = mu(<x, theta>)       identity mu(z) = z,   logistic 1 / (1 + exp(-z)),   poisson exp(z)

The maximum quasi-likelihood estimate solves sum (Y - mu(<x, theta>)) x = lambda theta over the window; the small lambda
keeps a solution where the rewards can be told apart perfectly, such as all zeros. The left side less the right is the
gradient of a strictly concave function, sum (Y z - m(z)) - lambda |theta|^2 / 2 with m' = mu, so there is one solution,
and it does not depend on the order in which rewards came.

Newton's steps start from the last solution. A step is shortened to 2 + |theta|, and halved while it wins less than a
quarter of what the slope promised: so they arrive from any start, where full steps can swing from side to side. After a
step shorter than TOLERANCE what is left of the error is of the order of its square. Each step needs one look at all
pairs: O(n d^2), n the number of different rows where rows repeat, else of pairs.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Cache, Floats, Scratch
from driftwise.families.contextual.feature_window import FeatureWindow
from driftwise.families.contextual.row_counts import LOOSE, Tally
from driftwise.numerics.ridge import dot, factorise

IDENTITY, LOGISTIC, POISSON = 0, 1, 2
TOLERANCE = 1e-5  # length of the last Newton step
LOOKS = 60  # at all pairs, at most, for one estimate: two or three are usual
ENOUGH = 0.25  # of what the slope promises, won by a step that is taken
ROUNDING = 1e-12  # of the likelihood, relatively: less cannot be told from none
HOPELESS = -1e100  # a likelihood below is no place to start from: exp of a new row's score came near to overflow


class Link(NamedTuple):
    """What kernels know a link by, the rewards it fits, the farthest score it can tell from others, and the largest and
    smallest slope of mu for scores up to z.
    """

    code: int
    low: float
    high: float
    far: float
    slopes: Callable[[float], tuple[float, float]]


LINKS = {
    "identity": Link(IDENTITY, -math.inf, math.inf, math.inf, lambda z: (1.0, 1.0)),
    "logistic": Link(LOGISTIC, 0.0, 1.0, 100.0, lambda z: (0.25, 0.25 / math.cosh(z / 2.0) ** 2)),
    "poisson": Link(POISSON, 0.0, math.inf, 100.0, lambda z: (math.exp(z), math.exp(-z))),
}


class GLMFit(NamedTuple):
    """The estimate, and room for a step."""

    theta: Cache
    trial: Scratch
    slope: Scratch
    gradient: Scratch
    curvature: Scratch
    factor: Scratch
    step: Scratch


def new_glm_fit(dim: int) -> GLMFit:
    """Nothing seen: theta = 0."""
    return GLMFit(
        theta=np.zeros(dim),
        trial=np.zeros(dim),
        slope=np.zeros(dim),
        gradient=np.zeros(dim),
        curvature=np.zeros((dim, dim)),
        factor=np.zeros((dim, dim)),
        step=np.zeros(dim),
    )


@kernel
def mean_at(link: int, score: float) -> float:
    """The mean of a score, mu."""
    if link == LOGISTIC:
        return 1.0 / (1.0 + math.exp(-score))
    if link == POISSON:
        return math.exp(score)
    return score


@kernel
def slope_at(link: int, mean: float) -> float:
    """The derivative of mu, where mu is `mean`."""
    if link == LOGISTIC:
        return mean * (1.0 - mean)
    if link == POISSON:
        return mean
    return 1.0


@kernel
def _integral(link: int, score: float, mean: float) -> float:
    """m, the integral of mu."""
    if link == LOGISTIC:
        return max(score, 0.0) + math.log1p(math.exp(-abs(score)))
    if link == POISSON:
        return mean
    return 0.5 * score * score


@kernel(inline=False)
def estimate(fit: GLMFit, link: int, tally: Tally, window: FeatureWindow, ridge: float) -> int:
    """Bring `theta` to the maximum of the quasi-likelihood; how often all pairs were looked at."""
    dim = len(fit.theta)
    for i in range(dim):
        fit.trial[i] = fit.theta[i]
    reached = _look(fit, link, tally, window, ridge)
    if not reached > HOPELESS:
        for i in range(dim):
            fit.theta[i] = 0.0
            fit.trial[i] = 0.0
        reached = _look(fit, link, tally, window, ridge)
    length = _newton_step(fit)
    share, looks = _cautious(fit, length), 1
    while length > TOLERANCE and looks < LOOKS:
        for i in range(dim):
            fit.trial[i] = fit.theta[i] + share * fit.step[i]
        value = _look(fit, link, tally, window, ridge)
        looks += 1
        if value >= reached + ENOUGH * share * dot(fit.slope, fit.step) - ROUNDING * (1.0 + abs(reached)):
            reached = value
            for i in range(dim):
                fit.theta[i] = fit.trial[i]
            length = _newton_step(fit)
            share = _cautious(fit, length)
        else:
            share *= 0.5
    if length <= TOLERANCE:
        for i in range(dim):
            fit.theta[i] += fit.step[i]
    return looks


@kernel
def _cautious(fit: GLMFit, length: float) -> float:
    """The share of a step of this length that is tried first."""
    return min(1.0, (2.0 + math.sqrt(dot(fit.theta, fit.theta))) / max(length, TOLERANCE))


@kernel(inline=False)
def _look(fit: GLMFit, link: int, tally: Tally, window: FeatureWindow, ridge: float) -> float:
    """Write gradient and curvature at `trial`; return the quasi-likelihood there."""
    dim = len(fit.trial)
    value = 0.0
    for i in range(dim):
        value -= 0.5 * ridge * fit.trial[i] * fit.trial[i]
        fit.gradient[i] = -ridge * fit.trial[i]
        for j in range(dim):
            fit.curvature[i, j] = 0.0
        fit.curvature[i, i] = ridge
    for place in range(len(tally.counts)):
        if tally.counts[place] > 0:
            value += _weigh(fit, link, tally.rows[place], float(tally.counts[place]), tally.sums[place])
    if tally.loose[0] > 0:
        for slot in range(window.size[0]):
            if window.filled[slot] and tally.members[slot] == LOOSE:
                value += _weigh(fit, link, window.features[slot], 1.0, window.rewards[slot])
    for i in range(dim):
        for j in range(i):
            fit.curvature[j, i] = fit.curvature[i, j]
    return value


@kernel
def _weigh(fit: GLMFit, link: int, x: Floats, count: float, total: float) -> float:
    """Add what `count` pairs of row x, whose rewards sum to `total`, say of `trial`; curvature below the diagonal."""
    score = dot(x, fit.trial)
    mean = mean_at(link, score)
    pull, stiffness = total - count * mean, count * slope_at(link, mean)
    for i in range(len(x)):
        if x[i] != 0.0:
            fit.gradient[i] += pull * x[i]
            for j in range(i + 1):
                fit.curvature[i, j] += stiffness * x[i] * x[j]
    return total * score - count * _integral(link, score, mean)


@kernel(inline=False)
def _newton_step(fit: GLMFit) -> float:
    """Write the gradient to `slope`, curvature^-1 gradient to `step`; the length of the step."""
    factorise(fit.curvature, fit.factor)
    dim = len(fit.step)
    for i in range(dim):
        fit.slope[i] = fit.gradient[i]
        total = fit.gradient[i]
        for k in range(i):
            total -= fit.factor[i, k] * fit.step[k]
        fit.step[i] = total / fit.factor[i, i]
    for back in range(dim):
        i = dim - 1 - back
        total = fit.step[i]
        for k in range(i + 1, dim):
            total -= fit.factor[k, i] * fit.step[k]
        fit.step[i] = total / fit.factor[i, i]
    return math.sqrt(dot(fit.step, fit.step))


@kernel
def multiply_symmetric(left: Floats, right: Floats, product: Floats) -> None:
    """The product of two matrices, of which the right one is symmetric."""
    for i in range(len(left)):
        for j in range(len(left)):
            product[i, j] = dot(left[i], right[j])


@kernel
def width_under(inverse: Floats, x: Floats) -> float:
    """sqrt(x' V^-1 x)."""
    total = 0.0
    for i in range(len(x)):
        if x[i] != 0.0:
            total += x[i] * dot(inverse[i], x)
    return math.sqrt(max(0.0, total))
