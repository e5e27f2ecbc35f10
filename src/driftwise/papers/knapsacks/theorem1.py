"""Theorem 1: how the regret of Algorithm 1 grows with T and V.

    rotating      arms change places, what can be earned stays the same: V without W         T^(2/3)  V^(1/3)
    stationary    nothing changes                                                             T^(1/2)

Every run draws its own means. Uniform play stands beside: it loses in proportion to T whatever V is, and a claim that
it passes as well would say nothing of Algorithm 1. So the power of V is judged from both sides.
"""

from collections.abc import Iterator
from functools import partial

from driftwise.core.protocols import Policy
from driftwise.families import BudgetRotating, BudgetStationary, Uniform
from driftwise.papers.knapsacks.algorithm1 import FORMS, READINGS
from driftwise.papers.knapsacks.power_law import LAST, grown
from driftwise.papers.knapsacks.series import Ground, Maker, Series
from driftwise.study.claims import Claim, Evidence, Finding, Range, around, at_most, between

CHANGES = 2  # of the worlds that grow with T
LONG = 256_000  # rounds of those that grow with V
PLAYERS: dict[str, Policy] = {**FORMS, "uniform": Uniform()}


def _by_rounds(point: float, *, resources: int) -> Ground:
    return Ground(BudgetRotating(n_arms=3 + resources, resources=resources, phases=CHANGES + 1), int(point))


def _by_changes(point: float, *, resources: int) -> Ground:
    return Ground(BudgetRotating(n_arms=3 + resources, resources=resources, phases=int(point) + 1), LONG)


def _still(point: float, *, resources: int) -> Ground:
    return Ground(BudgetStationary(n_arms=2 + 2 * resources, resources=resources), int(point))


def _series() -> Iterator[Series]:
    for d in (1, 2):
        ground = partial(_by_rounds, resources=d)
        yield Series(f"theorem-1/T/rotating/d={d}", "T", 2 / 3, "2/3", ground, PLAYERS, "T/rotating", LAST)
    for d in (1, 2):
        ground = partial(_by_changes, resources=d)
        yield Series(f"theorem-1/V/rotating/d={d}", "V", 1 / 3, "1/3", ground, PLAYERS, "V/rotating")
    for d in (1, 2):
        ground = partial(_still, resources=d)
        yield Series(f"theorem-1/T/stationary/d={d}", "T", 0.5, "1/2", ground, PLAYERS, "T/stationary", LAST)


SERIES = {each.name: each for each in _series()}


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """All series."""
    for series in SERIES.values():
        yield from series.studies(scale, runs)


def claims(scale: str) -> Iterator[Claim]:
    """A power for every series and form, and that of uniform play."""
    for name, series in SERIES.items():
        for form, reading in READINGS.items():
            yield Claim(
                f"{name}/{form}",
                _says(series),
                series.names(scale),
                partial(_measure, series=name, policy=form),
                _agrees(series, scale),
                paper=series.theory,
                statement=name,
                reading=reading,
                about=form,
            )
        if series.symbol == "T":
            yield Claim(
                f"{name}/uniform",
                "uniform play loses in proportion to T: what was printed is not true of any player",
                series.names(scale),
                partial(_measure, series=name, policy="uniform"),
                around(1.0, series.margin(scale)),
                statement=None,
            )


def _says(series: Series) -> str:
    how = "grows no faster than" if series.symbol == "T" else "grows as"
    where = "where nothing changes" if "stationary" in series.name else "where arms change places"
    return f"the regret of Algorithm 1 {how} {series.symbol}^({series.power}) {where}"


def _agrees(series: Series, scale: str) -> Range:
    reach = series.margin(scale)
    if series.symbol == "T":
        return at_most(series.theory + reach)
    return between(series.theory - reach, series.theory + reach)


def _measure(evidence: Evidence, *, series: str, policy: str) -> Finding:
    return grown(evidence, series, policy).last(SERIES[series].last).finding()
