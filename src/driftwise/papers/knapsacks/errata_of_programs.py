"""Errata about linear programs and the bound: 1 to 5, 9, 12 and 14."""

import math
from functools import partial

import numpy as np
from scipy.optimize import linprog

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.families import KnapsackExample, SlidingKnapsackUCB
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.hindsight.minimal_spread import nearest_centres
from driftwise.families.knapsack.hindsight.path_length import Unrest
from driftwise.families.knapsack.hindsight.regret_bound import knapsack_bound
from driftwise.families.knapsack.hindsight.resource_prices import even_plan, prices
from driftwise.families.knapsack.hindsight.sandwich import chain
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.round_lp import new_step_lp, solve_step
from driftwise.papers.knapsacks.errata import Erratum, Form, exactly
from driftwise.study.claims import Evidence, Finding

SMALL = 1e-6


# ---- 1: Proposition 1. Two arms that both pay 1, and cost (0.4, 1) in one half, (1, 0.4) in the other ----

SWAPPED = Means.of(np.ones((2, 2)), [[[0.4, 1.0]], [[1.0, 0.4]]], rows=[0] * 50 + [1] * 50)


def _proposition1(_: Evidence) -> Finding:
    line = chain(SWAPPED, [50.0]).printed_middle
    return exactly(
        line.left / line.right, line.slack >= -SMALL, f"LP(T) = {line.left:.0f}, and the bound {line.right:.2f}."
    )


def _proposition1_mended(_: Evidence) -> Finding:
    bounds = chain(SWAPPED, [50.0])
    why = f"With its price 1.4286 for q the bound is {bounds.by_mean.right:.2f}; the outer inequality never needed it."
    return exactly(
        bounds.by_mean.left / bounds.by_mean.right,
        min(bounds.by_mean.slack, bounds.outer.slack) >= -SMALL,
        why,
    )


# ---- 2: Claim 2. One arm that pays 1 and costs 0.4, then pays 0 and costs 1 ----

FADING = Means.of([[1.0], [0.0]], [[[0.4]], [[1.0]]])


def _claim2(_: Evidence) -> Finding:
    dual = prices(FADING, [1.0])
    rounds, mean = float(dual.rounds.max()), float(dual.mean.max())
    return exactly(
        mean, mean <= rounds + SMALL, f"The mean of both rounds has the price {mean:.3f}, the rounds {rounds:.0f}."
    )


def _claim2_mended(_: Evidence) -> Finding:
    lines = [chain(*each).any_centre for each in ((FADING, [1.0]), (SWAPPED, [50.0]))]
    slack = min(line.slack for line in lines)
    return exactly(slack, slack >= -SMALL, "LP(T) <= sum LP_t + 2 W1-min + 2 q_t W2-min holds without the claim.")


# ---- 3: Claim 1. Three arms that take turns ----

TURNS = Means.of(np.eye(3), np.ones((3, 1, 3)))


def _claim1(_: Evidence) -> Finding:
    least, inside = nearest_centres(TURNS).rewards.value, _least_in_hull(TURNS.rewards)
    why = f"From (1/2, 1/2, 1/2) they stray {least:.1f} in all, from the nearest of their mixtures {inside:.1f}."
    return exactly(inside / least, inside <= least + SMALL, why)


def _least_in_hull(points: Floats) -> float:
    """The least sum of largest distances from a mixture of the points: one distance a point, one weight a point."""
    many, dim = points.shape
    above = np.hstack([np.repeat(-np.eye(many), dim, axis=0), np.tile(points.T, (many, 1))])
    below = np.hstack([np.repeat(-np.eye(many), dim, axis=0), np.tile(-points.T, (many, 1))])
    solved = linprog(
        np.append(np.ones(many), np.zeros(many)),
        A_ub=np.vstack([above, below]),
        b_ub=np.append(points.ravel(), -points.ravel()),
        A_eq=np.append(np.zeros(many), np.ones(many))[None],
        b_eq=[1.0],
    )
    return float(solved.fun or 0.0)


def _claim1_mended(_: Evidence) -> Finding:
    line = chain(TURNS, [1.5]).any_centre
    return exactly(
        line.left / line.right, line.slack >= -SMALL, "Any centre will do, in the hull or not: Proposition 3 is true."
    )


# ---- 4: the proof of Theorem 1 perturbs a program, and takes its price from before ----


def _program(rewards: Floats, costs: Floats, rates: Floats) -> tuple[float, float]:
    """What a single round earns, and its highest price."""
    even = even_plan(Means.of(rewards[None], costs[None]), rates)
    return even.value, float(even.prices.max())


def _perturbed(_: Evidence) -> Finding:
    before, price = _program(np.ones(1), np.array([[0.4]]), np.array([0.5]))
    after, _price = _program(np.ones(1), np.array([[0.6]]), np.array([0.5]))
    why = f"b = 0.5, cost 0.4 made 0.6: LP falls from {before:.0f} to {after:.3f}, though its price was {price:.0f}."
    return exactly(after, after >= before - 0.2 * price - SMALL, why)


