"""A mixture of Kalman filters: linear rewards whose parameter walks at an unknown pace, and nothing to tune.

Each of Q models says that the parameter walks, theta_{t+1} = theta_t + N(0, q I), with a pace of its own from standing
still to forgetting at once; the rewards say which of them to believe.

    q = (R / L)^2 10^(-8 .. 0), evenly in the exponent               theta_1 ~ N(0, (s_0 u)^2 I)
    a round passes     P <- P + q I, no variance above (s_0 u)^2     for every model
    Y of x comes       S = x' P x + R^2,  e = Y - <x, m>
                       w <- w N(e; 0, S), normalised, then w <- (1 - s) w + s / Q
                       m <- m + P x e / S,   P <- P - P x x' P / S
    index of x = <x, m*> + c sqrt(x' P* x)                           m*, P* the mean and covariance of the mixture,
                                                                     the spread between models included

| symbol | field | |
|---|---|---|
| c | width | bonus in standard deviations; at 1 and below a row nobody plays may never be tried again |
| s | share | how readily another model is believed after a change of pace |
| Q | models | filters side by side |
| s_0 | prior_sd | about how large a coordinate of the parameter may be, in units u |
| L | reach | about how long features are |
| R, u | | noise and unit of the rewards, from the problem, or learned |
| m, P, w | means, covariances, weights | the belief of each model, and in it; P and q are kept in units u^2 |

Kalman 1960 for the filter; fixed share from Herbster & Warmuth, *Tracking the best expert*, Machine Learning 1998.
Known in advance: the noise or the range of rewards, and rather too much of it than too little: told half the true R it
chases luck (13 times the regret, measured), told twice the true R it is slow (1.6 times). Rewards should lie around
zero, or features hold a constant.
Regret: none proven. Measured in `piecewise-linear` (T = 10^5, R = 0.1), where a window that knows the variation
(`sliding-lin-ucb`, equation (90)) has 3300: 250; among 40 fixed actions 850 against 5600, between two arms both 1000.
While rewards are under way the beliefs stay at the newest round that was answered, and late rewards that come in order
teach as much as if they had come at once; choices look ahead from there, and P* is that of filters that have seen the
pending rows, too. A reward of an earlier round is blurred by the walk since: R^2 grows by q |x|^2 for every round. One
told twice counts twice. O(Q d^2) a round, O(d^3) more while rewards are under way, and O(d^2) a row.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Floats, Outcome, PerFeature, PerFeaturePair, Problem, Scratch, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.contextual.pending_covariance import NarrowRoom, narrow_covariance, new_narrow_room
from driftwise.families.contextual.pending_rows import PendingRows, any_pending, new_pending_rows, pend_row, settle_row
from driftwise.families.contextual.summaries import put_row, rewards_worth
from driftwise.numerics.reward_scale import RewardScale, measure, new_scale
from driftwise.numerics.ridge import dot

SLOWEST, FASTEST = -8.0, 0.0  # exponents of q (L / R)^2
GRAIN = 1e-15  # the least q, in units of s_0^2 and per feature


class KalmanMixtureState(NamedTuple):
    """The beliefs; `paces` are the q, `variance` is R^2, both in units; `clock` is the round the beliefs are about."""

    means: PerFeature
    covariances: PerFeaturePair
    weights: Shared
    scale: RewardScale
    paces: Shared
    variance: Shared
    clock: Shared
    pending: PendingRows
    image: Scratch
    fits: Scratch
    mean: Scratch
    covariance: Scratch
    room: NarrowRoom


class KalmanMixture(NamedTuple):
    """Upper bounds from Kalman filters of every pace, weighted by how well they predict.

    Parameters
    ----------
    width : float
        Bonus, in standard deviations of the mixture.
    share : float
        Part of the belief that is dealt out evenly after every reward.
    models : int
        How many paces are tried.
    prior_sd : float
        Standard deviation of a coordinate of the parameter before anything is seen, and the most it ever is; in units
        of the largest reward.
    reach : float
        Length of a typical row of features: paces are measured by what they do to a reward.

    >>> KalmanMixture()
    KalmanMixture(width=2.0, share=0.001, models=9, prior_sd=1.0, reach=1.0)
    """

    width: float = 2.0
    share: float = 1e-3
    models: int = 9
    prior_sd: float = 1.0
    reach: float = 1.0

    def init(self, problem: Problem) -> KalmanMixtureState:
        """The prior in every model, and all models alike."""
        dim, models = whole("dim", problem.dim), whole("models", self.models, low=2, high=1000)
        whole("n_arms", problem.n_arms)
        number("width", self.width, above=0.0)
        number("share", self.share, above=0.0, below=1.0)
        number("prior_sd", self.prior_sd, above=0.0)
        number("reach", self.reach, above=0.0)
        state = KalmanMixtureState(
            means=np.zeros((models, dim)),
            covariances=np.tile(self.prior_sd**2 * np.eye(dim), (models, 1, 1)),
            weights=np.full(models, 1.0 / models),
            scale=new_scale(problem),
            paces=np.zeros(models),
            variance=np.zeros(1),
            clock=np.zeros(1, np.int64),
            pending=new_pending_rows(dim),
            image=np.zeros(dim),
            fits=np.zeros(models),
            mean=np.zeros(dim),
            covariance=np.zeros((dim, dim)),
            room=new_narrow_room(dim),
        )
        _set_paces.function(self, state)
        return state


@kernel(inline=False)
def _set_paces(policy: KalmanMixture, state: KalmanMixtureState) -> None:
    """R^2 and the paces, by the noise in units."""
    noise, steps = state.scale.noise[0] / state.scale.unit[0], len(state.paces) - 1
    state.variance[0] = noise * noise
    least = len(state.mean) * GRAIN * policy.prior_sd * policy.prior_sd
    for q in range(steps + 1):
        pace = state.variance[0] / (policy.reach * policy.reach) * 10.0 ** (SLOWEST + q * (FASTEST - SLOWEST) / steps)
        # Deviation: a q below rounding would let variances of next to nothing turn negative.
        state.paces[q] = max(pace, least)


@kernel
def _advance(policy: KalmanMixture, state: KalmanMixtureState, t: int, rng: Any) -> None:
    """Come to round `t`, unless rewards are under way: they are news of rounds before."""
    if not any_pending(state.pending):
        _walk(policy, state, t)


@kernel
def _walk(policy: KalmanMixture, state: KalmanMixtureState, t: int) -> None:
    """Let the parameter walk until round `t`."""
    most = policy.prior_sd * policy.prior_sd
    while state.clock[0] < t:  # round by round: where variances are capped, two steps are not one twice as long
        state.clock[0] += 1
        for q in range(len(state.weights)):
            _widen(state.covariances[q], state.paces[q], most)


@kernel
def _widen(covariance: Floats, step: float, most: float) -> None:
    """P + step I; where a variance would pass `most`, its row and column are scaled down to it."""
    dim = len(covariance)
    for i in range(dim):
        covariance[i, i] += step
        if covariance[i, i] > most:
            ratio = math.sqrt(most / covariance[i, i])
            for j in range(dim):
                covariance[i, j] *= ratio
                covariance[j, i] *= ratio


@kernel
def _select(policy: KalmanMixture, state: KalmanMixtureState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    _mix(state, t - state.clock[0], policy.prior_sd * policy.prior_sd)
    if any_pending(state.pending):
        narrow_covariance(state.covariance, state.pending.pairs, state.variance[0], state.room)
    best, top, width = 0, -np.inf, policy.width * state.scale.unit[0]
    for row in range(len(context)):
        x = context[row]
        index = dot(x, state.mean) + width * math.sqrt(max(0.0, _apply(state.covariance, x, state.image)))
        if index > top:
            best, top = row, index
    return best, 1.0


@kernel
def _mix(state: KalmanMixtureState, ahead: int, most: float) -> None:
    """Write the mean and covariance of the mixture, `ahead` rounds after the one the beliefs are about."""
    dim, unit = len(state.mean), state.scale.unit[0]
    for i in range(dim):
        state.mean[i] = 0.0
        for q in range(len(state.weights)):
            state.mean[i] += state.weights[q] * state.means[q, i]
        for j in range(dim):
            state.covariance[i, j] = 0.0
    for q in range(len(state.weights)):
        weight, covariance = state.weights[q], state.covariances[q]
        if ahead > 0:
            covariance = state.pending.gram
            for i in range(dim):
                for j in range(dim):
                    covariance[i, j] = state.covariances[q, i, j]
            _widen(covariance, ahead * state.paces[q], most)
        for i in range(dim):
            apart = (state.means[q, i] - state.mean[i]) / unit
            for j in range(dim):
                between = apart * ((state.means[q, j] - state.mean[j]) / unit)
                state.covariance[i, j] += weight * (covariance[i, j] + between)


@kernel
def _apply(matrix: Floats, x: Floats, image: Floats) -> float:
    """Write the matrix times x to `image`; return x' matrix x."""
    for i in range(len(x)):
        image[i] = 0.0
    for j in range(len(x)):
        weight = x[j]
        if weight != 0.0:
            for i in range(len(x)):
                image[i] += weight * matrix[j, i]
    return dot(x, image)


