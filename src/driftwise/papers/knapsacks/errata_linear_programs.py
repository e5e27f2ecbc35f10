"""Errata of Proposition 1, Theorem 1 and Appendices B and C, and remarks on their linear programs."""

import math
from functools import partial

import numpy as np

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
from driftwise.papers.knapsacks.errata import Erratum, Form, remark
from driftwise.study.claims import Evidence, Finding, around, at_least, at_most

SMALL = 1e-6


# ---- Proposition 1. Two arms that both pay 1, and cost (0.4, 1) in one half, (1, 0.4) in the other ----

SWAPPED = Means.of(np.ones((2, 2)), [[[0.4, 1.0]], [[1.0, 0.4]]], rows=[0] * 50 + [1] * 50)


def _middle(_: Evidence, *, line: str) -> Finding:
    left, right = getattr(chain(SWAPPED, [50.0]), line)
    return Finding(left / right, why=f"LP(T) = {left:.0f}, and the bound {right:.2f}.")


# ---- Claim 2. One arm that pays 1 and costs 0.4, then pays 0 and costs 1 ----

FADING = Means.of([[1.0], [0.0]], [[[0.4]], [[1.0]]])


def _claim2(_: Evidence) -> Finding:
    dual = prices(FADING, [1.0])
    rounds, mean = float(dual.rounds.max()), float(dual.mean.max())
    return Finding(mean - rounds, why=f"The mean of both rounds has the price {mean:.3f}, the rounds {rounds:.0f}.")


def _without_claim2(_: Evidence) -> Finding:
    lines = [chain(*each).any_centre for each in ((FADING, [1.0]), (SWAPPED, [50.0]))]
    return Finding(max(line.left / line.right for line in lines))


# ---- Claim 1. Three arms that take turns ----

TURNS = Means.of(np.eye(3), np.ones((3, 1, 3)))


def _claim1(_: Evidence) -> Finding:
    least, inside = nearest_centres(TURNS).rewards.value, _least_in_hull(TURNS.rewards)
    why = f"From (1/2, 1/2, 1/2) they stray {least:.1f} in all, from the nearest of their mixtures {inside:.1f}."
    return Finding(inside / least, why=why)


def _least_in_hull(points: Floats) -> float:
    """The least sum of largest distances from a mixture of the points: one distance a point, one weight a point."""
    from scipy.optimize import linprog  # slow to import

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


def _without_claim1(_: Evidence) -> Finding:
    line = chain(TURNS, [1.5]).any_centre
    return Finding(line.left / line.right)


# ---- the proof of Theorem 1 perturbs a program, and takes its price from before ----


def _program(rewards: Floats, costs: Floats, rates: Floats) -> tuple[float, float]:
    """What a single round earns, and its highest price."""
    even = even_plan(Means.of(rewards[None], costs[None]), rates)
    return even.value, float(even.prices.max())


def _perturbed(_: Evidence) -> Finding:
    before, price = _program(np.ones(1), np.array([[0.4]]), np.array([0.5]))
    after, _price = _program(np.ones(1), np.array([[0.6]]), np.array([0.5]))
    why = f"b = 0.5, cost 0.4 made 0.6: LP falls from {before:.0f} to {after:.3f}, though its price was {price:.0f}."
    return Finding(before - 0.2 * price - after, why=why)


def _perturbed_by_rate(_: Evidence) -> Finding:
    rooms = []
    for number in range(500):
        draws = generator(number, "perturbed")
        arms, resources = draws.integers(1, 6), draws.integers(1, 4)
        rewards, costs, rates = draws.random(arms), draws.random((resources, arms)), draws.uniform(0.1, 0.9, resources)
        less, more = draws.uniform(0.0, 0.3), draws.uniform(0.0, 0.3, resources)
        after = _program(rewards - less, costs + more[:, None], rates)[0]
        rooms.append(after - _program(rewards, costs, rates)[0] + less + float(more.sum()) / rates.min())
    return Finding(-min(rooms))


# ---- the statement of Theorem 1, and a constant in C.1 ----

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


def _stated(_: Evidence) -> Finding:
    shares = [stated / added for added, stated in map(_proof, (0.0, 1.0))]
    why = f"{shares[0]:.1%} where nothing drifts, {shares[1]:.1%} for V1 = V2 = 1 (T = 10^6, m = 10, b = 0.25)."
    return Finding(min(shares), why=why)


def _used(_: Evidence) -> Finding:
    shares = []
    for v in (0.0, 1.0):
        moved = Unrest(v, np.array([v]), 0.0, 0.0)
        shares.append(knapsack_bound(moved, [RATE], horizon=ROUNDS, n_arms=ARMS, price=1.0 / RATE) / _proof(v)[0])
    return Finding(min(shares), why=f"{shares[0]:.1%} and {shares[1]:.1%} of it.")


def _lemma3_constant(_: Evidence) -> Finding:
    """What the windows make of 8 sqrt(2 L m) T / sqrt(w) + w V, by (m V T^2 L)^(1/3)."""
    log = math.log(12.0 * ARMS * ROUNDS**3)
    window = SlidingKnapsackUCB.paper(ROUNDS, ARMS, 1, 1.0, 1.0).cost_window
    drift = 8.0 * math.sqrt(2.0 * log * ARMS / window) * ROUNDS + window
    return Finding(drift / math.cbrt(ARMS * ROUNDS**2 * log), why="8 sqrt(2) + 1.")


