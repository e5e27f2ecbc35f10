"""Filter-bank UCB: bounds from random-walk filters of every pace. It learns drift, noise and scale: nothing to set.

    index_k = m_k + c sqrt(v_k + x_k)                          mean and variance of the mixture, `filter_bank.py`
    x_k = clip(u_k + 2 D(n_k) - v_k, 0, 2 V)                   how far an arm may have strayed while nobody looked:
                                                               D from `variogram.py`, u_k the variance after the last
                                                               reward of k, n_k the rounds since
    n_k rounds pass  the variance of k in filter j, in units of R^2, grows by max(rho_j n_k, the sum of h_k), up to
                     2 V / R^2 + 1,
                     h_k = a sqrt(3 / K) g^2 / (1 + g) / (1000 + t / 16),   g = min((max m - m_k)^2 / (c R)^2, 1000)
    y of arm k       R^2 from `reward_noise.py`; the filters of k start from variance + x_k / R^2
    V                mean squared distance of the m_k from their mean G over the last 10^4 rewards; the variance of all
                     rewards until every arm has one

The growth h_k keeps an eye on arms that the filters have given up. An arm is tried when its variance reaches g, and a
reward takes g^2 / (1 + g) off it. So each of three arms is tried once in 1000 rounds more than the filters ask for,
once in t / 16 rounds later on: 16 log(1 + T / 16,000) times in all, and less often where there are more arms.

| symbol | field | |
|---|---|---|
| a | alertness | visits to idle arms, for changes that nobody can see; 0 for none |
| | floor | share of decisions made uniformly at random, so that propensities are known |
| c | | 2; below, an idle arm that has improved is not tried again |
| R^2, G, V | noise, spread | in the unit of rewards, squared |
| t | clock | the round to be decided next |

An arm without a reward is tried first, lowest number first. While its reward is under way the mean of all rewards and
their variance stand for it. Decisions under way count as if they had come and paid its mean: with p of them, v_k + x_k
is smaller by 1 + p (v_k + x_k) / R^2. Those that wait far longer than rewards take do not (`numerics/generations.py`):
among them are those whose rewards are lost, and the arm that is played most would be held back by them (measured: with
a fifth of rewards lost, up to 5 times the regret).

Kalman 1960 for the filters; Herbster & Warmuth, *Tracking the best expert*, Machine Learning 1998, for the share; the
rest is our own, measured in `benchmarks/auto`.
Known in advance: nothing.
Regret: none proven. `docs/auto.md` has what was measured, and where it fails.
Late rewards are news of an earlier round: the slower an arm moves, the more they still teach. One told twice counts
twice. O(M K) a round.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import integers, uniform
from driftwise.core.summary import Summary, clear_summary, put_interval
from driftwise.core.types import About, Decision, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.multi_armed.filter_bank import FilterBank, correct, mixture, new_bank, start
from driftwise.families.multi_armed.reward_noise import COUNT, MEAN, RewardNoise, learn_noise, new_noise, total_variance
from driftwise.families.multi_armed.variogram import ALL, Variogram, look, new_variogram, straying
from driftwise.numerics.generations import (
    OLD,
    YOUNG,
    Generations,
    generation_of,
    learn_delay,
    new_generations,
    opens_generation,
)

WIDTH = 2.0
STRAYING = 2.0
SPREAD = 2.0
FARTHEST = 1000.0
VISITS = 16.0
EVERY = 1000.0  # rounds between visits at first
SPREAD_MEMORY = 1e4


class FilterBankUCBState(NamedTuple):
    """The filters, and what they say of every arm at round `clock`: `estimates` m, `variances` v and `extras` x.

    `alerts` are the sums of h since the last reward of an arm, `departures` the u. `young` and `old` count the
    decisions under way of two generations, `pending` all of them. `spread` holds for how many rewards V has been
    learned, G and V.
    """

    bank: FilterBank
    noise: RewardNoise
    variogram: Variogram
    spread: Shared
    counts: PerArm
    pending: PerArm
    generations: Generations
    young: PerArm
    old: PerArm
    alerts: PerArm
    departures: PerArm
    estimates: PerArm
    variances: PerArm
    extras: PerArm
    clock: Shared


class FilterBankUCB(NamedTuple):
    """Upper bounds from filters of every pace, weighted by how well they predict.

    Parameters
    ----------
    alertness : float
        Visits to idle arms beside those that the filters ask for: about 16 x alertness x log(1 + rounds / 16,000) to
        each of three arms. More finds hidden changes sooner, and costs that much where nothing changes.
    floor : float
        Share of decisions made uniformly at random; above 0 every arm has a known chance in every decision.

    >>> FilterBankUCB()
    FilterBankUCB(alertness=1.0, floor=0.0)
    """

    alertness: float = 1.0
    floor: float = 0.0

    def init(self, problem: Problem) -> FilterBankUCBState:
        """Every arm untried."""
        number("alertness", self.alertness, above=0.0, closed="[")
        number("floor", self.floor, above=0.0, below=1.0, closed="[]")
        n_arms = whole("n_arms", problem.n_arms)
        return FilterBankUCBState(
            bank=new_bank(n_arms),
            noise=new_noise(n_arms),
            variogram=new_variogram(n_arms),
            spread=np.zeros(3),
            counts=np.zeros(n_arms, np.int64),
            pending=np.zeros(n_arms, np.int64),
            generations=new_generations(),
            young=np.zeros(n_arms, np.int64),
            old=np.zeros(n_arms, np.int64),
            alerts=np.zeros(n_arms),
            departures=np.zeros(n_arms),
            estimates=np.zeros(n_arms),
            variances=np.zeros(n_arms),
            extras=np.zeros(n_arms),
            clock=np.zeros(1, np.int64),
        )


@kernel
def _advance(policy: FilterBankUCB, state: FilterBankUCBState, t: int, rng: Any) -> None:
    """Come to round `t`, and say what each arm is worth there."""
    if opens_generation(state.generations, t):
        for arm in range(len(state.young)):
            state.old[arm], state.young[arm] = state.young[arm], 0
    if state.clock[0] < t:  # rounds without a reward: what was learned before them counts in them
        _look_at_all(state, state.clock[0])
        _pass_time(policy, state, t)
    _look_at_all(state, t)


@kernel
def _look_at_all(state: FilterBankUCBState, t: int) -> None:
    """Write mean and variance of every arm at round `t`, and how far it may have strayed."""
    reach = SPREAD * state.spread[2]
    for arm in range(len(state.counts)):
        if state.counts[arm] > 0:
            _look_at(state, arm, t)
            strayed = state.departures[arm] + STRAYING * straying(state.variogram, t - state.bank.rounds[arm])
            state.extras[arm] = min(max(strayed - state.variances[arm], 0.0), reach)


@kernel
def _pass_time(policy: FilterBankUCB, state: FilterBankUCBState, t: int) -> None:
    """Let time come to round `t`: idle arms draw attention, and the variogram is filled."""
    before, n_arms, top = state.clock[0], len(state.counts), -np.inf
    if t <= before:
        return
    state.clock[0] = t
    for arm in range(n_arms):
        if state.counts[arm] > 0:
            top = max(top, state.estimates[arm])
    # The sum of 1 / (1000 + t / 16) over the rounds that pass, as its integral: many rounds at once, or one by one.
    visits = VISITS * math.log((t + VISITS * EVERY) / (before + VISITS * EVERY))
    step = policy.alertness * math.sqrt(3.0 / n_arms) * visits
    scale = WIDTH * WIDTH * state.noise.variance[0]
    for arm in range(n_arms):
        if state.counts[arm] > 0:
            gap = top - state.estimates[arm]
            ratio = min(gap * gap / scale, FARTHEST)
            state.alerts[arm] += step * ratio * ratio / (1.0 + ratio)
    look(state.variogram, before, t, state.estimates, state.variances)


@kernel
def _most(state: FilterBankUCBState) -> float:
    """The largest variance an arm may have, in units of the noise."""
    return float(SPREAD * state.spread[2] / state.noise.variance[0] + 1.0)


@kernel
def _look_at(state: FilterBankUCBState, arm: int, t: int) -> None:
    """Write mean and variance of an arm at round `t`."""
    state.estimates[arm], state.variances[arm] = mixture(
        state.bank, arm, t, state.noise.variance[0], state.alerts[arm], _most(state)
    )


@kernel
def _bonus(state: FilterBankUCBState, arm: int, waiting: int) -> float:
    """What an arm with rewards, and so many that are still expected, may be better than its mean."""
    variance = state.variances[arm] + state.extras[arm]
    return float(WIDTH * math.sqrt(variance / (1.0 + waiting * variance / state.noise.variance[0])))


@kernel
def _index(state: FilterBankUCBState, arm: int) -> float:
    """What arms are ranked by."""
    pending, noise = state.pending[arm], state.noise
    if state.counts[arm] > 0:
        return float(state.estimates[arm] + _bonus(state, arm, state.young[arm] + state.old[arm]))
    if pending == 0:
        return np.inf
    if noise.moments[COUNT] == 0.0:
        return -np.inf
    return float(noise.moments[MEAN] + WIDTH * math.sqrt(total_variance(noise)) / (1.0 + pending))


@kernel
def _best(state: FilterBankUCBState) -> int:
    """The arm with the largest index, the lowest of several; without any reward, the one with the fewest pending."""
    best, top = 0, -np.inf
    for arm in range(len(state.counts)):
        index = _index(state, arm)
        if index > top or (index == -np.inf and top == -np.inf and state.pending[arm] < state.pending[best]):
            best, top = arm, index
    return best


@kernel
def _select(policy: FilterBankUCB, state: FilterBankUCBState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    best, n_arms = _best(state), len(state.counts)
    if policy.floor == 0.0:
        return best, 1.0
    arm = best
    draw, rng = uniform(rng)
    if draw < policy.floor:
        other, rng = integers(n_arms, rng)
        arm = int(other)
    return arm, policy.floor / n_arms + (1.0 - policy.floor if arm == best else 0.0)


@kernel
def _pend(policy: FilterBankUCB, state: FilterBankUCBState, decision: Decision) -> None:
    state.pending[decision.action] += 1
    state.young[decision.action] += 1


@kernel
def _settle(policy: FilterBankUCB, state: FilterBankUCBState, decision: Decision) -> None:
    generation = generation_of(state.generations, decision.t)
    state.pending[decision.action] -= 1
    if generation == YOUNG:
        state.young[decision.action] -= 1
    elif generation == OLD:
        state.old[decision.action] -= 1


@kernel
def _update(policy: FilterBankUCB, state: FilterBankUCBState, decision: Decision, outcome: Outcome, now: int) -> None:
    arm, reward, noise = decision.action, outcome.reward, state.noise
    _pass_time(policy, state, now + 1)
    learn_delay(state.generations, now - decision.t)
    is_first = state.counts[arm] == 0
    learn_noise(noise, arm, reward, is_first)
    state.counts[arm] += 1
    if is_first:
        start(state.bank, arm, reward, now + 1)
    else:
        correct(
            *(state.bank, arm, reward, now + 1, now - decision.t, noise.variance[0]),
            *(state.alerts[arm], _most(state), state.extras[arm] / noise.variance[0]),
        )
    state.alerts[arm], state.extras[arm] = 0.0, 0.0
    state.variogram.played[arm] = ALL
    _look_at(state, arm, now + 1)
    state.departures[arm] = state.variances[arm]
    _learn_spread(state)


@kernel
def _learn_spread(state: FilterBankUCBState) -> None:
    """Learn how far arms lie apart; until each has a reward, all there is to go by is how far rewards do."""
    spread, n_arms, first, second, unseen = state.spread, len(state.counts), 0.0, 0.0, 0
    for arm in range(n_arms):
        if state.counts[arm] == 0:
            unseen += 1
        else:
            apart = state.estimates[arm] - spread[1]
            first += apart
            second += apart * apart
    if spread[0] == 0.0:
        spread[0] = 1.0 if unseen == 0 else 0.0
        spread[1], spread[2] = state.noise.moments[MEAN], total_variance(state.noise)
        return
    spread[0] = min(spread[0] + 1.0, SPREAD_MEMORY)
    weight = (n_arms - unseen) * (spread[0] + 1.0)
    spread[1] += first / weight
    spread[2] += second / weight - spread[2] / (spread[0] + 1.0)


@kernel
def _summarise(policy: FilterBankUCB, state: FilterBankUCBState, t: int, context: Any, out: Summary) -> None:
    """A count is how many rewards would make an arm as certain as it is, had nothing drifted."""
    clear_summary(out)
    for arm in range(len(state.counts)):
        out.index[arm], out.pending[arm], out.count[arm] = _index(state, arm), state.pending[arm], state.counts[arm]
        if state.counts[arm] > 0:
            mean, bonus = state.estimates[arm], _bonus(state, arm, 0)
            put_interval(out, arm, mean, mean - bonus, mean + bonus)
            if state.variances[arm] * state.counts[arm] > state.noise.variance[0]:
                out.count[arm] = state.noise.variance[0] / state.variances[arm]


register(
    FilterBankUCB,
    about=About("nothing", "none proven", "Kalman 1960; Herbster & Warmuth 1998"),
    advance=_advance,
    select=_select,
    pend=_pend,
    settle=_settle,
    update=_update,
    summarise=_summarise,
)
