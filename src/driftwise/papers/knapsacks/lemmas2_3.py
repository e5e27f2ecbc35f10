"""Lemmas 2 and 3: the bounds of Algorithm 1 hold, and what it is paid and spends stays near what its programs say.

A run is played and its bounds are computed anew from its log. Lemma 3 is judged as a whole and by the three terms of
its proof, for rewards and for costs of every resource:

    learning    |sum_s mu_(s, i_s) - UCB_(s, i_s)|      8 sqrt(2 L m) T / sqrt(w) + w V          (1) and (4)
    luck        |sum_s r_s - mu_(s, i_s)|               sqrt(2 T L)                              (2) and (6)
    drawing     |sum_s UCB_s'x_s - UCB_(s, i_s)|        (1 + sqrt(2 L)) sqrt(2 T L)              (3) and (5)

Shown are the largest shares of a bound over all rounds and runs. Each bound is below what the left side could be.
"""

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Ints
from driftwise.core.validation import without_text
from driftwise.families import BudgetRotating, BudgetStationary, SlidingKnapsackUCB
from driftwise.families.knapsack.hindsight.path_length import steps
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.round_lp import new_step_lp, solve_step
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers.knapsacks.algorithm1 import Algorithm1
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_most

WORLDS: dict[str, BudgetWorld] = {
    "stationary": BudgetStationary(n_arms=4),
    "rotating": BudgetRotating(n_arms=4, resources=2),
}
ROUNDS = 4_000
RUNS = {"quick": 10, "full": 40}
SIDES = {"rewards": 0, "costs": 1}
TERMS = ("whole", "learning", "luck", "drawing")


class RunRecord(NamedTuple):
    """What one run chose in each round, was paid, and spent (a column for each resource)."""

    arms: Ints
    rewards: Floats
    costs: Floats


class Confidence(NamedTuple):
    """Upper bounds (round, arm), lower bounds (round, resource, arm), and the mix of every round (round, arm)."""

    upper: Floats
    lower: Floats
    mixes: Floats


# ---- a run, from its log ----


def played_by(policy: SlidingKnapsackUCB, world: BudgetWorld, means: Means, seed: int) -> RunRecord:
    """Play a run, and read from the tape what it was paid and spent; a purchase that failed is left out."""
    horizon = means.horizon
    tape, till = world.draw(horizon, seed)
    problem = world.problem(horizon)
    trace = trace_for(problem, 0, horizon)
    rounds = play(without_text(policy), policy.init(problem), tape, till, key(seed, "coverage"), trace, horizon)
    rounds -= int(till.shut[0])
    arms, rows = trace.actions[:rounds], means.rows[:rounds]
    chances = np.column_stack([means.rewards[rows, arms], *np.swapaxes(means.costs, 0, 1)[:, rows, arms]])
    outcomes = (tape.noise[:rounds] < chances) * (arms >= 0)[:, None].astype(float)
    return RunRecord(arms, outcomes[:, 0], outcomes[:, 1:])


def bounds(policy: SlidingKnapsackUCB, log: RunRecord, means: Means) -> tuple[Floats, Floats]:
    """Upper bounds (round, arm) and lower bounds (round, resource, arm) before each round, from the whole log."""
    picks = (log.arms[:, None] == np.arange(means.n_arms)).astype(float)
    counts1, counts2 = (over(picks, window) for window in (policy.window, policy.cost_window))
    means1 = over(picks * log.rewards[:, None], policy.window) / (counts1 + 1.0)
    means2 = over(picks[:, None, :] * log.costs[:, :, None], policy.cost_window) / (counts2 + 1.0)[:, None, :]
    upper = (means1 + _widths(policy, means, means1, counts1, 1))[:-1]
    lower = (means2 - _widths(policy, means, means2, counts2[:, None, :], means.n_resources))[:-1]
    return (np.minimum(upper, 1.0), np.maximum(lower, 0.0)) if policy.clip else (upper, lower)


