"""Section 2.2: V below W, Lemma 1, Proposition 1, and what even spending misses. None of it is played.

Every line is tried on random instances. The middle inequality of Proposition 1 is false: see the errata.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.families import BudgetSinusoidal
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.hindsight.path_length import mean_costs, mean_rewards, unrest
from driftwise.families.knapsack.hindsight.resource_prices import even_plan, prices
from driftwise.families.knapsack.hindsight.sandwich import Chain, Line, chain
from driftwise.families.knapsack.means import Means
from driftwise.study.claims import Claim, Evidence, Finding, around, at_least, at_most

SAME = 1e-6  # relative; nearest centres are found to that
INSTANCES = {"quick": 60, "full": 600}
ROUNDS, AMPS, CYCLES = 20_000, (0.05, 0.1, 0.15, 0.2, 0.3, 0.4), (1, 8)
PRINTED = {
    "even": "sum LP_t <= LP(T)",
    "printed_last": "T LP(mean) + W1 + q W2 <= sum LP_t + 2 (W1 + q W2)",
    "printed_outer": "LP(T) <= sum LP_t + 2 (W1 + q W2)",
}
SHARPER = {
    "mean_by_even": "T LP(mean) <= sum LP_t + q_t W2",
    "outer": "LP(T) <= sum LP_t + W1 + 2 q_t W2, with the prices of rounds alone",
}


# ---- random instances ----


@cache
def instance(number: int) -> tuple[Means, Floats]:
    """Random means and unequal budgets; every fourth rounded, every fourth sparse, every fourth degenerate."""
    draws, kind = generator(number, "instances"), number % 4
    arms, resources, segments = draws.integers(1, 6), draws.integers(1, 4), draws.integers(2, 7)
    rewards, costs = draws.random((segments, arms)), draws.random((segments, resources, arms))
    if kind == 1:
        rewards, costs = rewards.round(1), costs.round(1)
    elif kind == 2:
        costs *= draws.random(costs.shape) < 0.6
    elif kind == 3:
        rewards[:], costs = rewards[0], costs.round()
    rows = np.repeat(np.arange(segments), draws.integers(1, 20, segments))
    return Means.of(rewards, costs, rows), draws.uniform(0.1, 0.9, resources) * len(rows)


@cache
def chained(number: int) -> Chain:
    """All lines of an instance; finding the nearest centres takes long, and is left to Appendix B."""
    means, budgets = instance(number)
    return chain(means, budgets, rewards_centre=mean_rewards(means), costs_centre=mean_costs(means))


# ---- the claims ----


def claims(scale: str) -> Iterator[Claim]:
    """What the text says of V, W, prices and LP(T)."""
    many = INSTANCES[scale]
    yield Claim(
        "section-2.2/V-and-W",
        f"W1 and W2 bound V1 and V2 up to a constant, 2: shown is the largest V / (2 W) in {many} random instances",
        (),
        partial(_steps, instances=many),
        at_most(1.0 + SAME),
        paper=1.0,
    )
    yield from _gap()
    yield Claim(
        "lemma-1/prices",
        f"no price is above 1/b: shown is the highest price times b in {many} random instances",
        (),
        partial(_prices, instances=many),
        at_most(1.0 + SAME),
        paper=1.0,
    )
    for line, says in {**PRINTED, **SHARPER}.items():
        yield Claim(
            f"proposition-1/{_dashed(line)}",
            f"{says}: shown is how many of {many} random instances break it",
            (),
            partial(_broken, line=line, instances=many),
            at_most(0.5),
            paper=0.0,
            statement=None if line in SHARPER else "",
        )


def _dashed(line: str) -> str:
    return line.removeprefix("printed_").replace("_", "-") + ("-sharper" if line == "outer" else "")


def _broken(_: Evidence, *, line: str, instances: int) -> Finding:
    return broken([getattr(chained(number), line) for number in range(instances)])


def broken(lines: list[Line]) -> Finding:
    """How many inequalities fail."""
    slacks = np.array([each.slack / max(1.0, abs(each.right)) for each in lines])
    failed = int((slacks < -SAME).sum())
    return Finding(failed, why=f"The least room is {slacks.min():.1g} of the right-hand side.")


def _steps(_: Evidence, *, instances: int) -> Finding:
    largest = 0.0
    for number in range(instances):
        means, _budgets = instance(number)
        v1, v2, w1, w2 = unrest(means)
        largest = max([largest, *(v / (2.0 * w) for v, w in ((v1, w1), (float(v2.max()), w2)) if w > SAME)])
    return Finding(largest)


def _prices(_: Evidence, *, instances: int) -> Finding:
    highest = 0.0
    for number in range(instances):
        means, budgets = instance(number)
        dual = prices(means, budgets)
        highest = max(highest, float((np.maximum(dual.rounds, dual.whole) * budgets / means.horizon).max()))
    return Finding(highest)


# ---- LP(T) - sum LP_t follows W, not V ----


class Gap(NamedTuple):
    """What even spending misses in one world: LP(T) - sum LP_t, with V1, W1 and the whole of Proposition 1's bound."""

    missed: float
    v1: float
    w1: float
    bound: float


@cache
def gap(amp: float, cycles: int) -> Gap:
    """On average over twelve instances."""
    rows = []
    for seed in range(12):
        world = BudgetSinusoidal(n_arms=6, amp=amp, cycles=cycles)
        means, budgets = world.means(ROUNDS, seed), world.rates(ROUNDS) * ROUNDS
        even, moved = even_plan(means, budgets), unrest(means)
        missed = best_plan(means, budgets).value - even.value
        bound = moved.reward_spread + 2.0 * float(even.prices.max()) * moved.cost_spread
        rows.append((missed, moved.reward_steps, moved.reward_spread, bound))
    return Gap(*(float(value) for value in np.mean(rows, axis=0)))


def _gap() -> Iterator[Claim]:
    yield Claim(
        "section-2.2/gap/cycles",
        "eight swings instead of one make V eight times as large, and leave LP(T) - sum LP_t as it is: shown is by how "
        "much it changes, at the amplitude where it changes most",
        (),
        _cycles,
        around(1.0, 0.02),
        statement=None,
    )
    yield Claim(
        "section-2.2/gap/W",
        "LP(T) - sum LP_t grows with W: shown is the smallest factor from one amplitude to the next",
        (),
        _grows,
        at_least(1.0),
        statement=None,
    )


def _cycles(_: Evidence) -> Finding:
    pairs = [(gap(amp, CYCLES[0]), gap(amp, CYCLES[1])) for amp in AMPS]
    missed = np.array([many.missed / one.missed for one, many in pairs])
    moved, strayed = (np.array([many[i] / one[i] for one, many in pairs]) for i in (1, 2))
    worst = float(missed[np.argmax(abs(missed - 1.0))])
    return Finding(worst, why=f"V1 is {moved.mean():.2f} times, W1 {strayed.mean():.3f} times as large.")


def _grows(_: Evidence) -> Finding:
    gaps = [gap(amp, 1) for amp in AMPS]
    listed = ", ".join(f"{each.missed:,.0f} at {each.w1:,.0f}" for each in gaps)
    missed = np.array([each.missed for each in gaps])
    return Finding(float((missed[1:] / missed[:-1]).min()), why=f"{listed}.")
