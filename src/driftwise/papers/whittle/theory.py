"""Lemma 1, regret (17), Theorem 1: what the paper proves, compared with the transitions of our runs.

    Lemma 1      Pr( all transitions in their balls, in all episodes ) >= 1 - eta1 - eta2
    (17)         sum over arms of U(P, lambda*) - what was earned,  lambda* minimising sum over arms of U(P, lambda)
    Theorem 1    (18), with the constants of its proof:

        V_max [ sum over arms of  sqrt(2 S ln(2 |Z1| N T / eta1)) (sqrt(H + 1) + 1) sqrt(|Z1| T H)  +  T H w eps ]

The second term is that of pairs that drift, without g: g adds to it, so the bound is at least this. Where even this
exceeds all that can be lost, the theorem says nothing.

(17) as printed is no regret: U falls with lambda, so that lambda* is a charge at which nobody is activated, and whoever
activates anybody "loses" less than nothing. With the charges given back, + lambda M sum gamma^h, it is the bound of
`families/restless/whittle/lagrangian.py`.
"""

import math
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from driftwise.core.seeding import key
from driftwise.core.types import Floats
from driftwise.families import SlidingWhittle
from driftwise.families.restless.structure import DRIFTING, STATIONARY
from driftwise.families.restless.transitions.coverage import coverage
from driftwise.families.restless.whittle.lagrangian import lagrangian_bound, relaxed_values
from driftwise.papers.whittle.readings import EPISODES, EPSILON, calibrated
from driftwise.papers.whittle.studies import SLOTS, WORLDS, table, table_baselines
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least, at_most
from driftwise.study.findings import mean_of, ratio_of

CELL = (10, 4)
ETA = 0.1  # both of them
COVERED_RUNS = {"quick": 12, "full": 40}
BOUNDED_RUNS = {"quick": 8, "full": 20}
PROHIBITIVE = 1e9  # a charge at which nobody is activated
HALF_A_PERCENT = 0.005


def theory(scale: str) -> Iterator[Claim]:
    """Every claim of section 5 but Theorem 2."""
    for world in WORLDS:
        yield from _lemma1(world, COVERED_RUNS[scale])
        yield from _eq17(world, BOUNDED_RUNS[scale])
        yield _theorem1(world)


# ---- Lemma 1 ----


def balls() -> dict[str, SlidingWhittle]:
    """The radii whose balls are looked at: as in the experiments, with the drift that (8) measures, and calibrated."""
    literal = SlidingWhittle.algorithm1(EPISODES, EPSILON)
    return {"literal": literal, "epsilon 0.1": literal._replace(epsilon=2 * EPSILON), "calibrated": calibrated()}


def _lemma1(world: str, runs: int) -> Iterator[Claim]:
    for reading in balls():
        yield Claim(
            id=f"lemma1/world={world}" + ("" if reading == "literal" else f"/{reading}"),
            says="with probability 1 - eta1 - eta2 = 0.8 all transitions are in their balls, in all episodes",
            studies=(),
            measure=partial(_covered, world=world, reading=reading, runs=runs),
            agrees=at_least(1.0 - 2.0 * ETA),
            paper=1.0 - 2.0 * ETA,
            possible=Range(0.0, 1.0),
            statement=None if reading == "calibrated" else f"lemma1/world={world}",
            reading=reading,
        )


def _covered(evidence: Evidence, *, world: str, reading: str, runs: int) -> Finding:
    """The share of runs, with the error of a share that is never quite 0 or 1."""
    everywhere, inside = covered_runs(world, reading, runs)
    share = float(np.mean(everywhere))
    careful = (sum(everywhere) + 1.0) / (runs + 2.0)
    why = f"In {sum(everywhere)} of {runs} runs; of single pairs {inside:.1%} were inside."
    return Finding(share, math.sqrt(careful * (1.0 - careful) / runs), why, runs=runs)


@cache
def covered_runs(world: str, reading: str, runs: int) -> tuple[tuple[bool, ...], float]:
    """Of every run whether all pairs were inside in all episodes; and the share of pairs that were."""
    arms = WORLDS[world](n_arms=CELL[0], activate=CELL[1])
    found = [coverage(balls()[reading], arms, EPISODES * SLOTS, seed) for seed in range(runs)]
    return tuple(each.everywhere for each in found), float(np.mean([np.nanmean(each.inside) for each in found]))


# ---- regret (17) ----


def _eq17(world: str, runs: int) -> Iterator[Claim]:
    study, where = table_baselines(world, CELL), f"eq17/world={world}"
    yield Claim(
        id=where,
        says="no policy earns more than what regret (17) is measured from, lambda* minimising the sum of U",
        studies=(study,),
        measure=partial(_from_printed, world=world, study=study, runs=runs),
        agrees=at_least(1.0),
        statement=where,
    )
    yield Claim(
        id=f"{where}/charges given back",
        says="nor, with lambda M sum gamma^h added, does the index policy that knows all transitions",
        studies=(study,),
        measure=partial(_from_bound, world=world, study=study, runs=runs),
        agrees=at_least(1.0),
        statement=where,
        reading="charges given back",
    )
    yield Claim(
        id=f"{where}/gap",
        says="with the charges given back, the index policy that knows all transitions has next to no regret (17)",
        studies=(study,),
        measure=partial(_gap, world=world, study=study, runs=runs),
        agrees=at_most(HALF_A_PERCENT),
        statement=None,
    )