# ---- bounds below zero. A may pay 0.9 and cost 0.8, B pays 0.2 and costs -2, then 0 ----


def _mix(cheapest: float) -> tuple[Floats, float]:
    """The mix of A and B, and what it spends in truth."""
    room = new_step_lp(2, 1)
    solve_step(room, np.array([0.9, 0.2]), np.array([[0.8, cheapest]]), np.array([0.25]))
    mix = room.mix[:2].copy()
    return mix, float(mix @ [0.8, max(0.0, cheapest)])


def _spends(_: Evidence, *, cheapest: float) -> Finding:
    mix, cost = _mix(cheapest)
    return Finding(cost, why=f"A is played with probability {mix[0]:.4f}.")


# ---- prices need not be unique. One arm that pays 1 and costs 0.5, with 0.5 a round ----


def _prices(_: Evidence) -> Finding:
    """What a little more of the resource earns, and what a little less would cost: prices from one to the other."""
    less, exact, more = (_program(np.ones(1), np.array([[0.5]]), np.array([rate]))[0] for rate in (0.499, 0.5, 0.501))
    low, high = (more - exact) / 0.001, (exact - less) / 0.001
    return Finding(high - low, why=f"All prices from {low:.0f} to {high:.0f} are optimal.")


# ---- C.1 says binding, and means the opposite ----


def _missed(budget: float) -> float:
    """The share of LP(T) that even spending misses in the motivating example with this budget, by T."""
    means = KnapsackExample(kind="motivating", delta=0.5).means(1000, 0)
    best = best_plan(means, [1000 * budget]).value
    return 1.0 - even_plan(means, [1000 * budget]).value / best


def _even(_: Evidence, *, budget: float) -> Finding:
    return Finding(_missed(budget), why=f"The motivating example with a budget of {budget:g} T.")


ERRATA = (
    Erratum(
        "proposition-1",
        Form(
            "LP(T) <= T LP(mean) + W1 + q W2: shown is LP(T) by the right-hand side",
            partial(_middle, line="printed_middle"),
            at_most(1.0 + SMALL),
            paper=1.0,
        ),
        Form(
            "the same, the price of LP(mean) counted in q",
            partial(_middle, line="by_mean"),
            at_most(1.0 + SMALL),
            paper=1.0,
        ),
        statement="proposition-1/middle",
    ),
    Erratum(
        "claim-1",
        Form(
            "the nearest centre lies in the convex hull of the means: shown is how much farther the hull is",
            _claim1,
            at_most(1.0 + SMALL),
            paper=1.0,
        ),
        Form("Proposition 3 holds without it: shown is LP(T) by its bound", _without_claim1, at_most(1.0 + SMALL)),
    ),
    Erratum(
        "claim-2",
        Form(
            "mixtures of the rounds have no higher price than the rounds: shown is by how much that of their mean is",
            _claim2,
            at_most(SMALL),
            paper=0.0,
        ),
        Form("Proposition 3 holds without it: shown is LP(T) by its bound", _without_claim2, at_most(1.0 + SMALL)),
    ),
    Erratum(
        "theorem-1-proof",
        Form(
            "LP(mu - delta, C + E) >= LP(mu, C) - delta - q |E| with q the price of LP(mu, C): shown is what is short",
            _perturbed,
            at_most(SMALL),
            paper=0.0,
        ),
        Form(
            "the same with 1/b for q: shown is the most that is missing in 500 random programs",
            _perturbed_by_rate,
            at_most(SMALL),
            paper=0.0,
        ),
    ),
    Erratum(
        "theorem-1-statement",
        Form(
            "the statement is what its proof adds up to: shown is its share of it", _stated, at_least(1.0 - SMALL), 1.0
        ),
        Form("the bound of driftwise is: shown is its share of it", _used, at_least(1.0 - SMALL), 1.0),
    ),
    Erratum(
        "appendix-c1-constant",
        Form(
            "9 (m V2 T^2 ln(12 m d T^3))^(1/3) covers the drift of Lemma 3: shown is the factor that is needed",
            _lemma3_constant,
            at_most(9.0),
            paper=9.0,
        ),
        Form("14, as elsewhere in the paper, covers it", _lemma3_constant, at_most(14.0), paper=14.0),
    ),
    Erratum(
        "appendix-c1-binding",
        Form(
            "where all constraints bind, sum LP_t = LP(T): shown is the share that is missed",
            partial(_even, budget=0.5),
            at_most(SMALL),
            paper=0.0,
        ),
        Form("where none binds", partial(_even, budget=1.5), at_most(SMALL), paper=0.0),
    ),
)
REMARKS = (
    remark(
        "negative-costs",
        Form(
            "a lower bound below zero makes budget out of nothing: shown is what a mix spends where b = 0.25",
            partial(_spends, cheapest=-2.0),
            at_least(0.25 + SMALL),
        ),
    ),
    remark(
        "negative-costs-cut",
        Form("with bounds cut to [0, 1] it spends b", partial(_spends, cheapest=0.0), around(0.25, SMALL)),
    ),
    remark(
        "prices",
        Form(
            "optimal prices need not be unique, so q depends on who solves: shown is how far they lie apart",
            _prices,
            at_least(0.1),
        ),
    ),
)
