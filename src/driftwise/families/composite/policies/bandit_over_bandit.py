"""Bandit-over-Bandit (BOB): a policy with a window, started over in blocks; which window to use is learned.

    H = floor(d sqrt T) with features, floor(sqrt(d T)) with arms or items      rounds in a block
    windows J, their chances p, exploration gamma and weights s                 see `driftwise.families.composite.hedge`
    x = 1/2 + Y / (2 M H + 4 R sqrt(H ln(T / sqrt H)))                          what a block is worth that earned Y

| symbol | field | |
|---|---|---|
| SW-UCB | policy | the policy inside: any that has a window; its own window is not used |
| | literal | 0: the window drawn is what the policy inside remembers; 1: it only sizes its bonus |
| T | horizon | rounds to come; 0 takes the problem's |
| M | scale | largest absolute mean reward, in units u, where rewards are unbounded; 1 in the paper |
| J | shortest | windows below it are left out |
| H | block | rounds in a block; 0 takes the above |
| d | dim | 0 takes the number of features, or of arms |
| R, u | | noise and unit of the rewards, from the problem, or learned |

Cheung, Simchi-Levi & Zhu, *Hedging the Drift: Learning to Optimize under Non-Stationarity*, Management Science 2022,
section 7 with eq. (23); for arms section 8.1 with eq. (30). By the text SW-UCB has the window drawn inside each block.
Algorithm 2 as printed has no window in its lines 7 and 10: the policy inside remembers its whole block, and the window
drawn enters the radius of its bonus only. `literal=1` is that. Very short windows explore all the time, and there are
too few blocks to learn that well; leaving out windows below about 8 d (`shortest`) mends much of it.
Read literally it is LinUCB restarted every H rounds: good while the parameter hardly moves within a block, and worse
than windowed where it moves much.
Known in advance: nothing of the drift; all that the policy inside must know, but for its window.
Regret, up to logarithms: with arms O(d^(1/3) (B + 1)^(1/3) T^(2/3)), or O(d^(1/4) T^(3/4)) where the variation B is
small. With features the paper has squares of these powers of d; its Lemma 1 is false unless all features lie along
axes, and what is proven is O(d^(7/8) B^(1/4) T^(3/4)) (Zhao, Zhang, Jiang & Zhou, arXiv 2103.05324, for a window; with
blocks for windows they have the same T and B). The rate is that of the windowed form.
Where T is small for d, EXP3 cannot learn: gamma is 1 and every window is drawn alike for ever, or there is a single
block. With a known horizon `caution` says so; agents and studies pass it on.

Deviations. A bounded range of rewards is mapped to [-1, 1] and x divides by 2 H alone: the paper's means lie around
zero, and what cannot leave its range needs no allowance for noise. Raw rewards from 0 to 1 would use half of the scale,
and good windows would be told from bad ones later still. In slates of m items, m H takes the place of H in x.
Where no horizon is known, epochs of 1024, 2048, ... rounds follow each other, each with blocks, windows and weights of
its own, as if there were no other; that costs a constant factor. Memory follows H, so epochs stop growing at 2^20
rounds. The policy inside is told that the horizon is not known.

Late rewards enter by their decision's round; those of an earlier block are dropped and counted as stale. Rewards that
are missing when a block ends are taken to be as good as those that came; a block without any teaches nothing. Where
rewards come at once this changes nothing.
With another horizon a new epoch begins, with blocks, windows and weights for it: what was learned of windows was
learned for blocks of another length, and the policy inside starts over as it does at the end of every block.
Propensity: 1 where the policy inside is deterministic, given the window drawn; otherwise it is not told, since what the
policy inside would tell is not the chance over windows.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.family import family_of
from driftwise.core.kernel import kernel
from driftwise.core.protocols import Policy
from driftwise.core.random import branch
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Floats, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole
from driftwise.core.verbs import advance, appraise, pend, register, restart, select, settle, summarise, update
from driftwise.errors import ParameterError
from driftwise.families.composite.hedge import Hedge, credit, new_hedge, pick, plan
from driftwise.families.multi_armed.policies.sliding_armed_ucb import SlidingArmedUCB
from driftwise.numerics.reward_scale import RewardScale, known_scale, measure, new_scale

FIRST, LONGEST = 2**10, 2**20  # rounds of the first epoch and of the longest, where no horizon is known
NEVER = 2**62
GROWTH, LARGEST = range(2)


class BanditOverBanditState(NamedTuple):
    """The policy inside, which lives in block time: its round 0 is round `start`; the windows; and the block so far.

    `answered` tells which rounds of the block have their reward, `arrived` how many have, and `total` is the sum. The
    epoch ends before round `until`. `laws` holds what blocks follow from (d or d^2, the largest mean in units), and
    `mapping` what rewards are multiplied by and moved by before they are summed; `scale` is how large they are then.
    """

    inner: Any
    hedge: Hedge
    start: Shared
    answered: Shared
    total: Shared
    arrived: Shared
    until: Shared
    laws: Shared
    mapping: Shared
    scale: RewardScale
    stale: Shared


class BanditOverBandit(NamedTuple):
    """A policy with a window, restarted in blocks, whose window is learned.

    Parameters
    ----------
    policy
        The policy inside; one that can be restarted with another window. As it stands, the paper's for arms, eq. (29).
    literal : int
        1 for the algorithm as printed: the window drawn sizes the bonus, and nothing is forgotten within a block.
    horizon : int
        Rounds to come; 0 takes the problem's, and goes by epochs of doubling length where that is not known either.
    scale : float
        Largest absolute mean reward, in units of the problem's or of the largest reward seen, where rewards are
        unbounded.
    shortest : int
        Windows below it are left out.
    block : int
        Rounds in a block; 0 takes the theorem's.
    dim : int
        The d of the theorem; 0 takes the number of features, or of arms.

    >>> BanditOverBandit(horizon=100_000).init(Problem(n_arms=2)).hedge.windows
    array([  1,   2,   5,  13,  32,  78, 186, 447])
    """

    policy: Any = SlidingArmedUCB()
    literal: int = 0
    horizon: int = 0
    scale: float = 1.0
    shortest: int = 1
    block: int = 0
    dim: int = 0

    def init(self, problem: Problem) -> BanditOverBanditState:
        """Nothing tried; the first window is drawn when the first round comes."""
        _can_restart(self.policy)
        whole("literal", self.literal, low=0, high=1)
        number("scale", self.scale, above=0.0)
        horizon = whole("horizon", self.horizon, low=0) or problem.horizon
        whole("block", self.block, low=0, high=horizon or LONGEST)
        laws, mapping, units = self._laws(problem)
        hedge, capacity = self._planned(laws, horizon)
        return BanditOverBanditState(
            inner=self.policy._replace(window=capacity).init(problem._replace(horizon=horizon)),
            hedge=hedge,
            start=np.zeros(1, np.int64),
            answered=np.zeros(capacity, np.bool_),
            total=np.zeros(1),
            arrived=np.zeros(1, np.int64),
            until=np.array([NEVER if horizon else hedge.rounds[0]], np.int64),
            laws=laws,
            mapping=mapping,
            scale=units,
            stale=np.zeros(1, np.int64),
        )

    def caution(self, problem: Problem) -> str:
        """Why no window can be learned in this problem; empty where one can, or where no horizon is known."""
        horizon = self.horizon or problem.horizon
        if not horizon:
            return ""
        hedge, _ = self._planned(self._laws(problem)[0], horizon)
        windows, block = int(hedge.used[0]), int(hedge.block[0])
        draws = -(-horizon // block)
        if windows == 1 or (draws > 1 and hedge.rate[0] < 1.0):
            return ""
        what = "there is a single block" if draws == 1 else f"the {draws} blocks draw all of them alike (gamma = 1)"
        return (
            f"bandit-over-bandit learns nothing of its {windows} windows in {horizon:,} rounds: {what}; "
            "set a smaller `block`, or leave windows out with `shortest`"
        )

    def _planned(self, laws: Floats, horizon: int) -> tuple[Hedge, int]:
        """The windows of the first epoch, and the rounds of the longest block to come."""
        capacity = _block.function(self.block, laws, horizon or LONGEST)
        rounds = horizon or max(FIRST, self.block)
        hedge = new_hedge(capacity)
        shortest = whole("shortest", self.shortest, high=2**31)
        plan.function(hedge, _block.function(self.block, laws, rounds), rounds, shortest)
        return hedge, capacity

    def settled(self, problem: Problem) -> "BanditOverBandit":
        """The same with the d of this problem for good: blocks stay as they are when arms or features come and go."""
        return self._replace(dim=self._size(problem))

    def begins_anew(self, before: Problem, after: Problem) -> bool:
        """Whether a change of the problem ends the epoch: blocks are planned for a horizon."""
        return not self.horizon and before.horizon != after.horizon

    def _reads_rows(self, problem: Problem) -> bool:
        """Whether the policy inside chooses by features; one that ignores them plays such problems, too."""
        return problem.dim > 0 and family_of(self.policy) == problem.family

    def _size(self, problem: Problem) -> int:
        """The d of the theorem."""
        name = "dim" if self._reads_rows(problem) else "n_arms"
        return whole("dim", self.dim, low=0) or whole(name, getattr(problem, name))

    def _laws(self, problem: Problem) -> tuple[Floats, Floats, RewardScale]:
        """What blocks follow from, how rewards are mapped, and how large they are then."""
        size, items = self._size(problem), max(1, problem.slate)
        growth = size**2 if self._reads_rows(problem) else size
        if not problem.bounded:
            slates = problem._replace(noise=math.sqrt(items) * problem.noise, unit=items * problem.unit)
            return np.array([growth, self.scale]), np.array([1.0, 0.0]), new_scale(slates)
        # Deviation: a bounded range becomes [-1, 1], and leaves no room for noise.
        low, span = bounded_range("bandit-over-bandit", problem.low, problem.high)
        mapping = np.array([2.0 / span, -items * (2.0 * low / span + 1.0)])
        return np.array([growth, 1.0]), mapping, known_scale(0.0, float(items))


def _can_restart(policy: Policy) -> None:
    """Refuse a policy that cannot be started over with another window."""
    if type(policy) not in restart.kernels or "window" not in policy._fields:
        name = type(policy).__name__ if type(policy) in select.kernels else repr(policy)
        raise ParameterError(f"policy={name} cannot be restarted with another window: take one such as sliding-ucb")


@kernel
def _block(length: int, laws: Floats, rounds: int) -> int:
    """The length of a block of `rounds` in all."""
    return length if length > 0 else max(1, min(rounds, int(math.sqrt(laws[GROWTH] * rounds))))


@kernel
def _advance(policy: BanditOverBandit, state: BanditOverBanditState, t: int, rng: Any) -> None:
    """Come to round `t`, perhaps of another block."""
    new = state.hedge.chosen[0] < 0
    if new or t >= min(state.until[0], state.start[0] + state.hedge.block[0]):
        if t >= state.until[0]:
            _enter_epoch(policy, state, t)
        elif not new:
            _credit_block(state)
        _enter_block(policy, state, t, rng)
    advance(policy.policy, state.inner, t - state.start[0], rng)


@kernel(inline=False)
def _enter_epoch(policy: BanditOverBandit, state: BanditOverBanditState, t: int) -> None:
    """Plan anew for the epoch of round `t`."""
    rounds = state.hedge.rounds[0]
    while t >= state.until[0]:
        rounds = min(2 * rounds, LONGEST)
        state.start[0] = state.until[0]
        state.until[0] += rounds
    plan(state.hedge, _block(policy.block, state.laws, rounds), rounds, policy.shortest)


@kernel(inline=False)
def _credit_block(state: BanditOverBanditState) -> None:
    """Credit the window of the block that ends."""
    if state.arrived[0] == 0:
        return
    hedge, block = state.hedge, state.hedge.block[0]
    # Deviation: rewards that have not come are taken to be like those that have.
    total = state.total[0] * (block / state.arrived[0])
    largest = state.laws[LARGEST] * state.scale.unit[0]
    noise = state.scale.noise[0] * math.sqrt(block * math.log(hedge.rounds[0] / math.sqrt(block)))
    credit(hedge, 0.5 + total / (2.0 * largest * block + 4.0 * noise))


@kernel(inline=False)
def _enter_block(policy: BanditOverBandit, state: BanditOverBanditState, t: int, rng: Any) -> None:
    """Draw a window for the block of round `t`, and start the policy inside over."""
    block = state.hedge.block[0]
    state.start[0] += (t - state.start[0]) // block * block
    state.total[0], state.arrived[0] = 0.0, 0
    for i in range(block):
        state.answered[i] = False
    window = pick(state.hedge, branch(branch(rng)))  # a stream that neither choices nor rewards draw from
    restart(policy.policy, state.inner, block if policy.literal else window, window)


@kernel
def _select(
    policy: BanditOverBandit, state: BanditOverBanditState, t: int, context: Any, rng: Any
) -> tuple[Any, float]:
    action, propensity = select(policy.policy, state.inner, t - state.start[0], context, rng)
    return action, propensity if propensity == 1.0 else np.nan


@kernel
def _pend(policy: BanditOverBandit, state: BanditOverBanditState, decision: Decision) -> None:
    pend(policy.policy, state.inner, _inside(decision, decision.t - state.start[0]))


@kernel
def _settle(policy: BanditOverBandit, state: BanditOverBanditState, decision: Decision) -> None:
    place = decision.t - state.start[0]
    if 0 <= place < state.hedge.block[0] and not state.answered[place]:  # a block that has ended took the rest along
        settle(policy.policy, state.inner, _inside(decision, place))


@kernel
def _inside(decision: Decision, t: int) -> Decision:
    """The decision as the policy inside knows it, in the time of the block."""
    return Decision(t, decision.action, decision.propensity, decision.context, decision.rng)


@kernel
def _update(policy: BanditOverBandit, state: BanditOverBanditState, decision: Decision, outcome: Any, now: int) -> None:
    start = state.start[0]
    place = decision.t - start
    if not 0 <= place < state.hedge.block[0]:
        state.stale[0] += 1
        return
    if state.answered[place]:
        return
    state.answered[place] = True
    state.arrived[0] += 1
    state.total[0] += state.mapping[0] * outcome.reward + state.mapping[1]
    measure(state.scale, outcome.reward)
    update(policy.policy, state.inner, _inside(decision, place), outcome, now - start)


@kernel
def _appraise(policy: BanditOverBandit, state: BanditOverBanditState, t: int, context: Any, prices: Floats) -> None:
    appraise(policy.policy, state.inner, t - state.start[0], context, prices)


@kernel
def _summarise(policy: BanditOverBandit, state: BanditOverBanditState, t: int, context: Any, out: Summary) -> None:
    """What the policy inside knows of this block."""
    summarise(policy.policy, state.inner, t - state.start[0], context, out)


register(
    BanditOverBandit,
    about=About(
        "nothing of the drift",
        "with arms O(B^(1/3) T^(2/3)), or O(T^(3/4)); with features that is printed, O(B^(1/4) T^(3/4)) is proven",
        "Cheung, Simchi-Levi & Zhu 2022; Zhao et al. 2021",
        family="any",
    ),
    advance=_advance,
    select=_select,
    pend=_pend,
    settle=_settle,
    update=_update,
    summarise=_summarise,
    appraise=_appraise,
)