def _widths(policy: SlidingKnapsackUCB, means: Means, centres: Floats, counts: Floats, resources: int) -> Floats:
    """The radius of Algorithm 1, or that of Appendix D."""
    if policy.conf == "paper":
        return np.asarray(policy.scale * np.sqrt(2.0 * log_of(means, resources) / (counts + 1.0)))
    gamma = math.log(means.n_arms * resources * means.horizon**2)
    radius = np.sqrt(gamma * np.maximum(centres, 0.0) / (counts + 1.0)) + gamma / (counts + 1.0)
    return np.asarray(2.0 * policy.scale * radius)


def log_of(means: Means, resources: int) -> float:
    """The L of rewards, with 1 for the resources, and of costs."""
    return math.log(12.0 * means.n_arms * resources * means.horizon**3)


def over(values: Floats, window: int) -> Floats:
    """Sums over the last `window` rounds before each round, and after the last."""
    sums = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    starts = np.maximum(np.arange(len(sums)) - window, 0)
    return np.asarray(sums - sums[starts])


def confidence(policy: SlidingKnapsackUCB, log: RunRecord, means: Means, rates: Floats) -> Confidence:
    """The bounds of a run, and the mix that the program of each round makes of them."""
    upper, lower = bounds(policy, log, means)
    room, mixes = new_step_lp(means.n_arms, means.n_resources), np.empty_like(upper)
    for t in range(len(mixes)):
        solve_step(room, upper[t], lower[t], rates)
        mixes[t] = room.mix
    return Confidence(upper, lower, mixes)


# ---- Lemma 2 ----


def rooms(policy: SlidingKnapsackUCB, log: RunRecord, means: Means) -> Floats:
    """How far every bound of a run is on the right side."""
    upper, lower = bounds(policy, log, means)
    rounds, rows = len(log.arms), means.rows[: len(log.arms)]
    moves, many = np.diff(means.rewards[means.rows], axis=0), np.diff(means.costs[means.rows], axis=0)
    slack1 = over(abs(moves).max(axis=1), policy.window)[:rounds]
    slack2 = over(abs(many).max(axis=2), policy.cost_window)[:rounds]
    rewards = upper + slack1[:, None] - means.rewards[rows]
    costs = means.costs[rows] - lower + slack2[:, :, None]
    return np.concatenate([rewards.ravel(), costs.ravel()])


def broken_bounds(world: BudgetWorld, form: Algorithm1, rounds: int, runs: int) -> Finding:
    """How many bounds of some runs fail."""
    every = []
    for seed in range(runs):
        means = world.means(rounds, seed)
        policy = form.tuned(means)
        every.append(rooms(policy, played_by(policy, world, means, seed), means))
    room = np.concatenate(every)
    broken = int((room < 0.0).sum())
    return Finding(broken, why=f"Of {len(room):,} bounds in {runs} runs; the least room is {room.min():.2f}.")


# ---- Lemma 3 ----


@cache
def shares(world: str, seed: int) -> dict[tuple[str, str], float]:
    """The largest share of its bound that each term takes in one run, by side and term."""
    ground = WORLDS[world]
    means, rates = ground.means(ROUNDS, seed), ground.rates(ROUNDS)
    policy = Algorithm1().tuned(means)
    log = played_by(policy, ground, means, seed)
    terms = sums(confidence(policy, log, means, rates), log, means)
    limits = {side: allowed(policy, means, side) for side in SIDES}
    return {
        (side, term): float(max(np.abs(each[term]).max() for each in terms[side]) / limits[side][term])
        for side in SIDES
        for term in TERMS
    }


def sums(bound: Confidence, log: RunRecord, means: Means) -> dict[str, list[dict[str, Floats]]]:
    """The sums of Lemma 3 after every round: of rewards, and of the costs of each resource; the null arm adds 0."""
    rows, took = means.rows[: len(log.arms)], log.arms >= 0
    at = np.arange(len(log.arms)), np.maximum(log.arms, 0)

    def terms(drawn: Floats, table: Floats, limit: Floats) -> dict[str, Floats]:
        mean, chosen, mixed = table[rows][at] * took, limit[at] * took, (limit * bound.mixes).sum(axis=1)
        return {
            "whole": np.cumsum(drawn - mixed),
            "learning": np.cumsum(mean - chosen),
            "luck": np.cumsum(drawn - mean),
            "drawing": np.cumsum(mixed - chosen),
        }

    costs = [terms(log.costs[:, j], means.costs[:, j], bound.lower[:, j]) for j in range(means.n_resources)]
    return {"rewards": [terms(log.rewards, means.rewards, bound.upper)], "costs": costs}