@kernel
def _update(policy: KalmanMixture, state: KalmanMixtureState, decision: Decision, outcome: Outcome, now: int) -> None:
    _walk(policy, state, decision.t)
    if state.scale.learned[0] or state.scale.learned[1]:
        measure(state.scale, outcome.reward)
        _set_paces(policy, state)
    late = (state.clock[0] - decision.t) * dot(decision.context, decision.context)
    for q in range(len(state.weights)):
        noise = state.variance[0] + late * state.paces[q]
        state.fits[q] = _learn(state, q, decision.context, outcome.reward, noise)
    _reweigh(state.weights, state.fits, policy.share)


@kernel
def _learn(state: KalmanMixtureState, q: int, x: Floats, y: float, noise: float) -> float:
    """Correct one model by a reward; return the logarithm of the density it had given it, in units."""
    mean, covariance, image = state.means[q], state.covariances[q], state.image
    variance = _apply(covariance, x, image) + noise
    error, precision = y - dot(x, mean), 1.0 / variance
    for i in range(len(x)):
        if image[i] != 0.0:
            mean[i] += image[i] * error * precision
            for j in range(len(x)):
                covariance[i, j] -= image[i] * image[j] * precision  # in this order it stays symmetric to the bit
    error /= state.scale.unit[0]
    return float(-0.5 * (math.log(variance) + error * error / variance))


