"""Upper bounds from a bank of Kalman filters, with nothing to set: pace, noise and scale are learned from rewards.

    index of x = <z, m*> + WIDTH sqrt(z' C z)      z = (x, 1);  m*, C the mean and covariance of the mixture
    C = sum_j w_j (R^2 Sigma_j + (m_j - m*)(m_j - m*)'); with a stray pace, 2/3 of the sum of that and of R^2 Sigma of
        the filter that has it

The filters are those of `families/contextual/filter_bank.py`: paces rho_j = 10^-8 .. 1, an offset, clipped likelihoods.
The stray pace is that of `families/contextual/stray.py`, over R^2. After each of n rewards, with d features, D = d + 1:

    rows are in units of the first one learned that is not zero; rewards count from the first reward, y_1
    B += (sum_j w_j e_j^2 / (v_j + s_j) - B) / min(n - D, MEMORY)                  from reward D + 1 on
    R^2 = (mean (y - y_1)^2 + (n - D)^+ B) / (1 + (n - D)^+) + TINY
    weights change from reward D + 1 on; then w <- (1 - h) w + h / M,
    h = 1 / (n + 10) + 0.001 g^2, g = sum_j w_j min(10^6 rho_j, 1) with the weights before
    offsets are pooled after every reward, by the weights then
    from reward 2 D + 1 on the ceiling of a variance is 16 |m*|^2 / (d R^2) + 1, theta alone in m*; before, PRIOR

With probability `floor` any row is drawn, each alike, so that a log of decisions can be evaluated later.

| symbol | field | |
|---|---|---|
| | floor | share of uniform exploration; 0 is none, and the propensity is 1 |

Known in advance: nothing. Neither the noise nor the range that a problem states is read. Rewards and features may have
any scale, and rewards any offset.
Regret: none proven. `docs/auto-features.md` has what was measured.
While rewards are under way the beliefs stay at the newest round that was answered; choices look ahead from there, and C
is that of filters that have seen the pending rows, too, but for those that wait far longer than rewards take
(`numerics/generations.py`). A reward of an earlier round is blurred by the walk since. One that
comes twice counts twice. O(M d^2) a round, O(d^3) more while rewards are under way, and O(d^2) a row.
Kalman 1960 for the filter; fixed share from Herbster & Warmuth, *Tracking the best expert*, Machine Learning 1998.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import integers, uniform
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About, Decision, Floats, Outcome, Problem, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.contextual.filter_bank import (
    CLIP,
    MOST_SWITCHES,
    PRIOR,
    LinearFilterBank,
    correct,
    doubt,
    drift_belief,
    expect,
    mix,
    mix_means,
    new_filter_bank,
    pool_offsets,
    predict,
    reweigh,
    walk_bank,
)
from driftwise.families.contextual.pending_covariance import NarrowRoom, narrow_covariance, new_narrow_room
from driftwise.families.contextual.pending_generations import (
    PendingGenerations,
    add_generations,
    age_rows,
    any_expected,
    new_pending_generations,
    pend_expected,
    settle_expected,
)
from driftwise.families.contextual.stray import ParameterVariogram, any_due, compare, new_variogram, stray_pace
from driftwise.families.contextual.summaries import put_row, rewards_worth
from driftwise.numerics.generations import learn_delay
from driftwise.numerics.ridge import dot

WIDTH = 1.8
MEMORY = 2000.0
LONGEST = 16.0  # squared length that a parameter may have, over that of the one believed in
TINY = 1e-300  # so that constant rewards have a noise
LOOSEST = 1e12  # so that next to no noise leaves a ceiling, too
COUNT, FIRST, SQUARES, INNOVATION, NOISE, LENGTH, CEILING = range(7)


class FilterBankLinUCBState(NamedTuple):
    """The bank, the variogram, the rows under way, the round the beliefs are about, and `learned`: n, y_1, the sum of
    (y - y_1)^2, B, R^2, the unit of features, and the ceiling.
    """

    bank: LinearFilterBank
    variogram: ParameterVariogram
    pending: PendingGenerations
    clock: Shared
    learned: Shared
    room: NarrowRoom


class FilterBankLinUCB(NamedTuple):
    """Upper bounds from Kalman filters of every pace, with noise and scale learned.

    Parameters
    ----------
    floor : float
        Share of decisions that are drawn from all rows alike.

    >>> FilterBankLinUCB()
    FilterBankLinUCB(floor=0.0)
    """

    floor: float = 0.0

    def init(self, problem: Problem) -> FilterBankLinUCBState:
        """The prior in every filter, and nothing learned."""
        dim = whole("dim", problem.dim)
        whole("n_arms", problem.n_arms)
        number("floor", self.floor, above=0.0, below=1.0, closed="[]")
        return FilterBankLinUCBState(
            bank=new_filter_bank(dim),
            variogram=new_variogram(dim),
            pending=new_pending_generations(dim),
            clock=np.zeros(1, np.int64),
            learned=np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, PRIOR]),
            room=new_narrow_room(dim + 1),
        )


@kernel
def _advance(policy: FilterBankLinUCB, state: FilterBankLinUCBState, t: int, rng: Any) -> None:
    """Come to round `t`, unless rewards are under way: they are news of rounds before."""
    age_rows(state.pending, t)
    if not any_expected(state.pending):
        _walk(state, t)


@kernel
def _walk(state: FilterBankLinUCBState, t: int) -> None:
    if state.clock[0] < t:
        walk_bank(state.bank, t - state.clock[0], state.learned[CEILING])
        state.clock[0] = t


@kernel
def _unit(state: FilterBankLinUCBState) -> float:
    """The unit of features; 1 until a row was learned from."""
    return state.learned[LENGTH] if state.learned[LENGTH] > 0.0 else 1.0


@kernel
def _believe(state: FilterBankLinUCBState, t: int) -> None:
    """Write mean and covariance of the mixture at round `t`."""
    learned = state.learned
    mix(state.bank, learned[NOISE], t - state.clock[0], learned[CEILING])


@kernel
def _narrow(state: FilterBankLinUCBState) -> None:
    """Count the rows under way; their offset is taken to be known."""
    unit = _unit(state)
    variance = state.learned[NOISE] * unit * unit
    add_generations(state.pending)
    narrow_covariance(state.bank.covariance, state.pending.pairs, variance, state.room)


@kernel
def _select(
    policy: FilterBankLinUCB, state: FilterBankLinUCBState, t: int, context: Any, rng: Any
) -> tuple[int, float]:
    _believe(state, t)
    if any_expected(state.pending):
        _narrow(state)
    best, top, unit, rows = 0, -np.inf, _unit(state), len(context)
    for row in range(rows):
        index = expect(state.bank, context[row], unit) + WIDTH * math.sqrt(doubt(state.bank, context[row], unit))
        if index > top:
            best, top = row, index
    if policy.floor == 0.0:
        return best, 1.0
    u, rng = uniform(rng)
    row = best
    if u < policy.floor:
        row, rng = integers(rows, rng)
    return row, policy.floor / rows + (1.0 - policy.floor if row == best else 0.0)


@kernel
def _update(
    policy: FilterBankLinUCB, state: FilterBankLinUCBState, decision: Decision, outcome: Outcome, now: int
) -> None:
    _walk(state, decision.t)
    bank, learned, x = state.bank, state.learned, decision.context
    square = dot(x, x)
    if learned[LENGTH] == 0.0:
        learned[LENGTH] = math.sqrt(square)
    unit = _unit(state)
    learn_delay(state.pending.generations, now - decision.t)
    learned[COUNT] += 1.0
    if learned[COUNT] == 1.0:
        learned[FIRST] = outcome.reward
    y, late = outcome.reward - learned[FIRST], (state.clock[0] - decision.t) * (square / unit / unit)
    innovation = _correct_all(state, x, unit, y, late)
    n_rewards = learned[COUNT] - (len(x) + 1.0)
    if n_rewards > 0.0:
        reweigh(bank, 1.0 / (learned[COUNT] + 10.0) + MOST_SWITCHES * drift_belief(bank) ** 2)
        learned[INNOVATION] += (innovation - learned[INNOVATION]) / min(n_rewards, MEMORY)
    pool_offsets(bank)
    learned[SQUARES] += y * y
    more = max(0.0, n_rewards)
    learned[NOISE] = (learned[SQUARES] / learned[COUNT] + more * learned[INNOVATION]) / (1.0 + more) + TINY
    _limit(state)
    if any_due(state.variogram, state.clock[0]):
        mix(bank, learned[NOISE], 0, learned[CEILING])
        compare(state.variogram, bank, x, unit, state.clock[0])
    bank.paces[len(bank.weights)] = stray_pace(state.variogram) / learned[NOISE]


@kernel
def _correct_all(state: FilterBankLinUCBState, x: Floats, unit: float, y: float, late: float) -> float:
    """Correct every filter by a reward, write how well each predicted it, and return the mean squared error."""
    bank, noise, innovation = state.bank, state.learned[NOISE], 0.0
    for j in range(len(bank.paces)):
        error = y - predict(bank, j, x, unit)
        total = correct(bank, j, x, unit, error, late)
        if j < len(bank.weights):
            square = error * error / total
            innovation += bank.weights[j] * square
            bank.fits[j] = -0.5 * (math.log(total) + min(square / noise, CLIP))
    return innovation


@kernel
def _limit(state: FilterBankLinUCBState) -> None:
    """Set the ceiling of variances by how long the parameter is."""
    dim, learned = len(state.bank.mean) - 1, state.learned
    if learned[COUNT] > 2.0 * (dim + 1.0):
        mix_means(state.bank)
        square = 0.0
        for i in range(dim):
            square += state.bank.mean[i] * state.bank.mean[i]
        learned[CEILING] = min(LONGEST * square / (dim * learned[NOISE]) + 1.0, LOOSEST)


@kernel
def _summarise(policy: FilterBankLinUCB, state: FilterBankLinUCBState, t: int, context: Floats, out: Summary) -> None:
    """Counts are by the noise: rewards that would leave the mixture as sure of a row as it is, had nothing drifted."""
    clear_summary(out)
    _believe(state, t)
    unit, bank, noise = _unit(state), state.bank, state.learned[NOISE]
    for row in range(len(context)):
        before = PRIOR * (dot(context[row], context[row]) / unit / unit + 1.0)
        out.count[row] = rewards_worth(doubt(bank, context[row], unit) / noise, before)
    if any_expected(state.pending):
        _narrow(state)
    for row in range(len(context)):
        mean = state.learned[FIRST] + expect(bank, context[row], unit)
        put_row(out, row, mean, WIDTH * math.sqrt(doubt(bank, context[row], unit)), True)


register(
    FilterBankLinUCB,
    about=About("nothing", "none proven", "Kalman 1960; Herbster & Warmuth 1998", family="contextual"),
    advance=_advance,
    select=_select,
    pend=pend_expected,
    settle=settle_expected,
    update=_update,
    summarise=_summarise,
)