def allowed(policy: SlidingKnapsackUCB, means: Means, side: str) -> dict[str, float]:
    """The right-hand sides."""
    (v1, v2), rounds, arms = steps(means), means.horizon, means.n_arms
    window, variation = (policy.window, v1) if side == "rewards" else (policy.cost_window, float(v2.max()))
    log = log_of(means, 1 if side == "rewards" else means.n_resources)
    learning = 8.0 * math.sqrt(2.0 * log * arms / window) * rounds + window * variation
    return {
        "whole": 4.0 * math.sqrt(rounds) * log + learning,
        "learning": learning,
        "luck": math.sqrt(2.0 * rounds * log),
        "drawing": (1.0 + math.sqrt(2.0 * log)) * math.sqrt(2.0 * rounds * log),
    }


def _most(world: str, side: str, term: str) -> float:
    """The largest share that a run could take at all: every round as far off as bounds and outcomes can be."""
    ground = WORLDS[world]
    means = ground.means(ROUNDS, 0)
    log = log_of(means, 1 if side == "rewards" else means.n_resources)
    each = 1.0 if term == "luck" else 1.0 + math.sqrt(2.0 * log)
    return ROUNDS * each / allowed(Algorithm1().tuned(means), means, side)[term]


# ---- the claims ----


def claims(scale: str) -> Iterator[Claim]:
    """Bounds that hold in every round."""
    runs = RUNS[scale]
    for name, world in WORLDS.items():
        yield Claim(
            f"lemma-2/{name}",
            "the bounds of Algorithm 1 hold for every arm in every round: shown is how often not",
            (),
            partial(_coverage, world=world, runs=runs),
            at_most(0.5),
            paper=0.0,
        )
    for name in WORLDS:
        for side in SIDES:
            for term in TERMS:
                yield Claim(
                    f"lemma-3/{name}/{side}/{term}",
                    _says(side, term),
                    (),
                    partial(_largest, world=name, side=side, term=term, runs=runs),
                    at_most(1.0),
                    paper=1.0,
                    possible=Range(0.0, _most(name, side, term)),
                )


def _says(side: str, term: str) -> str:
    words = {
        "whole": {
            "rewards": "|sum r - UCB'x| is at most 4 sqrt(T) L + 8 sqrt(2 L m) T / sqrt(w1) + w1 V1",
            "costs": "|sum c - LCB'x| is at most 4 sqrt(T) L + 8 sqrt(2 L m) T / sqrt(w2) + w2 V2 for every resource",
        },
        "learning": {
            "rewards": "its term (1): means against bounds, 8 sqrt(2 L m) T / sqrt(w1) + w1 V1",
            "costs": "its term (4): means against bounds, 8 sqrt(2 L m) T / sqrt(w2) + w2 V2",
        },
        "luck": {"rewards": "its term (2): luck, sqrt(2 T L)", "costs": "its term (6): luck, sqrt(2 T L)"},
        "drawing": {
            "rewards": "its term (3): arms drawn from x, (1 + sqrt(2 L)) sqrt(2 T L)",
            "costs": "its term (5): arms drawn from x, (1 + sqrt(2 L)) sqrt(2 T L)",
        },
    }
    return f"{words[term][side]}: shown is the largest share of it"


def _coverage(_: Evidence, *, world: BudgetWorld, runs: int) -> Finding:
    return broken_bounds(world, Algorithm1(), ROUNDS, 2 * runs)


def _largest(_: Evidence, *, world: str, side: str, term: str, runs: int) -> Finding:
    every = [shares(world, seed)[side, term] for seed in range(runs)]
    return Finding(max(every), why=f"At most {max(every):.1%} in {runs} runs of {ROUNDS:,} rounds.")
