"""Theorem 2 (i) and (ii): what nobody can help losing, by the constructions of the proof.

    (i)     stretches with an arm that pays more, by as little as is detectable      m^(1/3) V1^(1/3) T^(2/3)
    (ii)    stretches with an arm that costs less                                    the same with V2, and 1/b

A lower bound speaks of every policy: judged is the least that any of ours loses, Algorithm 1 in four forms and uniform
play. That the powers are those of the theorem says that the instances are as hard as was proven, and nothing of
Algorithm 1: uniform play has the same powers, and loses hardly more. Who knows all means (`best-plan`) loses next to
nothing: it is not knowing that costs.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.core.types import Floats
from driftwise.families import BestPlanOracle, KnapsackExample, Uniform
from driftwise.papers.knapsacks.algorithm1 import FORMS
from driftwise.papers.knapsacks.power_law import column, grown, jackknife, power_of
from driftwise.papers.knapsacks.series import Ground, Maker, Series
from driftwise.study.claims import Claim, Evidence, Finding, at_least, at_most, between
from driftwise.study.findings import ratio_of

VARIATION, ROUNDS, ARMS, RATE = 4.0, 64_000, 4, 0.25  # where they do not grow
BLIND = "uniform"
LEARNERS = (*FORMS, BLIND)  # all that do not know the means
PLAYERS: dict[str, Policy] = {**FORMS, BLIND: Uniform(), "best-plan": BestPlanOracle()}
NEARLY_ALL = 0.9  # of what uniform play loses
LITTLE = 0.25  # of it


def _ground(point: float, *, which: int, grows: str) -> Ground:
    world = KnapsackExample(
        kind=f"lower-bound-{which}",
        n_arms=int(point) if grows == "m" else ARMS,
        variation=point if grows == "V" else VARIATION,
        rate=1.0 / point if grows == "b" else RATE,
    )
    return Ground(world, int(point) if grows == "T" else ROUNDS)


def _series() -> Iterator[Series]:
    powers = {"T": (2 / 3, "2/3"), "V": (1 / 3, "1/3"), "m": (1 / 3, "1/3"), "b": (1.0, "1")}
    for which, part in ((1, "i"), (2, "ii")):
        for grows, (theory, text) in powers.items():
            if which == 2 or grows != "b":
                ground = partial(_ground, which=which, grows=grows)
                symbol = "1/b" if grows == "b" else grows
                name, size = f"theorem-2-{part}/{grows}", f"{grows}/lower-bound"
                yield Series(name, symbol, theory, text, ground, PLAYERS, size)


SERIES = {each.name: each for each in _series()}


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """All series."""
    for series in SERIES.values():
        yield from series.studies(scale, runs)


def claims(scale: str) -> Iterator[Claim]:
    """The power of the least loss; where the paper's construction has another, that one; and the blind player."""
    for part in ("i", "ii"):
        for name, series in SERIES.items():
            if name.startswith(f"theorem-2-{part}/"):
                yield from _powers(name, series, scale)
        longest = SERIES[f"theorem-2-{part}/T"].names(scale)[-1:]
        yield Claim(
            f"theorem-2-{part}/blind/share",
            "Algorithm 1 as printed loses at least 90% of what uniform play loses at the longest T: the instance shows "
            "nothing of it",
            longest,
            partial(_share, study=longest[0], policy="paper", of=BLIND),
            between(NEARLY_ALL, 1.0),
            statement=None,
        )
        yield Claim(
            f"theorem-2-{part}/foresight",
            "who knows all means loses at most a quarter of what uniform play loses: shown is the share",
            longest,
            partial(_share, study=longest[0], policy="best-plan", of=BLIND),
            at_most(LITTLE),
            statement=None,
        )


def _powers(name: str, series: Series, scale: str) -> Iterator[Claim]:
    low, high = series.theory - series.margin(scale), series.theory + series.margin(scale)
    names = series.names(scale)
    yield Claim(
        f"{name}/least",
        f"any policy loses at least in proportion to {series.symbol}^({series.power}): shown is the power of the least "
        "loss of five players",
        names,
        partial(_least, series=name),
        at_least(low),
        paper=series.theory,
        statement=name,
    )
    if series.symbol == "m":
        yield Claim(
            f"{name}/construction",
            "one arm in m is the best, so the construction loses as (1 - 1/m)^(2/3) m^(1/3): shown is the power of the "
            "loss without the first factor",
            names,
            partial(_least, series=name, adjusted=True),
            between(low, high),
            paper=series.theory,
            statement=name,
            reading="the construction's own factor taken out",
        )
        return
    yield Claim(
        f"{name}/blind",
        f"uniform play loses as {series.symbol}^({series.power}), too: the power is the instance's",
        names,
        partial(_blind, series=name),
        between(low, high),
        statement=None,
    )


def _least(evidence: Evidence, *, series: str, adjusted: bool = False) -> Finding:
    """At each size the player with the least mean counts."""
    laws = [grown(evidence, series, policy) for policy in LEARNERS]
    sizes, values = laws[0].sizes, np.stack([law.values for law in laws], axis=1)
    if adjusted:
        values = values / (1.0 - 1.0 / sizes) ** (2 / 3)
    power, error = jackknife(values, partial(_power_of_least, sizes))
    best = values.mean(axis=0).min(axis=0)
    powers = ", ".join(f"{policy} {law.fit()[0]:.2f}" for policy, law in zip(LEARNERS, laws, strict=True))
    why = f"From {best[0]:,.0f} to {best[-1]:,.0f}; powers of each: {powers}."
    return Finding(power, error, why, runs=len(values))


def _power_of_least(sizes: Floats, values: Floats) -> float:
    return power_of(sizes, values.mean(axis=0).min(axis=0))


def _blind(evidence: Evidence, *, series: str) -> Finding:
    return grown(evidence, series, BLIND).finding()


def _share(evidence: Evidence, *, study: str, policy: str, of: str) -> Finding:
    ours, theirs = column(evidence, study, policy), column(evidence, study, of)
    return ratio_of(ours, theirs, f"{ours.mean():,.0f} against {theirs.mean():,.0f}.")
