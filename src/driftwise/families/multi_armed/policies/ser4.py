"""SER4: successive elimination with randomised round robin and random resets.

A pass plays every arm of the active set once, in random order. After it the running means are compared, and arm k
leaves the active set when

    mean_max - mean_k + epsilon >= C sqrt(ln(4 K r^2 / delta) / r)        r rewards of each arm since the last reset

With probability phi a pass ends in a reset: all arms are active again, all rewards forgotten.

| symbol | field | |
|---|---|---|
| N, T | horizon | rounds to come; 0 takes the problem's. delta = 1 / N, epsilon = 1 / (K N) |
| B | changes | how often the best arm changes |
| phi | reset | chance of a reset after a pass; -1 takes sqrt(B / (N K ln(K N))) |
| C | scale | width of the elimination radius |
| S | places | an arm's place in the pass; OUT once removed |

Allesiardo, Feraud & Maillard, *The non-stationary stochastic multi-armed bandit problem*, Int. J. Data Science and
Analytics 2017. The elimination rule is from memory, the source was not at hand. `reset=0.005,scale=1.41421` comes
closest to the SER4 rows that Trovo et al. (JAIR 2020) print: fitted on one of their tables, it holds in three others.
Known in advance: the reward range, the horizon, the number of changes.
Regret (from memory too): of order sqrt(B K T log(K T)) / gap.

When things happen, exactly. A pass is a stretch of rounds: it starts in round `start`, has `size` rounds, and round t
plays the arm whose place is t - start. The pass ends with time, in `advance` before round start + size, whatever
rewards have come: so lost rewards cannot stall it, and when none is late this is the paper's order of events. Then,
with randomness from the stream of the reward told last (of a constant, before any): a reset by chance; else removals by
what has been told so far; then a new order. Late rewards count when they come; those of decisions before the last reset
are ignored and counted as stale. When arms come or go a reset follows: who was removed was removed by arms now gone.
With another horizon phi, delta and epsilon are those for it from the next pass on; who was removed stays so.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import branch, integers, stream, uniform
from driftwise.core.summary import Summary, clear_summary, put_interval
from driftwise.core.types import About, Decision, Derived, Outcome, PerArm, Problem, Shared
from driftwise.core.validation import bounded_range, number, whole
from driftwise.core.verbs import register
from driftwise.families.multi_armed.policies.exp3 import horizon_of
from driftwise.numerics.weights import place

OUT, NEW = -1, -2
RESET, WIDTH, SLACK, SCALE = 0, 1, 2, 3


class SER4State(NamedTuple):
    """Places in the pass and rewards since the last reset, in round `episode`; `met` is how many arms that reset saw.

    `seed` is the stream of the reward told last; `rates` holds phi, 4 K / delta, epsilon and C.
    """

    places: PerArm
    counts: PerArm
    sums: PerArm
    met: Shared
    size: Shared
    start: Shared
    episode: Shared
    seed: Shared
    stale: Shared
    rates: Derived
    range: Shared


class SER4(NamedTuple):
    """Play active arms in turn, drop the worse, and now and then start over.

    Parameters
    ----------
    horizon : int
        Rounds to come; 0 takes the problem's.
    changes : int
        How often the best arm changes; used when `reset` is -1.
    reset : float
        Chance of a reset after each pass, in [0, 1]; -1 takes the paper's for horizon and changes.
    scale : float
        Width of the elimination radius.

    >>> SER4(horizon=10_000, changes=3).init(Problem(n_arms=5)).rates[0].round(5)
    np.float64(0.00235)
    """

    horizon: int = 0
    changes: int = 1
    reset: float = -1.0
    scale: float = 2.0

    def init(self, problem: Problem) -> SER4State:
        """Every arm to be met."""
        n_arms = whole("n_arms", problem.n_arms)
        scale = number("scale", self.scale, above=0.0)
        reset = -1.0 if self.reset == -1.0 else number("reset", self.reset, above=0.0, below=1.0, closed="[]")
        changes = whole("changes", self.changes, low=0)
        horizon = horizon_of("ser4", self.horizon, problem)
        if reset < 0.0:
            reset = min(1.0, math.sqrt(changes / (horizon * n_arms * math.log(max(2, n_arms * horizon)))))
        return SER4State(
            places=np.full(n_arms, NEW, np.int64),
            counts=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            met=np.zeros(1, np.int64),
            size=np.zeros(1, np.int64),
            start=np.zeros(1, np.int64),
            episode=np.zeros(1, np.int64),
            seed=np.zeros(1, np.uint64),
            stale=np.zeros(1, np.int64),
            rates=np.array([reset, 4.0 * n_arms * horizon, 1.0 / (n_arms * horizon), scale]),
            range=np.array(bounded_range("ser4", problem.low, problem.high)),
        )


@kernel
def _advance(policy: SER4, state: SER4State, t: int, rng: Any) -> None:
    """End the pass when its rounds are over, and start over when the arms have changed."""
    changed = len(state.places) != state.met[0]
    for k in range(len(state.places)):
        changed |= state.places[k] == NEW
    if not changed and t - state.start[0] < state.size[0]:
        return
    u, rng = uniform(stream(state.seed[0], t))
    state.start[0] = t
    if changed or u < state.rates[RESET]:
        _reset(state, t)
    elif state.size[0] == 1:
        return
    else:
        _remove(state)
    _shuffle(state, rng)


@kernel(inline=False)
def _reset(state: SER4State, t: int) -> None:
    """Forget everything: all arms are active."""
    state.episode[0] = t
    state.met[0] = len(state.places)
    for k in range(len(state.places)):
        state.places[k], state.counts[k], state.sums[k] = 0, 0, 0.0


@kernel(inline=False)
def _remove(state: SER4State) -> None:
    """Take the arms that fell behind out of the active set."""
    best, top = -1, -1.0
    for k in range(len(state.places)):
        if state.places[k] != OUT and state.counts[k] > 0 and state.sums[k] / state.counts[k] > top:
            best, top = k, state.sums[k] / state.counts[k]
    if best < 0:
        return
    r, radius = 0, 0.0
    for k in range(len(state.places)):
        if state.places[k] == OUT or state.counts[k] == 0 or k == best:
            continue
        # Deviation: where rewards are lost or late, counts differ; the smaller of the two stands for r.
        count = min(state.counts[k], state.counts[best])
        if count != r:
            r, radius = count, _radius(state, count)
        if top - state.sums[k] / state.counts[k] + state.rates[SLACK] >= radius:
            state.places[k] = OUT


@kernel
def _radius(state: SER4State, count: int) -> float:
    """How far an arm may fall behind after so many rewards."""
    return float(state.rates[SCALE] * math.sqrt(math.log(state.rates[WIDTH] * count * count) / count))


@kernel(inline=False)
def _shuffle(state: SER4State, rng: Any) -> None:
    """Give the active arms new places, every order with the same chance."""
    size = 0
    for k in range(len(state.places)):
        if state.places[k] != OUT:
            at, rng = integers(size + 1, rng)
            for other in range(k):
                if state.places[other] == at:
                    state.places[other] = size
            state.places[k] = at
            size += 1
    state.size[0] = size


@kernel
def _select(policy: SER4, state: SER4State, t: int, context: Any, rng: Any) -> tuple[int, float]:
    turn = t - state.start[0]
    if turn >= state.size[0]:
        turn %= max(1, state.size[0])
    for k in range(len(state.places)):
        if state.places[k] == turn:
            return k, 1.0
    return 0, 1.0


@kernel
def _update(policy: SER4, state: SER4State, decision: Decision, outcome: Outcome, now: int) -> None:
    state.seed[0] = branch(decision.rng)
    if decision.t < state.episode[0]:
        state.stale[0] += 1
        return
    state.counts[decision.action] += 1
    state.sums[decision.action] += place(outcome.reward, state.range)


@kernel
def _summarise(policy: SER4, state: SER4State, t: int, context: Any, out: Summary) -> None:
    """Means since the last reset. Two arms are told apart where intervals of half the radius no longer touch."""
    clear_summary(out)
    for arm in range(len(state.counts)):
        n = state.counts[arm]
        out.count[arm] = n
        if n > 0:
            mean, half = state.sums[arm] / n, 0.5 * _radius(state, n)
            low, span = state.range[0], state.range[1]
            put_interval(out, arm, low + span * mean, low + span * (mean - half), low + span * (mean + half))


register(
    SER4,
    about=About(
        "the horizon, the changes; the reward range",
        "O(sqrt(changes K T log(K T)) / gap), from memory",
        "Allesiardo, Feraud & Maillard 2017",
    ),
    advance=_advance,
    select=_select,
    update=_update,
    summarise=_summarise,
)
