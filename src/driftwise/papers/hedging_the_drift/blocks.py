"""Section 7: the blocks of BOB. Lemma 3, which windows it drew (Figure 1), and whether it finds the best one."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Ints, Problem
from driftwise.papers.hedging_the_drift import piecewise
from driftwise.papers.hedging_the_drift.readings import NOISE, bob
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least, at_most
from driftwise.study.findings import mean_of

RUNS = 8
SIZES = {"Figure 3": (100_000, 2), "Figure 4": (100_000, 5), "Figure 5": (50_000, 14)}


class Blocks(NamedTuple):
    """A run of BOB: the windows, which one each block drew, what blocks earned a round, and the chances at the end."""

    windows: Ints
    drawn: Ints
    earned: Floats
    chances: Floats


@lru_cache(maxsize=32)
def blocks_of(seed: int, instance: int = 0, horizon: int = piecewise.HORIZON) -> Blocks:
    """BOB, windowed, in the world of Figure 4."""
    world, policy = replace(piecewise.LINEAR, instance=instance), bob("windowed")
    problem = world.problem(horizon)
    state: Any = policy.init(problem)
    hedge, drawn, earned = state.hedge, [], []
    for tape in world.tapes(horizon, seed, int(hedge.block[0])):
        trace = trace_for(problem, tape.start, len(tape.noise))
        play(policy, state, tape, world.nature(horizon), key(seed, "policy"), trace, horizon)
        drawn.append(int(hedge.windows[hedge.chosen[0]]))
        earned.append(float(trace.rewards.sum()) / len(tape.noise))
    weights, rate = hedge.powers[: hedge.used[0]], float(hedge.rate[0])
    chances = (1.0 - rate) * weights / weights.sum() + rate / len(weights)
    return Blocks(hedge.windows[: hedge.used[0]].copy(), np.array(drawn), np.array(earned), chances)


def learning_rate(horizon: int, dim: int) -> float:
    """The gamma of (24); at 1 EXP3 draws every window alike for ever."""
    problem = Problem(40, -np.inf, np.inf, NOISE, horizon, dim, unit=1.0, family="contextual")
    state: Any = bob("windowed").init(problem)
    return float(state.hedge.rate[0])


# ---- the claims ----


def claims() -> Iterator[Claim]:
    """Lemma 3, and what Appendix F says of the windows."""
    yield Claim(
        "lemma3",
        "rewards of some block sum to more than H + 2 R sqrt(H ln(T / sqrt H)) with probability at most 2/T: T/2 times "
        "the chance",
        (),
        _measure_sums,
        agrees=at_most(1.0),
        paper=1.0,
        possible=Range(0.0, math.inf),
    )
    yield Claim(
        "figure1/converges",
        "BOB is able to converge to the optimal window (Appendix F): the chance of the window nearest below w*, at the "
        "end of Figure 4",
        (),
        _measure_convergence,
        agrees=at_least(0.5),
        possible=Range(0.0, 1.0),
    )


def _measure_sums(_: Evidence) -> Finding:
    """Exact for Gaussian noise and mean rewards of 1, the most there is."""
    from scipy.special import ndtr  # slow to import

    chances = {}
    for figure, (horizon, dim) in SIZES.items():
        block = math.floor(dim * math.sqrt(horizon))
        noise = math.log(horizon / math.sqrt(block))
        blocks = math.ceil(horizon / block)
        chances[figure] = -math.expm1(blocks * math.log1p(-ndtr(-2.0 * math.sqrt(noise)))) * horizon / 2.0
    worst = max(chances, key=lambda each: chances[each])
    return Finding(chances[worst], why=f"At most {chances[worst]:.2g} of 2/T at the sizes of Figures 3 to 5: {worst}.")


def _measure_convergence(_: Evidence) -> Finding:
    runs = [blocks_of(seed) for seed in range(1, RUNS + 1)]
    windows, moved = runs[0].windows, piecewise.exact(replace(piecewise.LINEAR, instance=0)).l2
    best = math.floor((5 * piecewise.HORIZON / (moved + 1.0)) ** (2.0 / 3.0))
    place = int(np.flatnonzero(windows <= best)[-1])
    rates = ", ".join(f"{learning_rate(*size):.2f} in {figure}" for figure, size in SIZES.items())
    finding = mean_of([run.chances[place] for run in runs])
    return finding._replace(
        why=f"{finding.ours:.2f} for the window {windows[place]} of {len(windows)} (w* = {best}), after "
        f"{len(runs[0].drawn)} blocks. gamma is {rates}: that much is drawn blindly."
    )
