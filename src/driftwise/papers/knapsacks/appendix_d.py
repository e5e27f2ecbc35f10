"""Appendix D: Lemmas 6 to 10 and Theorem 4, the variant whose radius follows the mean.

Its statements hide their constants. Judged is what they leave: that a quantity, divided by the printed expression with
1 for every constant, does not grow with T. Uniform play, whose regret grows as T, fails that. In the rotating worlds
even spending loses nothing, so the terms W1 + q W2 are left out of the expression, which makes it harder to keep.

Lemma 6 needs no runs: for a coin, the chance that its inequalities fail is a sum of binomial probabilities.
"""

import math
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.core.seeding import key
from driftwise.core.types import Floats
from driftwise.families import BudgetRotating, BudgetStationary, Uniform
from driftwise.families.knapsack.hindsight.path_length import steps
from driftwise.families.knapsack.hindsight.resource_prices import even_plan
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers import only_world
from driftwise.papers.knapsacks.algorithm1 import Algorithm1
from driftwise.papers.knapsacks.lemmas2_3 import broken_bounds, confidence, played_by, sums
from driftwise.papers.knapsacks.power_law import LAST, PowerLaw, column, margin, played
from driftwise.papers.knapsacks.series import Ground, Maker, Series
from driftwise.study.claims import Claim, Evidence, Finding, at_least, at_most

PRINTED = Algorithm1(conf="appendix", shrink=1)
PLAYERS: dict[str, Policy] = {"appendix": PRINTED, "cut": PRINTED._replace(clip=1), "uniform": Uniform()}
READINGS = {"appendix": "literal", "cut": "bounds cut to [0, 1]"}
WORLDS: dict[str, BudgetWorld] = {
    "stationary": BudgetStationary(n_arms=4, resources=1),
    "rotating": BudgetRotating(n_arms=4, resources=1, phases=3),
}
HORIZONS = (1_000, 4_000, 16_000)  # of Lemmas 7 to 10
RUNS = {"quick": 6, "full": 24}
GAMMAS = (1.0, 2.0, 4.0, 8.0, 16.0)
COINS = (0.001, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99)
SAMPLES = (10, 100, 1_000, 10_000)


# ---- Lemma 6 ----


def chance_of_failure(coin: float, samples: int, gamma: float) -> float:
    """The probability that |mean - coin| <= rad(mean) <= 3 rad(coin) does not hold for so many tosses."""
    from scipy import stats  # slow to import

    heads = np.arange(samples + 1)
    mean, chance = heads / samples, stats.binom.pmf(heads, samples, coin)
    rad = np.sqrt(gamma * mean / samples) + gamma / samples
    most = 3.0 * (math.sqrt(gamma * coin / samples) + gamma / samples)
    return float(chance[(np.abs(mean - coin) > rad) | (rad > most)].sum())


def _decay(_: Evidence) -> Finding:
    """The slowest over all coins, numbers of tosses and gammas."""
    rates = {
        (coin, samples, gamma): -math.log(max(chance_of_failure(coin, samples, gamma), 1e-300)) / gamma
        for coin in COINS
        for samples in SAMPLES
        for gamma in GAMMAS
    }
    slowest = min(rates, key=lambda each: rates[each])
    coin, samples, gamma = slowest
    return Finding(rates[slowest], why=f"Slowest for a coin of {coin:g}, {samples:,} tosses and gamma = {gamma:g}.")


# ---- Lemmas 7 to 10 ----


@cache
def strays(world: str, horizon: int, seed: int) -> tuple[float, float]:
    """|sum r - UCB'x| and the largest |sum c - LCB'x| of one run, by the printed expressions."""
    ground = WORLDS[world]
    means, rates = ground.means(horizon, seed), ground.rates(horizon)
    policy = PRINTED.tuned(means)
    share = float(policy.init(ground.problem(horizon)).share[0])
    log = played_by(policy, ground, means, seed)
    sides = sums(confidence(policy, log, means, share * rates), log, means)
    earned, budget = float(log.rewards.sum()), float(rates.min()) * horizon
    logs = [math.log(means.n_arms * many * horizon**2) for many in (1, means.n_resources)]
    v1, v2 = steps(means)
    ends = [max(abs(float(terms["whole"][-1])) for terms in sides[side]) for side in ("rewards", "costs")]
    windows, variations, totals = (policy.window, policy.cost_window), (v1, float(v2.max())), (earned, budget)
    drifts = world != "stationary"
    one, other = (
        end / (_moving(each, means.n_arms, total, horizon, window, v) if drifts else _fixed(each, means.n_arms, total))
        for end, each, total, window, v in zip(ends, logs, totals, windows, variations, strict=True)
    )
    return one, other


def _moving(log: float, arms: int, total: float, horizon: int, window: int, variation: float) -> float:
    """What Lemmas 7 and 8 print, for `total` rewards or budget."""
    return math.sqrt(log * total) + math.sqrt(log * arms / window) * horizon + window * variation + log


def _fixed(log: float, arms: int, total: float) -> float:
    """What Lemmas 9 and 10 print."""
    return math.sqrt(log * arms * total) + arms * log


