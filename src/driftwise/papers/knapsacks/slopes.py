"""Theorems 1 and 2: how regret grows with T, V, m and 1/b.

    rotating        arms change places, what can be earned stays the same: V without W        T^(2/3)  V^(1/3)
    stationary      nothing changes                                                            T^(1/2) at most
    lower-bound-1   stretches with an arm that pays more, by as little as is detectable        T^(2/3)  V^(1/3)  m^(1/3)
    lower-bound-2   stretches with an arm that costs less                                      the same, and 1/b

Worlds of the first two kinds are drawn: `rotating` has a study for every instance, for windows must know its V, in
`stationary` every run is an instance. In the lower bounds nearly every policy loses nearly all there is to lose: they
show that the instances are as hard as was proven, more than what a policy is worth.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.families import BudgetStationary, KnapsackExample
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers.knapsacks.carousel import Carousel
from driftwise.papers.knapsacks.forms import DESCRIPTIONS, FORMS, forms, tuned
from driftwise.papers.knapsacks.powers import LAST, Power, power
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.study import Study

ROUGHLY = 0.1  # slopes this near are as said; so are those whose interval reaches it
CHANGES = 2  # of the rotating worlds that grow with T
VARIATION, ROUNDS, ARMS, RATE = 4.0, 64_000, 4, 0.25  # of the lower bounds, where they do not grow


class SlopeSize(NamedTuple):
    """What is played: each of `points`, on so many instances or in so many runs."""

    points: tuple[float, ...]
    runs: int


class Terrain(NamedTuple):
    """A world, how long it is played, and by whom."""

    world: BudgetWorld
    horizon: int
    policies: Mapping[str, Policy]


class Series(NamedTuple):
    """What grows, and how fast theory says regret does: as that power, or no faster.

    `make` takes a point and an instance; `drawn` is whether every instance is a study of its own.
    """

    symbol: str
    theory: float
    power: str
    make: Callable[[float, int], Terrain]
    size: str
    sampled: bool = False
    only_slower: bool = False
    last: int = 0


SIZES: dict[str, dict[str, SlopeSize]] = {
    "quick": {
        "T/rotating": SlopeSize(tuple(4_000.0 * 4**k for k in range(5)), 24),
        "T/stationary": SlopeSize(tuple(1_000.0 * 4**k for k in range(5)), 24),
        "T/lower-bound": SlopeSize(tuple(4_000.0 * 4**k for k in range(4)), 8),
        "V/rotating": SlopeSize(tuple(2.0**k for k in range(7)), 12),
        "V/lower-bound": SlopeSize(tuple(2.0**k for k in range(6)), 8),
        "m/lower-bound": SlopeSize(tuple(2.0**k for k in range(1, 6)), 8),
        "b/lower-bound": SlopeSize((2.5, 5.0, 10.0, 20.0), 8),
    },
    "full": {
        "T/rotating": SlopeSize(tuple(4_000.0 * 4**k for k in range(6)), 48),
        "T/stationary": SlopeSize(tuple(1_000.0 * 4**k for k in range(6)), 48),
        "T/lower-bound": SlopeSize(tuple(4_000.0 * 4**k for k in range(5)), 20),
        "V/rotating": SlopeSize(tuple(2.0**k for k in range(7)), 48),
        "V/lower-bound": SlopeSize(tuple(2.0**k for k in range(6)), 20),
        "m/lower-bound": SlopeSize(tuple(2.0**k for k in range(1, 6)), 20),
        "b/lower-bound": SlopeSize((2.5, 5.0, 10.0, 20.0), 20),
    },
}


# ---- the studies ----


def _rotating(point: float, instance: int, *, resources: int, horizon: int = 0) -> Terrain:
    """By T with a fixed number of changes, or by the number of changes with a fixed T."""
    rounds, changes = (horizon, int(point)) if horizon else (int(point), CHANGES)
    world = Carousel(n_arms=3 + resources, resources=resources, phases=changes + 1, instance=instance)
    return Terrain(world, rounds, tuned(world, rounds))


def _stationary(point: float, instance: int, *, resources: int) -> Terrain:
    world = BudgetStationary(n_arms=2 + 2 * resources, resources=resources)
    return Terrain(world, int(point), forms(world, int(point), 0.0, 0.0))


def _lower_bound(point: float, instance: int, *, which: int, grows: str) -> Terrain:
    world = KnapsackExample(
        kind=f"lower-bound-{which}",
        n_arms=int(point) if grows == "m" else ARMS,
        variation=point if grows == "V" else VARIATION,
        rate=1.0 / point if grows == "b" else RATE,
    )
    rounds = int(point) if grows == "T" else ROUNDS
    v1, v2 = (world.variation, 0.0) if which == 1 else (0.0, world.variation)
    return Terrain(world, rounds, forms(world, rounds, v1, v2))


def _series() -> Iterator[tuple[str, Series]]:
    for d in (1, 2):
        make = partial(_rotating, resources=d)
        yield f"T/rotating/d={d}", Series("T", 2 / 3, "2/3", make, "T/rotating", sampled=True, last=LAST)
    for d in (1, 2):
        make = partial(_stationary, resources=d)
        yield f"T/stationary/d={d}", Series("T", 0.5, "1/2", make, "T/stationary", only_slower=True, last=LAST)
    for d in (1, 2):
        make = partial(_rotating, resources=d, horizon=256_000)
        yield f"V/rotating/d={d}", Series("V", 1 / 3, "1/3", make, "V/rotating", sampled=True)
    for grows, theory, label in (("T", 2 / 3, "2/3"), ("V", 1 / 3, "1/3"), ("m", 1 / 3, "1/3"), ("b", 1.0, "1")):
        for which in (1, 2) if grows != "b" else (2,):
            bound = partial(_lower_bound, which=which, grows=grows)
            yield f"{grows}/lower-bound-{which}", Series(grows, theory, label, bound, f"{grows}/lower-bound")


SERIES = dict(sorted(_series(), key=lambda item: "TVmb".index(item[0][0])))


def names(series: str, scale: str) -> list[list[str]]:
    """The studies of a series: at each point one, or one for every instance."""
    chosen, size = SERIES[series], SIZES[scale][SERIES[series].size]
    several = range(size.runs) if chosen.sampled else (None,)
    return [[_name(series, point, instance) for instance in several] for point in size.points]


def _name(series: str, point: float, instance: int | None) -> str:
    return f"slope/{series}/at={point:g}" + ("" if instance is None else f"/instance={instance}")


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """All series; `runs` is how often an instance is played, or how many runs there are."""
    for series, chosen in SERIES.items():
        size = SIZES[scale][chosen.size]
        for point, several in zip(size.points, names(series, scale), strict=True):
            for instance, name in enumerate(several):
                yield (
                    name,
                    partial(_study, name, series, point, instance, runs or (1 if chosen.sampled else size.runs)),
                )


def _study(name: str, series: str, point: float, instance: int, runs: int) -> Study:
    world, horizon, policies = SERIES[series].make(point, instance)
    return Study(name=name, worlds={"world": world}, policies=policies, horizon=horizon, runs=runs)


# ---- the claims ----

EXPLORES = (
    "With the printed radius most rounds still explore: it falls below 0.1 after more than 6,000 plays of an arm "
    "within the window only."
)
BEST_ARM = (
    "One arm in m is the best: the construction loses in proportion to (1 - 1/m)^(2/3) m^(1/3), 0.49 over these m."
)
KNOWN = {("T/rotating", "paper"): EXPLORES, ("V/rotating", "paper"): EXPLORES}


def claims(scale: str) -> Iterator[Claim]:
    """A slope for every series and form."""
    for series, chosen in SERIES.items():
        for form in FORMS:
            known = BEST_ARM if chosen.symbol == "m" else KNOWN.get((chosen.size, form), "")
            yield _claim(scale, series, form, f"slope/{series}/{form}", known=known)
            if chosen.symbol == "m":
                yield _claim(scale, series, form, f"slope/{series}/adjusted/{form}", adjusted=True)


def _claim(scale: str, series: str, form: str, name: str, *, known: str = "", adjusted: bool = False) -> Claim:
    chosen, groups = SERIES[series], names(series, scale)
    symbol = "1/b" if chosen.symbol == "b" else chosen.symbol
    grows = "grows no faster than" if chosen.only_slower else "grows as"
    says = f"{DESCRIPTIONS[form]}: regret{' / (1 - 1/m)^(2/3)' if adjusted else ''} {grows} {symbol}^({chosen.power})"
    judge = partial(_judge, series=series, form=form, adjusted=adjusted)
    return Claim(
        name, says, tuple(name for several in groups for name in several), judge, paper=chosen.theory, known=known
    )


def played(evidence: Evidence, series: str) -> dict[float, list[str]]:
    """The studies of a series that were played, by their point."""
    by_size: dict[float, list[str]] = {}
    for name in evidence.studies:
        if name.startswith(f"slope/{series}/at="):
            by_size.setdefault(float(name.split("at=")[1].split("/")[0]), []).append(name)
    return dict(sorted(by_size.items()))


def grown(evidence: Evidence, series: str, form: str) -> Power:
    """The regrets of a series."""
    by_size = played(evidence, series)
    return power(evidence, list(by_size.values()), list(by_size), form)


def _judge(evidence: Evidence, *, series: str, form: str, adjusted: bool) -> Finding:
    """As said: within 0.1, or within the interval; no faster: below, or within the interval."""
    growth, chosen = grown(evidence, series, form), SERIES[series]
    if adjusted:
        growth = growth._replace(regrets=growth.regrets / (1.0 - 1.0 / growth.sizes) ** (2 / 3))
    slope = growth.slope(chosen.last)
    off = slope.mean - chosen.theory
    reach = max(ROUGHLY, 0.0 if math.isnan(slope.ci95) else slope.ci95)
    holds = off <= np.nan_to_num(slope.ci95) if chosen.only_slower else abs(off) <= reach
    first, last = growth.means[0], growth.means[-1]
    return Finding(*slope, bool(holds), f"From {first:,.0f} to {last:,.0f}: a power of {slope.mean:.2f}.")
