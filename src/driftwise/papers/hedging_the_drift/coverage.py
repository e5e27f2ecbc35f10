"""Theorems 2, 5 and 8 in play: how often an estimate is off by more than a theorem allows.

Theorem 2 is false for some paths of actions (`estimation.py`). Here are the paths that SW-UCB itself takes in the world
of Figure 4, and on axes, where the theorem holds. A policy is stopped every so often; its estimate, its matrix V and
the way of theta within its window are compared with the bound for every action of that round.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.protocols import Policy
from driftwise.core.seeding import key
from driftwise.core.types import Floats
from driftwise.families import PiecewiseLinear, SinePair, SlidingArmedUCB, SlidingLinUCB
from driftwise.families.contextual.worlds.base import FeaturedWorld, FeatureTape
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_most

CHANCE = 0.05  # delta of Theorem 2 here: a small one could not be told from none
RUNS, STOPS = 40, 10
SHARES = Range(0.0, 1.0)


class Stop(NamedTuple):
    """A policy between two rounds: what it knows, the truth, the way of theta in the window, and the next actions."""

    state: Any
    theta: Floats
    way: float
    actions: Floats


def stops(policy: Policy, world: FeaturedWorld, horizon: int, seed: int, window: int) -> Iterator[Stop]:
    """Play, and stop STOPS times on the way."""
    problem, size = world.problem(horizon), horizon // (STOPS + 1)
    state, path = policy.init(problem), np.empty((0, world.dim))
    for tape in world.tapes(horizon, seed, size):
        if tape.start:
            lately = np.concatenate([path[-window:], tape.path[:1]])
            way = float(np.linalg.norm(np.diff(lately, axis=0), axis=1).sum())
            yield Stop(state, tape.path[0], way, _actions(tape))
        path = np.concatenate([path, tape.path])
        trace = trace_for(problem, tape.start, len(tape.noise))
        play(policy, state, tape, world.nature(horizon), key(seed, "policy"), trace, horizon)


def _actions(tape: FeatureTape) -> Floats:
    actions: Floats = tape.sets[tape.which[0]]
    return actions


# ---- the claims ----


def claims() -> Iterator[Claim]:
    """One per theorem, and Theorem 2 on axes."""
    says = "an estimated reward is off by more than the bound with probability at most"
    linear = PiecewiseLinear(dim=5, n_actions=40, sd=0.1)
    axes = PiecewiseLinear(dim=2, actions="basis", sd=0.1)
    for place, world in (("play", linear), ("axes", axes)):
        yield Claim(
            f"theorem2/{place}",
            f"{says} {CHANCE:g}: in the world of Figure {'4' if place == 'play' else '3, with actions on axes'}",
            (),
            partial(_measure_linear, world=world),
            agrees=at_most(CHANCE),
            possible=SHARES,
            paper=CHANCE,
            statement=None,
        )
    yield Claim(
        "theorem5",
        f"{says} 1/T: two arms, T = 100",
        (),
        _measure_armed,
        agrees=at_most(0.01),
        possible=SHARES,
        paper=0.01,
    )
    yield Claim(
        "theorem8",
        "an estimated probability is off by at most the bound: the least that the bound can be",
        (),
        _measure_generalised,
        agrees=at_most(1.0),
        paper=1.0,
    )


def _finding(shares: list[float]) -> Finding:
    """How often a bound failed, from the error over what it allows at every stop."""
    failed, n = sum(share > 1.0 for share in shares), len(shares)
    likely = (failed + 1.0) / (n + 2.0)  # so that none in n is not taken for never
    why = f"It failed {failed} times in {n:,}; the error was at most {max(shares):.0%} of what is allowed."
    return Finding(failed / n, math.sqrt(likely * (1.0 - likely) / n), why, runs=n)


def _measure_linear(_: Evidence, *, world: FeaturedWorld) -> Finding:
    window, horizon = 300, 2_200
    policy = SlidingLinUCB(window=window, confidence=CHANCE)
    shares = []
    beta = 0.1 * math.sqrt(world.dim * math.log((1.0 + window) / CHANCE)) + 1.0
    for seed in range(RUNS):
        for stop in stops(policy, world, horizon, seed, window):
            gram = stop.state.ridge.gram
            theta = np.linalg.solve(gram, stop.state.ridge.moment)
            widths = np.sqrt(np.einsum("ad,ad->a", stop.actions, np.linalg.solve(gram, stop.actions.T).T))
            shares.append(float((np.abs(stop.actions @ (theta - stop.theta)) / (stop.way + beta * widths)).max()))
    return _finding(shares)


def _measure_armed(_: Evidence) -> Finding:
    window, horizon, world = 40, 110, SinePair(variation=2.0)
    policy = SlidingArmedUCB(window=window)
    radius = world.sd * math.sqrt(2.0 * math.log(4.0 * horizon**2))
    shares = []
    for seed in range(RUNS):
        for stop in stops(policy, world, horizon, seed, window):
            counts, sums = stop.state.window.counts, stop.state.window.sums
            there = counts > 0
            errors = np.abs(sums[there] / counts[there] - stop.theta[there])
            shares.append(float((errors / (stop.way + radius / np.sqrt(counts[there]))).max()))
    return _finding(shares)


def _measure_generalised(_: Evidence) -> Finding:
    """V is at most w I for actions of unit length, so no width is below 1 / sqrt(w)."""
    horizon, dim = 20_000, 3
    windows = (*(2**power for power in range(3, 15)), horizon)
    least = min(_beta(window, horizon, dim) / math.sqrt(window) for window in windows)
    return Finding(
        least,
        why=f"At least {least:.1f}, for logistic rewards, |theta| <= 3, d = 3, T = 20,000 and any window.",
        not_judged="Probabilities never differ by more than 1. Its proof uses (41), too.",
    )


def _beta(window: int, horizon: int, dim: int) -> float:
    slope = 1.0 / (2.0 + 2.0 * math.cosh(3.0))
    root = math.sqrt(2.0 * dim * math.log(window) * math.log(2.0 * dim * horizon**2) * (3.0 + 2.0 * math.log(3.0)))
    return 2.0 * 0.25 * root / slope
