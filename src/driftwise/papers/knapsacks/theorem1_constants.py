"""Theorem 1 and Corollary 1 with their constants, and the repair of Theorem 1's proof.

With its constants Theorem 1 allows more than T until T is in the millions; a bound that nobody can exceed is not
judged. It says something where one or two arms are played for four million rounds: that is played here, beside uniform
play, which breaks both bounds.

The printed proof goes through T LP(mean), the middle of Proposition 1's chain, which is false. The outer inequality is
enough. Let tau be the round in which a resource runs out, and q_t the highest price of a round. Then

    LP(T) - sum_(t < tau) LP_t  <=  2 (W1 + q_t W2) + (T - tau + 1) max_t LP_t,        LP_t <= 1

by LP(T) <= sum_t LP_t + 2 (W1 + q_t W2) and by leaving out the rounds from tau on. The rest of the proof stays as it
is: the statement holds with q_t for q, and LP(mean) has no part in it.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.core.types import Floats
from driftwise.families import KnapsackExample, Uniform
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.hindsight.path_length import Unrest, unrest
from driftwise.families.knapsack.hindsight.regret_bound import knapsack_bound
from driftwise.families.knapsack.hindsight.resource_prices import even_plan
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers.knapsacks import theorem1
from driftwise.papers.knapsacks.algorithm1 import READINGS, Algorithm1
from driftwise.papers.knapsacks.power_law import LAST, PowerLaw, column, grown, played
from driftwise.papers.knapsacks.proposition1 import INSTANCES, SAME, instance
from driftwise.papers.knapsacks.series import Ground, Maker
from driftwise.papers.knapsacks.worlds import GoodAndBad
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_most, between
from driftwise.study.findings import mean_of
from driftwise.study.study import Study

LONG = {"quick": 4_096_000, "full": 16_384_000}
RUNS = {"quick": 2, "full": 4}
PLAYERS: dict[str, Policy] = {"paper": Algorithm1(), "uniform": Uniform()}
STILL = Unrest(0.0, np.zeros(1), 0.0, 0.0)
MOVING = Unrest(1.0, np.ones(1), 0.0, 0.0)


GROUNDS: dict[str, BudgetWorld] = {
    "theorem-1": GoodAndBad(),
    "corollary-1": KnapsackExample(kind="motivating", delta=0.0),  # one arm that costs 1, with 1/2 a round
}


def _name(statement: str) -> str:
    return f"{statement}/constants"


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """One long run for each."""
    for statement in GROUNDS:
        yield _name(statement), partial(_study, statement, LONG[scale], runs or RUNS[scale])


def _study(statement: str, horizon: int, runs: int) -> Study:
    worlds = {"world": GROUNDS[statement]}
    return Study(name=_name(statement), worlds=worlds, policies=PLAYERS, horizon=horizon, runs=runs)


# ---- the bounds ----


def allowed(ground: Ground, seed: int) -> float:
    """What Theorem 1 allows a run, with the highest price of a round for q."""
    means, rates = ground.world.means(ground.horizon, seed), ground.world.rates(ground.horizon)
    price = float(even_plan(means, rates * ground.horizon).prices.max())
    return knapsack_bound(unrest(means), rates, horizon=ground.horizon, n_arms=means.n_arms, price=price)


def stopping(ground: Ground) -> float:
    """What Corollary 1 allows T - tau to be where costs do not drift."""
    rates, rounds, arms = ground.world.rates(ground.horizon), ground.horizon, ground.world.arms
    log = math.log(12.0 * arms * len(rates) * rounds**3)
    return (8.0 * math.sqrt(2.0 * arms * rounds * log) + 4.0 * math.sqrt(rounds) * log) / float(rates.min())


# ---- the claims ----


def corollary1(scale: str) -> Iterator[Claim]:
    """The stopping time: with constants, and how it grows."""
    ground = Ground(GROUNDS["corollary-1"], LONG[scale])
    bound, most = stopping(ground), ground.horizon * (1.0 - float(ground.world.rates(1).min()))
    yield Claim(
        "corollary-1/constants/paper",
        f"T - tau is at most {bound:,.0f} at T = {ground.horizon:,} (one arm that costs 1, b = 1/2); uniform play "
        "stops at T/2: shown is the share of the bound",
        (_name("corollary-1"),),
        partial(_stopped, bound=bound),
        at_most(1.0),
        paper=1.0,
        possible=Range(0.0, most / bound),
        about="paper",
    )
    for series in ("theorem-1/T/rotating/d=1", "theorem-1/T/stationary/d=1"):
        item = theorem1.SERIES[series]
        kind = series.split("/")[2]
        for form, reading in READINGS.items():
            yield Claim(
                f"corollary-1/rate/{kind}/{form}",
                f"T - tau grows no faster than T^({item.power}), {kind} worlds: shown is the power of 1 + T - tau",
                item.names(scale),
                partial(_stopping_rate, series=series, policy=form),
                at_most(item.theory + item.margin(scale)),
                paper=item.theory,
                statement=f"corollary-1/rate/{kind}",
                reading=reading,
                about=form,
            )


def _stopped(evidence: Evidence, *, bound: float) -> Finding:
    missing = evidence.studies[_name("corollary-1")].horizon - column(evidence, _name("corollary-1"), "paper", "rounds")
    return mean_of(missing / bound, f"It stopped {missing.max():,.0f} rounds early at most.")


def _stopping_rate(evidence: Evidence, *, series: str, policy: str) -> Finding:
    rounds = grown(evidence, series, policy, "rounds")
    return PowerLaw(rounds.sizes, 1.0 + rounds.sizes - rounds.values).last(LAST).finding()


def claims(scale: str) -> Iterator[Claim]:
    """The bound where it says something, where it does not, from when on it does, and the repair."""
    ground = Ground(GROUNDS["theorem-1"], LONG[scale])
    bound = allowed(ground, 0)
    yield Claim(
        "theorem-1/constants/paper",
        f"Algorithm 1 loses at most {bound:,.0f} at T = {ground.horizon:,} (two arms, b = 1/2, nothing drifts): shown "
        "is the share of the bound",
        (_name("theorem-1"),),
        partial(_lost, bound=bound),
        at_most(1.0),
        paper=1.0,
        possible=Range(0.0, 0.95 * ground.horizon / bound),
        about="paper",
    )
    drifting = theorem1.SERIES["theorem-1/T/rotating/d=1"]
    yield Claim(
        "theorem-1/constants/rotating",
        "Algorithm 1 loses no more than the bound where arms change places",
        drifting.names(scale)[-1:],
        partial(_vacuous, series=drifting.name),
        at_most(1.0),
        paper=1.0,
    )
    for name, moved, low, high in (("stationary", STILL, 3e6, 1e7), ("V=1", MOVING, 2e8, 1e9)):
        yield Claim(
            f"theorem-1/speaks/{name}",
            f"the bound is below T from {low:,.0f} to {high:,.0f} rounds on only (m = 10, b = 1/4, W = 0)",
            (),
            partial(_speaks, moved=moved),
            between(low, high),
            statement=None,
        )
    many = INSTANCES[scale]
    yield Claim(
        "theorem-1/repair",
        "LP(T) - sum of LP_t before tau is at most 2 (W1 + q_t W2) + (T - tau + 1) max LP_t: the proof needs no "
        f"LP(mean). Shown is how many of {many} random instances break it, for any tau",
        (),
        partial(_repair, instances=many),
        at_most(0.5),
        statement=None,
    )


def _lost(evidence: Evidence, *, bound: float) -> Finding:
    regrets, blind = (column(evidence, _name("theorem-1"), policy) for policy in PLAYERS)
    return mean_of(regrets / bound, f"{regrets.mean():,.0f} lost; uniform play loses {blind.mean():,.0f}.")


def _vacuous(evidence: Evidence, *, series: str) -> Finding:
    point, name = list(played(evidence, series).items())[-1]
    share = allowed(theorem1.SERIES[series].ground(point), 0) / point
    if share < 1.0:
        return Finding(float(column(evidence, name, "paper").max()) / (share * point))
    return Finding(math.nan, not_judged=f"The bound is {share:.1f} T at T = {point:,.0f}: nobody can lose more than T.")


def _speaks(_: Evidence, *, moved: Unrest) -> Finding:
    low, high = 1.0, 15.0
    for _halving in range(60):
        middle = (low + high) / 2.0
        rounds = round(10.0**middle)
        below = knapsack_bound(moved, [0.25], horizon=rounds, n_arms=10, price=4.0) < rounds
        low, high = (low, middle) if below else (middle, high)
    return Finding(10.0**high, why=f"From T = {10.0**high:.1e} on.")


def _repair(_: Evidence, *, instances: int) -> Finding:
    slacks = np.array([repaired(*instance(number)) for number in range(instances)])
    return Finding(int((slacks < -SAME).sum()), why=f"The least room is {slacks.min():.1g} rounds' rewards.")


def repaired(means: Means, budgets: Floats) -> float:
    """The least room in the repaired step of the proof, over every tau from 1 to T + 1."""
    even, moved = even_plan(means, budgets), unrest(means)
    price, each = float(even.prices.max()), even.rewards[means.rows]
    before = np.concatenate([[0.0], np.cumsum(each)])
    rest = np.arange(means.horizon, -1, -1) * float(each.max())
    right = 2.0 * (moved.reward_spread + price * moved.cost_spread) + rest
    return float((right - (best_plan(means, budgets).value - before)).min())
