"""The measures: Figure 1, what even spending misses, and the chain of Proposition 1.

None of it is played: all follows from means and budgets.
"""

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.families import BudgetSinusoidal, KnapsackExample
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.hindsight.minimal_spread import nearest_centres
from driftwise.families.knapsack.hindsight.path_length import spread, steps, unrest
from driftwise.families.knapsack.hindsight.resource_prices import even_plan, prices
from driftwise.families.knapsack.hindsight.sandwich import Chain, chain
from driftwise.families.knapsack.means import Means
from driftwise.study.claims import Claim, Evidence, Finding

SAME = 1e-6  # relative; nearest centres are found to that
INSTANCES = {"quick": 60, "full": 600}
ROUNDS, AMPS, CYCLES = 20_000, (0.05, 0.1, 0.15, 0.2, 0.3, 0.4), (1, 8)
BEHIND = "Its proof takes the prices of LP(mean) for some among q, which they need not be."


def claims(scale: str) -> Iterator[Claim]:
    """What the text says of W, and of LP(T) against the sum of the programs of single rounds."""
    yield from _gap()
    yield from _figure1()
    yield from _chain(INSTANCES[scale])


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
        "gap/cycles",
        "eight swings instead of one make V eight times as large, and leave W and LP(T) - sum LP_t as they are",
        (),
        _judge_cycles,
        paper=1.0,
    )
    yield Claim("gap/cycles/grows", "LP(T) - sum LP_t grows with W", (), _judge_grows)
    yield Claim("gap/cycles/bound", "LP(T) - sum LP_t is at most W1 + 2 q W2", (), _judge_bound)


def _judge_cycles(_: Evidence) -> Finding:
    """Within 2% at every amplitude; V between 7.5 and 8.5 times as large."""
    pairs = [(gap(amp, CYCLES[0]), gap(amp, CYCLES[1])) for amp in AMPS]
    missed = np.array([many.missed / one.missed for one, many in pairs])
    moved, strayed = (np.array([many[i] / one[i] for one, many in pairs]) for i in (1, 2))
    holds = bool(
        (abs(missed - 1.0) < 0.02).all() and (abs(strayed - 1.0) < 0.02).all() and (abs(moved - 8) < 0.5).all()
    )
    worst = float(missed[np.argmax(abs(missed - 1.0))])
    return Finding(worst, math.nan, holds, f"V1 {moved.mean():.2f} times, W1 {strayed.mean():.3f} times as large.")


def _judge_grows(_: Evidence) -> Finding:
    gaps = [gap(amp, 1) for amp in AMPS]
    listed = ", ".join(f"{each.missed:,.0f} at {each.w1:,.0f}" for each in gaps)
    rising = bool((np.diff([each.missed for each in gaps]) > 0.0).all())
    return Finding(gaps[-1].missed / gaps[0].missed, math.nan, rising, f"{listed}.")


def _judge_bound(_: Evidence) -> Finding:
    share = max(each.missed / each.bound for each in (gap(amp, cycles) for amp in AMPS for cycles in CYCLES))
    return Finding(share, math.nan, share <= 1.0, f"At most {share:.1%} of it.")


# ---- Figure 1 ----


