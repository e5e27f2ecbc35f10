"""Budgets: a round of each policy against C, and against a loop that asks scipy for the linear program of every round.

A round is all of it: bounds, program, draw, what the world answers, and the books. The twins must agree bit for bit.
"""

import math
import shutil
import statistics
import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from benchmarks.against_c import TwinsDisagree
from benchmarks.sizes import Sizes
from benchmarks.stopwatch import RNG, timed_play
from benchmarks.table import Row, not_measured, row
from benchmarks.twin import twin
from driftwise.core.types import Trace, new_trace
from driftwise.families import BudgetSwitching, PrequentialPacing, SlidingKnapsackUCB
from driftwise.families.knapsack.policies.sliding_knapsack_ucb import RHO
from driftwise.families.knapsack.worlds.base import BudgetTape, Till

SHAPES = ((10, 1), (20, 3), (100, 10))  # arms and resources
KNAPSACK = "sliding-knapsack-ucb"
POLICIES: dict[str, Any] = {KNAPSACK: SlidingKnapsackUCB(), "prequential-pacing": PrequentialPacing()}


class Run(NamedTuple):
    """A run that has been played: what came of it, and the seconds it took."""

    trace: Trace
    till: Till
    rounds: int
    seconds: float


def rows(sizes: Sizes) -> list[Row]:
    """Both policies against their twins at every shape, then one of them against scipy."""
    worlds = [BudgetSwitching(n_arms=arms, resources=resources) for arms, resources in SHAPES]
    library = twin.build() if shutil.which("gcc") else None
    against = [_against_c(name, library, world, sizes) for name in POLICIES for world in worlds]
    return against + [_against_scipy(world, sizes) for world in worlds]


def _against_c(name: str, library: Any, world: BudgetSwitching, sizes: Sizes) -> Row:
    title, target = f"{name}, {_shape(world)}, time / C twin's", f"C: {name}"
    if library is None:
        return not_measured(title, "gcc is not installed", target=target)
    policy, tape = POLICIES[name], _tape(world, sizes)
    runs = [(_ours(policy, world, tape), _in_c(library, policy, world, tape)) for _ in range(sizes.twin_repeats + 1)]
    _compare(title, *runs[0])
    runs = runs[1:]  # the first compiles
    return row(
        title,
        unit="ns/round",
        ours=statistics.median(mine.seconds for mine, _ in runs) / runs[0][0].rounds * 1e9,
        theirs=statistics.median(its.seconds for _, its in runs) / runs[0][1].rounds * 1e9,
        ratio=statistics.median(mine.seconds / its.seconds for mine, its in runs),
        target=target,
        note="same choices and spending bit for bit",
    )


def _against_scipy(world: BudgetSwitching, sizes: Sizes) -> Row:
    """Their rounds are the first ones of the tape on which ours are played."""
    policy, tape = POLICIES[KNAPSACK], _tape(world, sizes)
    runs = [_ours(policy, world, tape) for _ in range(sizes.repeats + 1)][1:]
    ours = statistics.median(run.seconds for run in runs) / runs[0].rounds
    start = time.thread_time()
    _ask_scipy(policy.window, tape, sizes.scipy_rounds)
    theirs = (time.thread_time() - start) / sizes.scipy_rounds
    return row(
        f"{KNAPSACK}, {_shape(world)}, loop with scipy's linprog / ours",
        unit="us/round",
        ours=ours * 1e6,
        theirs=theirs * 1e6,
        ratio=theirs / ours,
        target=f"linprog: {KNAPSACK}",
    )


def _shape(world: BudgetSwitching) -> str:
    return f"m={world.n_arms}, d={world.resources}"


def _tape(world: BudgetSwitching, sizes: Sizes) -> BudgetTape:
    """The more resources, the longer a round takes, and the fewer there are."""
    tape: BudgetTape = world.draw(sizes.knapsack_rounds // world.resources, 1)[0]
    return tape


def _ours(policy: Any, world: BudgetSwitching, tape: BudgetTape) -> Run:
    trace, till = new_trace(0, tape.horizon), world.nature(tape.horizon)
    seconds = timed_play(policy, policy.init(world.problem(tape.horizon)), tape, trace, till)
    return Run(trace, till, int(np.isfinite(trace.rewards).sum()), seconds)


def _in_c(library: Any, policy: Any, world: BudgetSwitching, tape: BudgetTape) -> Run:
    trace, till = new_trace(0, tape.horizon), world.nature(tape.horizon)
    state = policy.init(world.problem(tape.horizon))
    start = time.thread_time()
    rounds = twin.spend(library, policy, state, tape, till, RNG, trace)
    return Run(trace, till, rounds, time.thread_time() - start)


def _compare(title: str, ours: Run, theirs: Run) -> None:
    traces = zip(ours.trace[1:], theirs.trace[1:], strict=True)
    if ours.rounds != theirs.rounds or not all(np.array_equal(mine, its, equal_nan=True) for mine, its in traces):
        raise TwinsDisagree(f"{title}: the compiled loop and its C twin choose differently")
    if not all(np.array_equal(mine, its) for mine, its in zip(ours.till, theirs.till, strict=True)):
        raise TwinsDisagree(f"{title}: the compiled loop and its C twin spend differently")


def _ask_scipy(window: int, tape: BudgetTape, rounds: int) -> None:
    """The same policy as one would write it in Python: arrays for the arms, a queue for the window."""
    _, resources, arms = tape.costs.shape
    counts, sums, spent = np.zeros(arms), np.zeros(arms), np.zeros((resources, arms))
    left, luck, remembered = tape.stages.there[0].copy(), np.random.default_rng(1), deque[Any]()
    reach = RHO * math.sqrt(math.log(window) / 2.0)
    for t in range(rounds):
        width = reach / np.sqrt(counts + 1.0)
        upper = np.minimum(sums / (counts + 1.0) + width, 1.0)
        lower = np.maximum(spent / (counts + 1.0) - width, 0.0)
        limits = np.append(left / (tape.horizon - t), 1.0)
        solved: Any = linprog(-upper, A_ub=np.vstack([lower, np.ones(arms)]), b_ub=limits, bounds=(0.0, None))
        arm = int(np.searchsorted(solved.x.cumsum(), luck.random(), side="right"))
        if arm < arms:
            levels = np.append(tape.levels.table[tape.levels.rows[t], arm], tape.costs[tape.levels.rows[t], :, arm])
            reward, *costs = (tape.noise[t] < levels).astype(float)
            counts[arm] += 1.0
            sums[arm] += reward
            spent[:, arm] += costs
            left -= costs
            remembered.append((t, arm, reward, np.array(costs)))
        if remembered and remembered[0][0] <= t - window:
            _, old, reward, costs = remembered.popleft()
            counts[old] -= 1.0
            sums[old] -= reward
            spent[:, old] -= costs
