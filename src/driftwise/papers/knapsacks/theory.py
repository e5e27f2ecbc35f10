"""Lemma 2 and Theorem 1, compared with runs."""

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Ints
from driftwise.families import BudgetStationary, KnapsackExample, SlidingKnapsackUCB
from driftwise.families.knapsack.hindsight.path_length import Unrest, unrest
from driftwise.families.knapsack.hindsight.regret_bound import knapsack_bound
from driftwise.families.knapsack.hindsight.resource_prices import even_plan, mean_program
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers import only_world
from driftwise.papers.knapsacks.carousel import Carousel
from driftwise.papers.knapsacks.forms import tuned
from driftwise.papers.knapsacks.powers import column
from driftwise.papers.knapsacks.slopes import SERIES, names, played
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.study import Study

COVERED = {"stationary": BudgetStationary(n_arms=4), "rotating": Carousel(n_arms=4, resources=2)}
ROUNDS, RUNS = 4_000, 20
STILL = Unrest(0.0, np.zeros(1), 0.0, 0.0)
MOVING = Unrest(1.0, np.ones(1), 0.0, 0.0)
LARGE = "Its constants and logarithms are large: it tells how regret grows, not how large it is."


def claims(scale: str) -> Iterator[Claim]:
    """Bounds that hold."""
    for name, world in COVERED.items():
        yield Claim(
            f"coverage/lemma2/{name}",
            f"the bounds of Algorithm 1 hold for every arm in every round: shown is how often not, in {RUNS} runs",
            (),
            partial(_judge_coverage, world=world),
            paper=0.0,
        )
    for series in SERIES:
        studies = tuple(name for several in names(series, scale) for name in several)
        yield Claim(
            f"bound/theorem1/{series}",
            "no run of Algorithm 1 loses more than Theorem 1 allows: shown is the largest share of the bound",
            studies,
            partial(_judge_bound, series=series),
        )
    for name, moved in (("stationary", STILL), ("v=1", MOVING)):
        yield Claim(
            f"bound/speaks/{name}",
            "at T = 10^6 the bound says something, being below T: shown is from which T on (m = 10, b = 0.25, W = 0)",
            (),
            partial(_judge_speaks, moved=moved),
            known=LARGE,
        )


# ---- Lemma 2 ----


class RunRecord(NamedTuple):
    """What one run chose in each round, was paid, and spent (a column for each resource)."""

    arms: Ints
    rewards: Floats
    costs: Floats


def _judge_coverage(_: Evidence, *, world: BudgetWorld) -> Finding:
    """Not once."""
    rooms = np.concatenate([_rooms(world, seed) for seed in range(RUNS)])
    broken = int((rooms < 0.0).sum())
    return Finding(broken, math.nan, broken == 0, f"Of {len(rooms):,} bounds; the least room is {rooms.min():.2f}.")


def _rooms(world: BudgetWorld, seed: int) -> Floats:
    """How far every bound of a run is on the right side."""
    means = world.means(ROUNDS, seed)
    policy = tuned(world, ROUNDS, seed)["paper"]
    log = played_by(policy, world, means, seed)
    upper, lower = bounds(policy, log, means)
    rounds, rows = len(log.arms), means.rows[: len(log.arms)]
    moves, many = np.diff(means.rewards[means.rows], axis=0), np.diff(means.costs[means.rows], axis=0)
    slack1 = _over(abs(moves).max(axis=1), policy.window)[:rounds]
    slack2 = _over(abs(many).max(axis=2), policy.cost_window)[:rounds]
    rewards = upper + slack1[:, None] - means.rewards[rows]
    costs = means.costs[rows] - lower + slack2[:, :, None]
    return np.concatenate([rewards.ravel(), costs.ravel()])


def played_by(policy: SlidingKnapsackUCB, world: BudgetWorld, means: Means, seed: int) -> RunRecord:
    """Play a run, and read from the tape what it was paid and spent; a purchase that failed is left out."""
    tape, till = world.draw(ROUNDS, seed)
    problem = world.problem(ROUNDS)
    trace = trace_for(problem, 0, ROUNDS)
    rounds = play(policy, policy.init(problem), tape, till, key(seed, "coverage"), trace, ROUNDS)
    rounds -= int(till.shut[0])
    arms, rows = trace.actions[:rounds], means.rows[:rounds]
    chances = np.column_stack([means.rewards[rows, arms], *np.swapaxes(means.costs, 0, 1)[:, rows, arms]])
    outcomes = (tape.noise[:rounds] < chances) * (arms >= 0)[:, None].astype(float)
    return RunRecord(arms, outcomes[:, 0], outcomes[:, 1:])


def bounds(policy: SlidingKnapsackUCB, log: RunRecord, means: Means) -> tuple[Floats, Floats]:
    """Upper bounds (round, arm) and lower bounds (round, resource, arm) before each round, from the whole log."""
    horizon, arms, resources = means.horizon, means.n_arms, means.n_resources
    chosen = (log.arms[:, None] == np.arange(arms)).astype(float)
    counts1, counts2 = (_over(chosen, window) for window in (policy.window, policy.cost_window))
    radius1 = np.sqrt(2.0 * math.log(12.0 * arms * horizon**3) / (counts1 + 1.0))
    radius2 = np.sqrt(2.0 * math.log(12.0 * arms * resources * horizon**3) / (counts2 + 1.0))
    upper = _over(chosen * log.rewards[:, None], policy.window) / (counts1 + 1.0) + radius1
    spent = [_over(chosen * log.costs[:, [j]], policy.cost_window) / (counts2 + 1.0) for j in range(resources)]
    return upper[:-1], np.stack([each - radius2 for each in spent], axis=1)[:-1]


def _over(values: Floats, window: int) -> Floats:
    """Sums over the last `window` rounds before each round, and after the last."""
    sums = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    starts = np.maximum(np.arange(len(sums)) - window, 0)
    return np.asarray(sums - sums[starts])


# ---- Theorem 1 ----


def _judge_bound(evidence: Evidence, *, series: str) -> Finding:
    shares, runs = {}, 0
    for name in (name for several in played(evidence, series).values() for name in several):
        study = evidence.studies[name]
        regrets = column(evidence, name, "paper")
        shares[name] = max(regret / allowed(study, run) for run, regret in enumerate(regrets))
        runs += len(regrets)
    worst = max(shares, key=lambda name: shares[name])
    why = f"At most {shares[worst]:.2%} of it in {runs} runs."
    return Finding(shares[worst], math.nan, shares[worst] <= 1.0, why)


def allowed(study: Study, run: int) -> float:
    """What Theorem 1 allows a run of a study, with the highest price that a round or LP(mean) has."""
    world, horizon = only_world(study, BudgetStationary, Carousel, KnapsackExample), study.horizon
    means = world.means(horizon, int(key(study.seed, run, "world")))
    rates = world.rates(horizon)
    price = max(
        float(even_plan(means, rates * horizon).prices.max()), float(mean_program(means, rates * horizon)[1].max())
    )
    return knapsack_bound(unrest(means), rates, horizon=horizon, n_arms=means.n_arms, price=price)


def _judge_speaks(_: Evidence, *, moved: Unrest) -> Finding:
    """By T = 10^6, about the largest that is played."""
    low, high = 1.0, 15.0
    for _halving in range(60):
        middle = (low + high) / 2.0
        rounds = round(10.0**middle)
        below = knapsack_bound(moved, [0.25], horizon=rounds, n_arms=10, price=4.0) < rounds
        low, high = (low, middle) if below else (middle, high)
    first = 10.0**high
    return Finding(first, math.nan, first <= 1.1e6, f"From T = {first:.1e} on.")