def _perturbed_mended(_: Evidence) -> Finding:
    rooms = []
    for number in range(500):
        draws = generator(number, "perturbed")
        arms, resources = draws.integers(1, 6), draws.integers(1, 4)
        rewards, costs, rates = draws.random(arms), draws.random((resources, arms)), draws.uniform(0.1, 0.9, resources)
        less, more = draws.uniform(0.0, 0.3), draws.uniform(0.0, 0.3, resources)
        after = _program(rewards - less, costs + more[:, None], rates)[0]
        rooms.append(after - _program(rewards, costs, rates)[0] + less + float(more.sum()) / rates.min())
    broken = sum(room < -SMALL for room in rooms)
    return exactly(broken, broken == 0, f"The least room is {min(rooms):.2g}.")


# ---- 5: the statement of Theorem 1, and a constant in C.1 ----

ROUNDS, ARMS, RATE = 10**6, 10, 0.25


def _proof(v: float) -> tuple[float, float]:
    """What the proof adds up, and what the statement leaves of it, for V1 = V2 = v, d = 1 and W = 0."""
    log, root = math.log(12.0 * ARMS * ROUNDS**3), math.sqrt(ROUNDS)
    window = SlidingKnapsackUCB.paper(ROUNDS, ARMS, 1, v, v).window
    once = 4.0 * root * log + 14.0 * math.cbrt(ARMS * v * ROUNDS**2 * log)
    missing = 8.0 * math.sqrt(2.0 * ARMS * ROUNDS * log)
    both = (once + missing + 1.0 + window * v) / RATE + once + missing + window * v
    stated = (once + missing + 1.0 + 2.0 * math.cbrt(ARMS * v * ROUNDS**2 * log)) / RATE + once
    return both, stated + 2.0 * math.cbrt(ARMS * v * ROUNDS**2 * log)


def _theorem1(_: Evidence) -> Finding:
    shares = [stated / added for added, stated in map(_proof, (0.0, 1.0))]
    why = f"{shares[0]:.1%} where nothing drifts, {shares[1]:.1%} for V1 = V2 = 1"
    return exactly(shares[0], min(shares) >= 1.0 - SMALL, f"{why} (T = 10^6, m = 10, b = 0.25).")


def _theorem1_mended(_: Evidence) -> Finding:
    shares = []
    for v in (0.0, 1.0):
        moved = Unrest(v, np.array([v]), 0.0, 0.0)
        shares.append(knapsack_bound(moved, [RATE], horizon=ROUNDS, n_arms=ARMS, price=1.0 / RATE) / _proof(v)[0])
    return exactly(shares[0], min(shares) >= 1.0 - SMALL, f"{shares[0]:.1%} and {shares[1]:.1%} of it.")


def _lemma3_constant() -> float:
    """What the windows make of 8 sqrt(2 L m) T / sqrt(w) + w V, by (m V T^2 L)^(1/3)."""
    log = math.log(12.0 * ARMS * ROUNDS**3)
    window = SlidingKnapsackUCB.paper(ROUNDS, ARMS, 1, 1.0, 1.0).cost_window
    drift = 8.0 * math.sqrt(2.0 * log * ARMS / window) * ROUNDS + window
    return drift / math.cbrt(ARMS * ROUNDS**2 * log)


def _c1(_: Evidence, *, constant: float) -> Finding:
    needed = _lemma3_constant()
    return exactly(needed, needed <= constant, f"Lemma 3 needs 8 sqrt(2) + 1 = {needed:.2f} there.")


# ---- 9: bounds below zero. A may pay 0.9 and cost 0.8, B pays 0.2 and costs -2, then 0 ----


def _mix(cheapest: float) -> tuple[Floats, float]:
    """The mix of A and B, and what it spends in truth."""
    room = new_step_lp(2, 1)
    solve_step(room, np.array([0.9, 0.2]), np.array([[0.8, cheapest]]), np.array([0.25]))
    mix = room.mix[:2].copy()
    return mix, float(mix @ [0.8, max(0.0, cheapest)])


def _spends(_: Evidence, *, cheapest: float) -> Finding:
    mix, spent = _mix(cheapest)
    return exactly(spent, spent <= 0.25 + SMALL, f"A is played with probability {mix[0]:.4f}: {spent:.3f} a round.")


# ---- 12: prices need not be unique. One arm that pays 1 and costs 0.5, with 0.5 a round ----


def _prices(_: Evidence) -> Finding:
    worth = {price: 0.5 * price + max(0.0, 1.0 - 0.5 * price) for price in (0.0, 1.0, 2.0)}
    optimal = [price for price, value in worth.items() if abs(value - 1.0) < SMALL]
    far = max(optimal) - min(optimal)
    return exactly(far, far == 0.0, f"All prices from {min(optimal):.0f} to {max(optimal):.0f} are optimal.")