@kernel
def _reweigh(weights: Floats, fits: Floats, share: float) -> None:
    """Bayes' rule, and a share for everyone: no belief is ever lost."""
    best, total = -np.inf, 0.0
    for fit in fits:
        best = max(best, fit)
    for q in range(len(weights)):
        weights[q] *= math.exp(fits[q] - best)
        total += weights[q]
    for q in range(len(weights)):
        weights[q] = (1.0 - share) * weights[q] / total + share / len(weights)


@kernel
def _summarise(policy: KalmanMixture, state: KalmanMixtureState, t: int, context: Floats, out: Summary) -> None:
    """Counts are by the noise: rewards that would leave the mixture as sure of a row as it is, had nothing drifted."""
    clear_summary(out)
    most, width = policy.prior_sd * policy.prior_sd, policy.width * state.scale.unit[0]
    _mix(state, t - state.clock[0], most)
    for row in range(len(context)):
        square = _apply(state.covariance, context[row], state.image) / state.variance[0]
        out.count[row] = rewards_worth(square, most * dot(context[row], context[row]) / state.variance[0])
    if any_pending(state.pending):
        narrow_covariance(state.covariance, state.pending.pairs, state.variance[0], state.room)
    for row in range(len(context)):
        spread = math.sqrt(max(0.0, _apply(state.covariance, context[row], state.image)))
        put_row(out, row, dot(context[row], state.mean), width * spread, True)


register(
    KalmanMixture,
    about=About(
        "the reward range, or the noise",
        "none proven",
        "Kalman 1960; Herbster & Warmuth 1998",
        family="contextual",
    ),
    advance=_advance,
    select=_select,
    pend=pend_row,
    settle=settle_row,
    update=_update,
    summarise=_summarise,
)
