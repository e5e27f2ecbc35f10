"""Theorem 3 against nature that reacts: Appendix E allows it to choose constraints after it has seen the points.

Points are numbers between 0 and 1. Nature has seen x_(t-1) and makes the round as bad as it can for who stays there:

    f_t(x) = x      g_t(x) = (1 + delta) x - 0.3      where x_(t-1) was 0.3 or more: x costs, and its limit is tight
    f_t(x) = -x     g_t(x) = (1 - delta) x - 0.3      where it was less: now more would be better

W may grow as T. Who never moves loses in proportion to T, and overdraws as much.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Decision, Floats, Problem, Slopes
from driftwise.core.verbs import select, update
from driftwise.families import VirtualQueue
from driftwise.families.convex.constraint_violation import regrets, wandering
from driftwise.families.convex.loss_history import Recorded
from driftwise.families.convex.projections import Domain, box, convex
from driftwise.families.convex.worlds.base import linear
from driftwise.papers.knapsacks.power_law import margin, power_of
from driftwise.papers.knapsacks.theorem3 import READINGS, highest_price
from driftwise.study.claims import Claim, Evidence, Finding, at_least, at_most

HORIZONS = {"quick": (500, 2_000, 8_000), "full": (500, 2_000, 8_000, 32_000)}
PLAYERS = {"printed": VirtualQueue(printed=1), "corrected": VirtualQueue(), "still": VirtualQueue(inertia=1e9)}
DELTA, LEVEL = 0.4, 0.3
SLOPES, USES = (
    np.array([1.0, -1.0]),
    np.array([1.0 + DELTA, 1.0 - DELTA]),
)  # of a round at or above the level, and below


class Duel(NamedTuple):
    """Both regrets of one run, and q W."""

    loss: float
    violation: float
    allowed: float


def points_of(policy: VirtualQueue, domain: Domain, horizon: int, answer: Callable[[int, Floats], Slopes]) -> Floats:
    """What a player chooses, a row a round; `answer` sees the points so far, row t being the newest."""
    problem = Problem(1, -np.inf, np.inf, 1.0, horizon, domain.dim, structure=convex(domain, 1), family="convex")
    state, rng, points = policy.init(problem), np.uint64(0), np.empty((horizon, domain.dim))
    for t in range(horizon):
        points[t], chance = select(policy, state, t, (), rng)
        update(policy, state, Decision(t, points[t].copy(), chance, (), rng), answer(t, points), t)
    return points


@cache
def duel(player: str, horizon: int) -> Duel:
    """Play it: nothing in it is drawn."""
    domain = box(0.0, 1.0)
    points = points_of(PLAYERS[player], domain, horizon, lambda t, points: _round(_kind(t, points), points[t]))
    kinds = np.array([_kind(t, points) for t in range(horizon)], np.int32)
    losses = linear(SLOPES[:, None, None], np.zeros((2, 1)), kinds)
    constraints = linear(USES[:, None, None], np.full((2, 1), -LEVEL), kinds)
    past = Recorded(domain, losses, constraints)
    return Duel(*regrets(past, points), highest_price(past) * wandering(past))


def _kind(t: int, points: Floats) -> int:
    """1 where the point before was below the level."""
    return int(t > 0 and points[t - 1, 0] < LEVEL)


def _round(kind: int, point: Floats) -> Slopes:
    """What a round of a kind reveals at a point."""
    slope, use = float(SLOPES[kind]), float(USES[kind])
    values = np.array([use * point[0] - LEVEL])
    return Slopes(-slope * float(point[0]), np.array([slope]), values, np.array([[use]]))


# ---- the claims ----


def claims(scale: str) -> Iterator[Claim]:
    """Reg1 within q W + sqrt(T), and Reg2 as without an adversary."""
    horizons = HORIZONS[scale]
    for player, reading in READINGS.items():
        yield Claim(
            f"theorem-3/adversary/Reg1/{player}",
            "against nature that reacts Reg1 is at most q W + O(sqrt(T)): shown is the largest share of q W + sqrt(T)",
            (),
            partial(_share, player=player, horizons=horizons),
            at_most(1.0),
            paper=1.0,
            statement="theorem-3/adversary/Reg1",
            reading=reading,
        )
        yield Claim(
            f"theorem-3/adversary/Reg2/{player}",
            "against nature that reacts Reg2 is O(sqrt(T)): shown is the power of T",
            (),
            partial(_power, player=player, horizons=horizons),
            at_most(0.5 + margin(horizons)),
            paper=0.5,
            statement="theorem-3/adversary/Reg2",
            reading=reading,
        )
    for symbol, measure, agrees in (
        ("Reg1", _share, at_least(1.0)),
        ("Reg2", _power, at_least(1.0 - margin(horizons))),
    ):
        yield Claim(
            f"theorem-3/adversary/{symbol}/still",
            f"who never moves breaks the bound on {symbol}",
            (),
            partial(measure, player="still", horizons=horizons),
            agrees,
            statement=None,
        )


def _share(_: Evidence, *, player: str, horizons: tuple[int, ...]) -> Finding:
    duels = {horizon: duel(player, horizon) for horizon in horizons}
    shares = [found.loss / (found.allowed + math.sqrt(horizon)) for horizon, found in duels.items()]
    listed = ", ".join(f"{found.loss:,.0f}" for found in duels.values())
    return Finding(max(shares), why=f"Reg1 is {listed} at T = {', '.join(f'{each:,}' for each in horizons)}.")


def _power(_: Evidence, *, player: str, horizons: tuple[int, ...]) -> Finding:
    overdrawn = np.array([duel(player, horizon).violation for horizon in horizons])
    listed = ", ".join(f"{each:,.1f}" for each in overdrawn)
    if (overdrawn <= 1.0).all():
        return Finding(0.0, why=f"{listed}: constraints are kept.")
    return Finding(power_of(np.array(horizons, float), np.maximum(overdrawn, 1e-9)), why=f"{listed}.")