def _prices_mended(_: Evidence) -> Finding:
    means = Means.of(np.ones((2, 1)), [[[0.5]], [[0.7]]], rows=[0] * 50 + [1] * 50)
    dual, line = prices(means, [50.0]), chain(means, [50.0]).outer
    listed = ", ".join(f"{name} {float(each.max()):.3f}" for name, each in dual._asdict().items())
    highest = max(float(each.max()) for each in dual)
    return exactly(
        highest, highest <= 2.0 + SMALL and line.slack >= -SMALL, f"Told apart: {listed}. Each is at most 1/b = 2."
    )


# ---- 14: C.1 says binding, and means the opposite ----


def _missed(budget: float) -> float:
    """The share of LP(T) that even spending misses in the motivating example with this budget, by T."""
    means = KnapsackExample(kind="motivating", delta=0.5).means(1000, 0)
    best = best_plan(means, [1000 * budget]).value
    return 1.0 - even_plan(means, [1000 * budget]).value / best


def _binding(_: Evidence) -> Finding:
    missed = _missed(0.5)
    return exactly(
        missed, abs(missed) < SMALL, f"In the motivating example they all bind, and {missed:.1%} of LP(T) is missed."
    )


def _not_binding(_: Evidence) -> Finding:
    missed = _missed(1.5)
    return exactly(missed, abs(missed) < SMALL, f"With three times the budget none binds, and {missed:.1%} is missed.")


ERRATA = (
    Erratum(
        "01-proposition-1",
        Form("LP(T) <= T LP(mean) + W1 + q W2: shown is LP(T) by the right-hand side", _proposition1),
        Form("the same, the price of LP(mean) counted in q", _proposition1_mended),
        "The proof needs the price of LP(mean), which q as defined leaves out: here it is 0.",
    ),
    Erratum(
        "02-claim-2",
        Form(
            "mixtures of the rounds have no higher price than the rounds: shown is that of their mean",
            _claim2,
            paper=0.0,
        ),
        Form("what it is used for holds without it: shown is the room that is left", _claim2_mended),
        "Prices of mixtures can be higher: what fits the budget in every round alone need not fit on average.",
    ),
    Erratum(
        "03-claim-1",
        Form(
            "the nearest centre lies in the convex hull of the means: shown is how much farther the hull is",
            _claim1,
            1.0,
        ),
        Form("what it is used for holds without it: shown is LP(T) by its bound", _claim1_mended),
        "With three arms and more it need not.",
    ),
    Erratum(
        "04-perturbation",
        Form("LP(mu - delta, C + E) >= LP(mu, C) - delta - q |E| with q the price of LP(mu, C)", _perturbed, paper=1.0),
        Form(
            "the same with 1/b for q: shown is how many of 500 random programs break it", _perturbed_mended, paper=0.0
        ),
        "The price that counts is that of the perturbed program. Theorem 1 ends with 1/b; Theorem 4's q has no proof.",
    ),
    Erratum(
        "05-theorem-1",
        Form("the statement is what its proof adds up to: shown is its share of it", _theorem1, paper=1.0),
        Form("the bound used here is", _theorem1_mended, paper=1.0),
        "It leaves out 8 sqrt(2 m T ln(12 m T^3)), the reward's part of Lemma 3.",
    ),
    Erratum(
        "05-theorem-1-in-c1",
        Form(
            "C.1: 9 (m V2 T^2 ln(12 m d T^3))^(1/3) covers the drift of Lemma 3", partial(_c1, constant=9.0), paper=9.0
        ),
        Form("14, as elsewhere in the paper, covers it", partial(_c1, constant=14.0), paper=14.0),
        "The constant is too small for the lemma it rests on.",
    ),
    Erratum(
        "09-negative-costs",
        Form(
            "the mix of the program spends no more than b = 0.25 a round", partial(_spends, cheapest=-2.0), paper=0.25
        ),
        Form("bounds cut to [0, 1]: it does", partial(_spends, cheapest=0.0), paper=0.25),
        "A lower bound below zero makes budget out of nothing.",
    ),
    Erratum(
        "12-prices",
        Form("the optimal price is one number: shown is how far optimal ones lie apart", _prices, paper=0.0),
        Form(
            "prices of rounds, of the whole run and of the mean are told apart, and none is above 1/b", _prices_mended
        ),
        "Dual optima need not be unique, so q depends on who solves.",
    ),
    Erratum(
        "14-binding",
        Form("where all constraints bind, sum LP_t = LP(T): shown is the share that is missed", _binding, paper=0.0),
        Form("where none binds", _not_binding, paper=0.0),
        "Meant is non-binding.",
    ),
)