@cache
def figure1(rounds: int = 200) -> tuple[Floats, Floats, Floats]:
    """The change point k, W1 and W1-min at each."""
    points = np.arange(0, rounds + 1, rounds // 20)
    spreads = np.zeros((2, len(points)))
    for place, k in enumerate(points[1:-1], start=1):
        means = KnapsackExample(kind="figure1", k=int(k)).means(rounds, 0)
        spreads[:, place] = spread(means)[0], nearest_centres(means).rewards.value
    return points.astype(float), spreads[0], spreads[1]


def _figure1() -> Iterator[Claim]:
    formulas = {
        "w1": "W1 = 2 k (T - k) / T",
        "w1-min": "W1-min = min(k, T - k)",
        "coincide": "both are the same where k = T/2, and only there",
    }
    for name, says in formulas.items():
        yield Claim(f"figure1/curves/{name}", says, (), partial(_judge_figure1, name=name))


def _judge_figure1(_: Evidence, *, name: str) -> Finding:
    k, w1, least = figure1()
    rounds = k[-1]
    if name == "coincide":
        nearer = w1 - least > SAME * rounds
        alone = bool((nearer == ((k > 0) & (k < rounds) & (k != rounds / 2))).all())
        return Finding(float(w1[len(k) // 2] / least[len(k) // 2]), math.nan, alone, "W1 is larger everywhere else.")
    ours, formula = (w1, 2.0 * k * (rounds - k) / rounds) if name == "w1" else (least, np.minimum(k, rounds - k))
    off = float(abs(ours - formula).max())
    return Finding(off, math.nan, off <= SAME * rounds, f"Off by at most {off:.1g}, for {len(k)} values of k.")


# ---- Proposition 1 ----

LINES = {
    "even": "sum LP_t <= LP(T)",
    "by_mean": "LP(T) <= T LP(mean) + W1 + q_mean W2",
    "mean_by_even": "T LP(mean) <= sum LP_t + q_t W2",
    "outer": "LP(T) <= sum LP_t + W1 + 2 q_t W2",
    "any_centre": "LP(T) <= sum LP_t + 2 W1-min + 2 q_t W2-min",
    "printed_middle": "LP(T) <= T LP(mean) + W1 + q W2",
    "printed_last": "T LP(mean) + W1 + q W2 <= sum LP_t + 2 (W1 + q W2)",
    "printed_outer": "LP(T) <= sum LP_t + 2 (W1 + q W2)",
}


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
def _chained(number: int) -> Chain:
    return chain(*instance(number))


def _chain(instances: int) -> Iterator[Claim]:
    for line, says in LINES.items():
        form, name = ("printed", line.removeprefix("printed_")) if "printed" in line else ("corrected", line)
        yield Claim(
            f"chain/{form}/{name.replace('_', '-')}",
            f"{says}: shown is how many of {instances} random instances break it",
            (),
            partial(_judge_line, line=line, instances=instances),
            known=BEHIND if line == "printed_middle" else "",
        )
    measures = {"centres": "V1 <= 2 W1-min and V2 <= 2 W2-min", "prices": "every price is at most 1/b (Lemma 1)"}
    for name, says in measures.items():
        judge = partial(_judge_measure, name=name, instances=instances)
        yield Claim(
            f"chain/measures/{name}", f"{says}: shown is how many of {instances} random instances break it", (), judge
        )


def _judge_line(_: Evidence, *, line: str, instances: int) -> Finding:
    lines = [getattr(_chained(number), line) for number in range(instances)]
    slacks = np.array([each.slack / max(1.0, abs(each.right)) for each in lines])
    broken = int((slacks < -SAME).sum())
    return Finding(broken, math.nan, broken == 0, f"The least room is {slacks.min():.1g} of the right-hand side.")


def _judge_measure(_: Evidence, *, name: str, instances: int) -> Finding:
    room = _room_of_steps if name == "centres" else _room_of_prices
    rooms = np.array([room(number) for number in range(instances)])
    broken = int((rooms < -SAME).sum())
    return Finding(broken, math.nan, broken == 0, f"The least room is {rooms.min():.1g}.")


@cache
def _room_of_steps(number: int) -> float:
    means, _ = instance(number)
    (v1, v2), (rewards, costs) = steps(means), nearest_centres(means)
    return min(2.0 * rewards.value - v1, 2.0 * costs.value - float(v2.max())) / means.horizon


@cache
def _room_of_prices(number: int) -> float:
    means, budgets = instance(number)
    highest = np.max(prices(means, budgets), axis=0)
    return float((means.horizon / budgets - highest).min())