@cache
def _comparators(world: str, runs: int) -> tuple[Floats, Floats]:
    """Of every run: what (17) is measured from as printed, and with the charges given back."""
    arms, horizon = WORLDS[world](n_arms=CELL[0], activate=CELL[1]), EPISODES * SLOTS
    seeds = [int(key(0, run, "world")) for run in range(runs)]
    as_printed = [relaxed_values(arms, horizon, seed, PROHIBITIVE).sum() for seed in seeds]
    return np.array(as_printed), np.array([lagrangian_bound(arms, horizon, seed).values.sum() for seed in seeds])


def _from_printed(evidence: Evidence, *, world: str, study: str, runs: int) -> Finding:
    earned = evidence.rewards(study, "Random")[:runs]
    compared = _comparators(world, len(earned))[0]
    why = f"At lambda* nobody is activated: {compared.mean():,.0f}, and choosing at random earns {earned.mean():,.0f}."
    return ratio_of(compared, earned, why)


def _oracle(evidence: Evidence, study: str, runs: int) -> Floats:
    """What the index policy that knows all transitions earned in the runs of a study."""
    return (evidence.rewards(study, "Random") + evidence.regrets(study, "Random"))[:runs]


def _from_bound(evidence: Evidence, *, world: str, study: str, runs: int) -> Finding:
    earned = _oracle(evidence, study, runs)
    bound = _comparators(world, len(earned))[1]
    return ratio_of(bound, earned, f"The bound is {bound.mean():,.0f}, the index policy earns {earned.mean():,.0f}.")


def _gap(evidence: Evidence, *, world: str, study: str, runs: int) -> Finding:
    earned = _oracle(evidence, study, runs)
    bound = _comparators(world, len(earned))[1]
    why = f"It loses {(bound - earned).mean() / EPISODES:,.1f} an episode, in every episode: regret (17) grows with T."
    return mean_of(1.0 - earned / bound, why)


# ---- Theorem 1 ----


def _theorem1(world: str) -> Claim:
    literal = SlidingWhittle.algorithm1(EPISODES, EPSILON)
    bound, largest = theorem1_bound(world, EPISODES, literal.window, EPSILON), largest_loss(world, EPISODES)
    return Claim(
        id=f"theorem1/world={world}",
        says=f"(18): regret is at most {bound:,.2g}",
        studies=(table(world, CELL),),
        measure=partial(_bounded, world=world, bound=bound, largest=largest),
        agrees=at_most(bound),
        paper=bound,
        possible=at_most(largest),
        about="ours-literal",
    )


def _bounded(evidence: Evidence, *, world: str, bound: float, largest: float) -> Finding:
    why = f"(18) is at least {bound:,.2g}, and no policy can lose more than {largest:,.2g}: it begins to say something "
    why += f"at about T = {first_informative(world):,.0e}, with epsilon = 1 / T."
    return mean_of(evidence.regrets(table(world, CELL), "ours-literal"), why)


def theorem1_bound(world: str, episodes: int, window: float, epsilon: float) -> float:
    """(18) with the constants of its proof, less what only adds to it."""
    arms = WORLDS[world](n_arms=CELL[0], activate=CELL[1])
    structure, total = arms.structure(), 0.0
    n_states = structure.rewards.shape[1]
    for own in structure.classes:
        pairs = int((structure.kinds[own] == STATIONARY).sum())
        if pairs:
            size = 2.0 * n_states * math.log(2.0 * pairs * arms.n_arms * episodes / ETA)
            total += math.sqrt(size) * (math.sqrt(SLOTS + 1.0) + 1.0) * math.sqrt(pairs * episodes * SLOTS)
        if (structure.kinds[own] == DRIFTING).any():
            total += episodes * SLOTS * window * epsilon
    return total * float(structure.rewards.max()) * _discounted_slots(arms.discount)


def largest_loss(world: str, episodes: int) -> float:
    """All arms in the best state in every slot, against all of them in the worst."""
    arms = WORLDS[world](n_arms=CELL[0], activate=CELL[1])
    slots = _discounted_slots(arms.discount) if arms.discounted else float(SLOTS)
    return float(np.ptp(arms.structure().rewards)) * arms.n_arms * slots * episodes


def _discounted_slots(discount: float) -> float:
    return float((discount ** np.arange(SLOTS)).sum())


@cache
def first_informative(world: str) -> float:
    """The power of ten T from which on (18) is below the largest loss, epsilon = 1 / T and the window Theorem 2's."""
    for power in range(2, 30):
        episodes = 10**power
        if theorem1_bound(world, episodes, episodes ** (2.0 / 3.0), 1.0 / episodes) < largest_loss(world, episodes):
            return float(episodes)
    return math.inf
