"""Theorems 3 and 4: how regret grows with T, B and d, in both regimes of Theorem 4.

Played in the world of Figure 4, from a size in the middle along one of the three at a time. Without a break B is small,
B + 1 < d^(-1/2) T^(1/4), and Theorem 4 has its second rate. The rates are proven for the worst case, so a smaller slope
agrees; what random directions cost with more features is little. They rest on Lemma 1, which is false; what is proven
is O(d^(7/8) B^(1/4) T^(3/4)).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.families import FilterBankLinUCB, KalmanMixture, PiecewiseLinear, SlidingLinUCB, Uniform
from driftwise.measure.variation import variation
from driftwise.papers.hedging_the_drift.growth import Growth, growth
from driftwise.papers.hedging_the_drift.readings import NOISE, bobs, mended
from driftwise.study.claims import Claim, Evidence, Finding, at_most
from driftwise.study.study import Study

HORIZON, BREAKS, DIM = 20_000, 30, 5
HORIZONS, DIMS, TURNS = (5_000, 10_000, HORIZON), (2, DIM, 10), (3, 10, BREAKS, 100, 300)
FEW = 0  # breaks where the variation is small: the way is one straight line
RUNS = {"quick": 8, "full": 20}
MARGIN = 0.05  # over the factors 4 to 5 in T and d that are played, 8% of the regret


class Place(NamedTuple):
    """The size of a study."""

    horizon: int = HORIZON
    breaks: int = BREAKS
    dim: int = DIM


LADDERS: dict[str, dict[float, Place]] = {
    "large/T": {T: Place(horizon=T) for T in HORIZONS},
    "large/B": {breaks: Place(breaks=breaks) for breaks in TURNS},
    "large/d": {d: Place(dim=d) for d in DIMS},
    "small/T": {T: Place(horizon=T, breaks=FEW) for T in HORIZONS},
    "small/d": {d: Place(breaks=FEW, dim=d) for d in DIMS},
}
RATES = {
    ("SW-UCB", "large/T"): (2 / 3, "2/3"),
    ("SW-UCB", "large/B"): (1 / 3, "1/3"),
    ("SW-UCB", "large/d"): (2 / 3, "2/3"),
    ("BOB", "large/T"): (2 / 3, "2/3"),
    ("BOB", "large/B"): (1 / 3, "1/3"),
    ("BOB", "large/d"): (2 / 3, "2/3"),
    ("BOB", "small/T"): (3 / 4, "3/4"),
    ("BOB", "small/d"): (1 / 2, "1/2"),
}
READINGS = {"SW-UCB": ("SW-UCB-thm3", "SW-UCB-opt"), "BOB": ("BOB-windowed", "BOB-literal")}


def name_of(place: Place) -> str:
    """The study of a size."""
    return f"rates/T={place.horizon}/breaks={place.breaks}/d={place.dim}"


def names(ladder: str) -> tuple[str, ...]:
    """The studies along a ladder."""
    return tuple(map(name_of, LADDERS[ladder].values()))


@lru_cache(maxsize=64)
def moved(place: Place) -> float:
    """B at a size: the mean over ways that are drawn anew."""
    world = PiecewiseLinear(dim=place.dim, actions="basis", breaks=place.breaks)
    return float(np.mean([variation(world, place.horizon, seed).l2 for seed in range(3)]))


def sizes(ladder: str) -> list[float]:
    """What regret grows with along a ladder; B itself, not the number of breaks."""
    return [moved(place) if ladder == "large/B" else size for size, place in LADDERS[ladder].items()]


# ---- the studies ----


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """A study for every size, each run on a way of its own."""
    for place in dict.fromkeys(place for ladder in LADDERS.values() for place in ladder.values()):
        yield name_of(place), partial(_study, place, runs or RUNS[scale])


def _study(place: Place, runs: int) -> Study:
    horizon, _, dim = place
    policies: dict[str, Policy] = {
        "SW-UCB-thm3": SlidingLinUCB.theorem3(horizon, dim, moved(place)),
        "SW-UCB-opt": SlidingLinUCB.optimal(horizon, dim, moved(place), NOISE),
        **bobs(),
    }
    if place in LADDERS["large/B"].values():
        policies |= {**mended(dim), "kalman-mixture": KalmanMixture(), "auto": FilterBankLinUCB(), "uniform": Uniform()}
    world = replace(PiecewiseLinear(n_actions=40, sd=NOISE), dim=place.dim, breaks=place.breaks)
    return Study(name=name_of(place), worlds={"world": world}, policies=policies, horizon=horizon, runs=runs)


# ---- the claims ----


def claims() -> Iterator[Claim]:
    """No policy grows faster than its theorem says."""
    for (algorithm, ladder), (rate, power) in RATES.items():
        theorem = "theorem3" if algorithm == "SW-UCB" else "theorem4"
        regime, symbol = ladder.split("/")
        for policy in READINGS[algorithm]:
            first = policy == READINGS[algorithm][0]
            yield Claim(
                f"{theorem}/{regime}/{symbol}/{policy}",
                f"where B is {regime}, {algorithm}: regret grows no faster than {symbol}^({power}), within {MARGIN:g}",
                names(ladder),
                partial(_measure, ladder=ladder, policy=policy),
                agrees=at_most(rate + MARGIN),
                paper=rate,
                statement=f"{theorem}/{regime}/{symbol}",
                reading="literal" if first else policy,
                about=policy if symbol == "T" else "",  # blind play does not depend on B and d
            )


def ladder_growth(evidence: Evidence, ladder: str, policy: str) -> Growth:
    """The regret of a policy along a ladder."""
    return growth(evidence, names(ladder), policy, sizes(ladder))


def _measure(evidence: Evidence, *, ladder: str, policy: str) -> Finding:
    grown, symbol = ladder_growth(evidence, ladder, policy), ladder.split("/")[1]
    listed = ", ".join(f"{mean:,.0f} at {size:,.0f}" for size, mean in zip(grown.sizes, grown.means, strict=True))
    return grown.slope._replace(why=f"It grows as {symbol}^{grown.slope.ours:.2f}: {listed}.")


def regrets_by_variation(evidence: Evidence) -> Mapping[str, Growth]:
    """Every policy along B, for a figure."""
    policies = evidence.studies[names("large/B")[0]].policies
    return {policy: ladder_growth(evidence, "large/B", policy) for policy in policies}
