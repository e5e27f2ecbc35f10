"""How regret grows: SW-TS with the windows of the corollaries, beside the orders that these state.

An order says nothing of one size, so each is judged as a growth exponent over several: the slope of log regret against
log N, or against the log of the rate of change, with the error of the runs. Where the order has a logarithm, as the
proofs do, the exponent that the whole expression has over the sizes played is allowed, and 0.05 for the fit.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from driftwise.core.protocols import World
from driftwise.families import ACMAB, SCMAB, Abrupt, SlidingThompson
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least, at_most
from driftwise.study.findings import slope_of
from driftwise.study.study import Study

SLACK = 0.05
SIZES = {"quick": (10_000, 30_000, 100_000), "full": (10_000, 100_000, 1_000_000)}
RUNS = {10_000: 100, 30_000: 60, 40_000: 40, 100_000: 40, 1_000_000: 20}
GROWTH_ARMS = (5, 30)
RATE_ROUNDS, RATES, SPEEDS = 40_000, (1e-4, 4e-4, 1.6e-3), (2.5e-4, 1e-3, 4e-3)


class SizeSeries(NamedTuple):
    """SW-TS at several sizes: the world and window of each, and the size that grows."""

    name: str
    world: Callable[[float], World]
    window: Callable[[float], str]
    rounds: Callable[[float], int]
    sizes: tuple[float, ...]
    per_round: bool = False


def _series(scale: str) -> Iterator[SizeSeries]:
    for k in GROWTH_ARMS:
        yield SizeSeries(f"corollary1/K={k}", partial(_abrupt, k), lambda n: "corollary1", int, SIZES[scale])
        yield SizeSeries(f"corollary3/K={k}", partial(_smooth, k), lambda n: "corollary3(beta=0.5)", int, SIZES[scale])
        yield SizeSeries(
            f"corollary2/K={k}",
            partial(_rate, k),
            lambda rate: f"corollary2(rate={rate})",
            lambda rate: RATE_ROUNDS,
            RATES,
            per_round=True,
        )
        for name, power in (("corollary5", -0.75), ("corollary5-proof", -0.5)):
            yield SizeSeries(
                f"{name}/K={k}",
                partial(_speed, k),
                partial(_power, power=power),
                lambda sigma: RATE_ROUNDS,
                SPEEDS,
                per_round=True,
            )


def _abrupt(k: int, size: float) -> World:
    return ACMAB(n_arms=k)


def _smooth(k: int, size: float) -> World:
    return SCMAB(n_arms=k, sigma=1e-4)


def _rate(k: int, rate: float) -> World:
    return Abrupt(n_arms=k, phases=round(rate * RATE_ROUNDS))


def _speed(k: int, sigma: float) -> World:
    return SCMAB(n_arms=k, sigma=sigma)


def _power(sigma: float, *, power: float) -> str:
    return str(max(1, round(sigma**power)))


def growth_studies(scale: str, runs: int | None) -> Iterator[Study]:
    """One study for each size of each series, SW-TS alone."""
    for series in _series(scale):
        for size in series.sizes:
            window, rounds = series.window(size), series.rounds(size)
            yield Study(
                name=f"growth/{series.name}/{size:g}",
                worlds={"world": series.world(size)},
                policies={"SW-TS": SlidingThompson(window=int(window) if window.isdigit() else window)},
                horizon=rounds,
                runs=runs or RUNS[rounds],
            )


class StatedOrder(NamedTuple):
    """What a corollary says of growth: the expression, and whether the exponent is at most or at least its own."""

    says: str
    expression: Callable[[float], float]
    bounded: Callable[[float], Range]
    reading: str = "literal"


def _exponent(order: StatedOrder, sizes: tuple[float, ...]) -> float:
    """The exponent that the expression has over these sizes, by the fit that the runs are given."""
    return slope_of(sizes, [[order.expression(size)] * 2 for size in sizes]).ours


ORDERS = {
    "corollary1": StatedOrder(
        "with the window sqrt(N) regret is of order sqrt(N), up to a logarithm: shown is its growth exponent in N",
        lambda n: math.sqrt(n) * math.log(n),
        at_most,
    ),
    "corollary2": StatedOrder(
        "with B breakpoints a round, average regret is of order sqrt(B log 1/B): shown is its growth exponent in B",
        lambda b: math.sqrt(-b * math.log(b)),
        at_least,
    ),
    "corollary3": StatedOrder(
        "section 5.2: Assumption 3 holds with beta = 1/2, so that regret is of order sqrt(N) by Corollaries 3 and 4: "
        "shown is its growth exponent in N",
        lambda n: math.sqrt(n) * math.log(n),
        at_most,
    ),
    "corollary5": StatedOrder(
        "with the window sigma^(-3/4) average regret is of order sqrt(sigma), up to a logarithm: shown is its growth "
        "exponent in sigma",
        lambda sigma: -math.sqrt(sigma) * math.log(sigma),
        at_least,
    ),
    "corollary5-proof": StatedOrder(
        "the same with the window sigma^(-1/2), which the proof takes",
        lambda sigma: -math.sqrt(sigma) * math.log(sigma),
        at_least,
        "window of the proof",
    ),
}


def growth(scale: str) -> Iterator[Claim]:
    """The orders of the corollaries."""
    for series in _series(scale):
        corollary, _, arms = series.name.partition("/")
        order = ORDERS[corollary]
        exponent = _exponent(order, series.sizes)
        margin = SLACK if order.bounded is at_most else -SLACK
        yield Claim(
            id=f"growth/{series.name}",
            says=order.says,
            studies=tuple(f"growth/{series.name}/{size:g}" for size in series.sizes),
            measure=partial(_measure_slope, series=series, exponent=exponent),
            agrees=order.bounded(exponent + margin),
            statement=f"growth/{corollary.removesuffix('-proof')}/{arms}",
            reading=order.reading,
            about="SW-TS",
        )


def _measure_slope(evidence: Evidence, *, series: SizeSeries, exponent: float) -> Finding:
    samples = [evidence.regrets(f"growth/{series.name}/{size:g}", "SW-TS") for size in series.sizes]
    if series.per_round:
        samples = [sample / series.rounds(size) for sample, size in zip(samples, series.sizes, strict=True)]
    means = ", ".join(f"{sample.mean():,.4g}" for sample in samples)
    sizes = ", ".join(f"{size:g}" for size in series.sizes)
    return slope_of(series.sizes, samples, f"At {sizes}: {means}; the order itself has {exponent:.2f} there.")
