"""Appendix C: constraints that do not bind.

C.1: nothing binds, neither in LP(T) nor in any round. The best arm costs 0.1 to 0.3, the others 0.6 to 1, and there is
0.55 a round: budgets matter to who explores too much, as uniform play does, which runs out of them. W1 and W2 grow as
T, and regret must not.

C.2: LP(T) is never short of budget, and every round alone is. One arm pays 1 and takes 1 of the first resource, after
half-time of the second; of each there is 2 T / 3. All rounds could be played. Who spends evenly plays two of three.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.families import KnapsackExample
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.hindsight.path_length import unrest
from driftwise.families.knapsack.hindsight.resource_prices import even_plan, mean_program, prices
from driftwise.families.knapsack.means import Means
from driftwise.papers.knapsacks.algorithm1 import READINGS
from driftwise.papers.knapsacks.power_law import LAST, PowerLaw, column, grown, margin
from driftwise.papers.knapsacks.series import SIZES, Ground, Maker, Series
from driftwise.papers.knapsacks.theorem1 import PLAYERS
from driftwise.papers.knapsacks.theorem2_iii import LONGER, RUNS, maker
from driftwise.papers.knapsacks.worlds import CheapBest
from driftwise.study.claims import Claim, Evidence, Finding, around, at_least, at_most
from driftwise.study.findings import mean_of, ratio_of
from driftwise.study.study import Study

SMALL = 1e-6
ENOUGH, UNLIMITED = 0.55, 1.0
SAME_LOSS = 0.1  # regrets this near are those of one problem


# ---- C.1 ----


def _plenty(point: float) -> Ground:
    return Ground(CheapBest(n_arms=4, resources=1, phases=3, rate=ENOUGH), int(point))


SERIES = Series("appendix-c1/T", "T", 2 / 3, "2/3", _plenty, PLAYERS, "T/appendix-c1", LAST)
UNBOUNDED = "appendix-c1/unconstrained"


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """C.1 at growing T, and at the last without limits; C.2 at three lengths."""
    yield from SERIES.studies(scale, runs)
    points, usual = SIZES[scale][SERIES.size]
    yield UNBOUNDED, partial(_unconstrained, int(points[-1]), runs or usual)
    for rounds in LONGER:
        yield maker(f"appendix-c2/T={rounds}", KnapsackExample(kind="c2"), rounds, runs or RUNS[scale])


def _unconstrained(rounds: int, runs: int) -> Study:
    world = CheapBest(n_arms=4, resources=1, phases=3, rate=UNLIMITED)
    return Study(name=UNBOUNDED, worlds={"world": world}, policies=PLAYERS, horizon=rounds, runs=runs)


def claims(scale: str) -> Iterator[Claim]:
    """Both cases."""
    yield from _c1(scale)
    yield from _c2()


def _c1(scale: str) -> Iterator[Claim]:
    yield Claim(
        "appendix-c1/prices",
        "when no constraint binds, q_t = q* = 0: shown is the highest of both in 20 instances",
        (),
        _no_price,
        at_most(SMALL),
        paper=0.0,
    )
    yield Claim(
        "appendix-c1/even-spending",
        "then sum LP_t = LP(T), which removes W1: shown is the share that is missed, in 20 instances",
        (),
        _nothing_missed,
        at_most(SMALL),
        paper=0.0,
    )
    last = SERIES.names(scale)[-1]
    for form, reading in READINGS.items():
        yield Claim(
            f"appendix-c1/T/{form}",
            "the regret of Algorithm 1 grows no faster than T^(2/3), though W1 and W2 grow as T",
            SERIES.names(scale),
            partial(_power, policy=form),
            at_most(SERIES.theory + SERIES.margin(scale)),
            paper=SERIES.theory,
            statement="appendix-c1/T",
            reading=reading,
            about=form,
        )
        yield Claim(
            f"appendix-c1/stop/{form}",
            f"at T = {SIZES[scale][SERIES.size].points[-1]:,.0f} no run stops before T: shown is the mean share of "
            "rounds that are missing",
            (last,),
            partial(_missing, study=last, policy=form),
            at_most(SMALL),
            paper=0.0,
            statement="appendix-c1/stop",
            reading=reading,
            about=form,
        )
    yield Claim(
        "appendix-c1/unconstrained/paper",
        "the problem degenerates into one without constraints: shown is the regret by that without limits",
        (last, UNBOUNDED),
        partial(_degenerate, study=last, policy="paper"),
        around(1.0, SAME_LOSS),
        paper=1.0,
        about="paper",
    )


def _instances() -> Iterator[tuple[Means, list[float]]]:
    for seed in range(20):
        yield CheapBest(n_arms=4, resources=1, phases=3).means(900, seed), [ENOUGH * 900]


def _no_price(_: Evidence) -> Finding:
    duals = [prices(means, budgets) for means, budgets in _instances()]
    return Finding(max(float(np.maximum(dual.rounds, dual.whole).max()) for dual in duals))


def _nothing_missed(_: Evidence) -> Finding:
    shares = [1.0 - even_plan(*each).value / best_plan(*each).value for each in _instances()]
    return Finding(max(map(abs, shares)))


def _power(evidence: Evidence, *, policy: str) -> Finding:
    return grown(evidence, SERIES.name, policy).last(LAST).finding()


def _missing(evidence: Evidence, *, study: str, policy: str) -> Finding:
    horizon = evidence.studies[study].horizon
    missing = 1.0 - column(evidence, study, policy, "rounds") / horizon
    blind = 1.0 - column(evidence, study, "uniform", "rounds") / horizon
    return mean_of(missing, f"Uniform play misses {blind.mean():.1%} of the rounds.")


def _degenerate(evidence: Evidence, *, study: str, policy: str) -> Finding:
    bound, free = (column(evidence, name, policy) for name in (study, UNBOUNDED))
    return ratio_of(bound, free, f"{bound.mean():,.0f} against {free.mean():,.0f}.")


# ---- C.2 ----


def _c2() -> Iterator[Claim]:
    yield Claim(
        "appendix-c2/even-spending",
        "no constraint binds in LP(T), but one does in every round: V1 = W1 = 0, and still sum LP_t = 2/3 LP(T)",
        (),
        _c2_measures,
        around(2 / 3, SMALL),
        paper=2 / 3,
    )
    names = tuple(f"appendix-c2/T={rounds}" for rounds in LONGER)
    for form, reading in READINGS.items():
        yield Claim(
            f"appendix-c2/T/{form}",
            "the terms of V2 and W2 cannot be removed: the regret of Algorithm 1 grows in proportion to T",
            names,
            partial(_c2_power, names=names, policy=form),
            at_least(1.0 - margin(LONGER)),
            paper=1.0,
            statement="appendix-c2/T",
            reading=reading,
            about=form,
        )
    yield Claim(
        "appendix-c2/blind",
        "who plays in every round, whatever the budgets, loses nothing here: the example is hard for even spending, "
        "not for every policy. Shown is its regret by T",
        names[-1:],
        partial(_c2_blind, study=names[-1]),
        at_most(0.01),
        statement=None,
    )


def _c2_measures(_: Evidence) -> Finding:
    world, rounds = KnapsackExample(kind="c2"), 900
    means, budgets = world.means(rounds, 0), world.rates(rounds) * rounds
    plan, even, moved = best_plan(means, budgets), even_plan(means, budgets), unrest(means)
    ours = {
        "sum LP_t": even.value,
        "LP(T)": plan.value,
        "T LP(mean)": rounds * mean_program(means, budgets)[0],
        "V1": moved.reward_steps,
        "W1": moved.reward_spread,
        "V2": float(moved.cost_steps.max()),
        "W2": moved.cost_spread,
        "price of a round": float(even.prices.max()),
        "price of the run": float(plan.prices.max()),
    }
    listed = ", ".join(f"{name} {value:.0f}" for name, value in ours.items())
    return Finding(even.value / plan.value, why=f"T = 900: {listed}.")


def _c2_power(evidence: Evidence, *, names: tuple[str, ...], policy: str) -> Finding:
    regrets = np.stack([column(evidence, name, policy, "regret") for name in names], axis=1)
    finding = PowerLaw(np.array(LONGER, float), regrets).finding()
    shares = ", ".join(f"{share:.3f}" for share in regrets.mean(axis=0) / LONGER)
    return finding._replace(why=f"{shares} of T: a power of {finding.ours:.2f}.")


def _c2_blind(evidence: Evidence, *, study: str) -> Finding:
    return mean_of(column(evidence, study, "uniform", "regret") / evidence.studies[study].horizon)