def _stray(_: Evidence, *, world: str, side: int, runs: int) -> Finding:
    values = np.array([[strays(world, horizon, seed)[side] for horizon in HORIZONS] for seed in range(runs)])
    finding = PowerLaw(np.array(HORIZONS, float), values).finding()
    listed = ", ".join(f"{share:.2f}" for share in values.mean(axis=0))
    return finding._replace(why=f"{listed} of the expression at T = {', '.join(f'{each:,}' for each in HORIZONS)}.")


# ---- Theorem 4 ----


def _ground(point: float, *, world: str) -> Ground:
    return Ground(WORLDS[world], int(point))


SERIES = {
    world: Series(f"theorem-4/{world}", "T", 0.0, "0", partial(_ground, world=world), PLAYERS, "T/appendix-d", LAST)
    for world in WORLDS
}


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """Theorem 4 at growing T."""
    for series in SERIES.values():
        yield from series.studies(scale, runs)


def expression(world: BudgetWorld, horizon: int, seed: int, best: float) -> float:
    """The bound of Theorem 4 with 1 for every constant and without W1 + q W2; V and q do not depend on the horizon."""
    means, rates = world.means(1_000, seed), world.rates(1_000)
    (v1, v2), arms, d = steps(means), means.n_arms, means.n_resources
    price, budget = float(even_plan(means, rates * 1_000).prices.max()), float(rates.min()) * horizon
    log, rewards_log = math.log(arms * d * horizon**2), math.log(arms * horizon**2)
    still = (math.sqrt(arms / budget) * best + math.sqrt(arms * best) + arms * math.sqrt(log)) * math.sqrt(log)
    drift = math.cbrt(arms * v1 * horizon**2 * rewards_log)
    return still + drift + price * d * math.cbrt(arms * float(v2.max()) * horizon**2 * log)


def _shares(evidence: Evidence, name: str, policy: str) -> Floats:
    """Regret by the expression, in every run."""
    study = evidence.studies[name]
    world = only_world(study, BudgetRotating, BudgetStationary)
    bests = column(evidence, name, policy, "benchmark")
    seeds = [int(key(study.seed, run, "world")) for run in range(study.runs)]
    limits = [expression(world, study.horizon, seed, best) for seed, best in zip(seeds, bests, strict=True)]
    return np.asarray(column(evidence, name, policy) / np.array(limits))


def _regret(evidence: Evidence, *, world: str, policy: str) -> Finding:
    names = played(evidence, SERIES[world].name)
    values = np.stack([_shares(evidence, name, policy) for name in names.values()], axis=1)
    finding = PowerLaw(np.array(list(names)), values).last(LAST).finding()
    listed = ", ".join(f"{share:.2f}" for share in values.mean(axis=0))
    return finding._replace(why=f"{listed} of the expression at T = {', '.join(f'{each:,.0f}' for each in names)}.")


# ---- the claims ----

LEMMAS = {
    "lemma-7": ("rotating", 0),
    "lemma-8": ("rotating", 1),
    "lemma-9": ("stationary", 0),
    "lemma-10": ("stationary", 1),
}


def claims(scale: str) -> Iterator[Claim]:
    """All of the appendix."""
    yield Claim(
        "lemma-6/decay",
        "|mean - z| <= rad(mean) <= 3 rad(z) fails with a probability of at most exp(-c gamma): shown is the least c; "
        "1/2 is what a normal tail has",
        (),
        _decay,
        at_least(0.5),
    )
    runs = RUNS[scale]
    for name, world in WORLDS.items():
        yield Claim(
            f"lemma-6/coverage/{name}",
            "the bounds with radius 2 rad hold for every arm in every round: shown is how often not",
            (),
            partial(_coverage, world=world, runs=2 * runs),
            at_most(0.5),
            paper=0.0,
        )
    for lemma, (name, side) in LEMMAS.items():
        what = ("|sum r - UCB'x|", "|sum c - LCB'x|")[side]
        yield Claim(
            f"{lemma}/{name}",
            f"{what} is of the order of the printed expression: shown is the power of T by which it leaves it",
            (),
            partial(_stray, world=name, side=side, runs=runs),
            at_most(margin(HORIZONS)),
            paper=0.0,
        )
    for name, series in SERIES.items():
        for policy in PLAYERS:
            blind = policy == "uniform"
            yield Claim(
                f"theorem-4/{name}/{policy}",
                "the regret of uniform play leaves the expression of Theorem 4 behind: shown is by which power of T"
                if blind
                else "regret is of the order of the expression of Theorem 4 without W: shown is the power of T by "
                "which it leaves it",
                series.names(scale),
                partial(_regret, world=name, policy=policy),
                at_least(0.2) if blind else at_most(series.margin(scale)),
                paper=None if blind else 0.0,
                statement=None if blind else f"theorem-4/{name}",
                reading=READINGS.get(policy, "uniform play"),
                about="" if blind else policy,
            )


def _coverage(_: Evidence, *, world: BudgetWorld, runs: int) -> Finding:
    return broken_bounds(world, PRINTED, 4_000, runs)
