"""Theorem 1: no policy loses less than the order of d^(2/3) B^(1/3) T^(2/3), played in the world of its proof.

In `driftwise.worlds.Hypercube` what any policy loses at least can be computed, with its constant. Blind play loses only
1.35 times as much there: a block ends when a sign is about to be known. So the slopes of a policy in this world say
nothing of the policy, and are not judged; that it loses less than blind play is.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.families import BanditOverBandit, Hypercube, SlidingLinUCB, Uniform
from driftwise.papers import only_world
from driftwise.papers.hedging_the_drift.readings import bobs
from driftwise.study.claims import Claim, Evidence, Finding, Range, around, at_least, below, between
from driftwise.study.findings import ratio_of, worst_of
from driftwise.study.study import Study

HORIZON, VARIATION, DIM = 20_000, 20.0, 4
HORIZONS, VARIATIONS, DIMS = (5_000, HORIZON, 40_000), (5.0, VARIATION, 80.0), (2, DIM, 6)
LADDERS: dict[str, tuple[float, ...]] = {"T": HORIZONS, "B": VARIATIONS, "d": DIMS}
RATES = {"T": 2 / 3, "B": 1 / 3, "d": 2 / 3}
RUNS = {"quick": 12, "full": 40}
PLACES: dict[str, tuple[int, float, int]] = {
    "base": (HORIZON, VARIATION, DIM),
    **{f"T={value}": (value, VARIATION, DIM) for value in HORIZONS if value != HORIZON},
    **{f"B={value:g}": (HORIZON, value, DIM) for value in VARIATIONS if value != VARIATION},
    **{f"d={value}": (HORIZON, VARIATION, value) for value in DIMS if value != DIM},
}


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """A study for every T, B and d."""
    for place, size in PLACES.items():
        yield f"theorem1/{place}", partial(_study, f"theorem1/{place}", *size, runs or RUNS[scale])


def _study(name: str, horizon: int, variation: float, dim: int, runs: int) -> Study:
    world = Hypercube(dim=dim, variation=variation)
    block = world.rounds(horizon)
    policies: dict[str, Policy] = {
        "uniform": Uniform(),
        "SW-UCB": SlidingLinUCB.theorem3(horizon, dim, variation),
        **bobs(),
        # As well informed as the proof allows: it knows where blocks begin, and hardly explores.
        "restarted": BanditOverBandit(policy=SlidingLinUCB(scale=0.2), literal=1, block=block, shortest=block),
    }
    return Study(name=name, worlds={"world": world}, policies=policies, horizon=horizon, runs=runs)


def claims() -> Iterator[Claim]:
    """The bound, its rates, and blind play beside it."""
    names = tuple(f"theorem1/{place}" for place in PLACES)
    yield Claim(
        "theorem1/bound",
        "no policy loses less than the lower bound: the smallest regret over it, of all policies and sizes played",
        names,
        partial(_measure_bound, names=names),
        agrees=at_least(1.0),
        possible=Range(0.0, np.inf),
        statement="theorem1",
    )
    for symbol, rate in RATES.items():
        yield Claim(
            f"theorem1/rate/{symbol}",
            f"the least possible regret grows as {symbol}^{'1/3' if symbol == 'B' else '2/3'}",
            (),
            partial(_measure_rate, symbol=symbol),
            agrees=around(rate, 0.01),
            paper=rate,
            possible=Range(0.0, 1.0),
            statement="theorem1",
        )
    yield Claim(
        "theorem1/blind",
        "blind play loses little more than anybody must: 1.35 times the bound",
        names,
        partial(_measure_blind, names=names),
        agrees=between(1.3, 1.4),
        possible=Range(1.0, np.inf),
        statement=None,
    )
    yield Claim(
        "theorem1/SW-UCB",
        "SW-UCB with the window of Theorem 3 loses less than blind play: the largest ratio of regrets",
        names,
        partial(_measure_learns, names=names),
        agrees=below(1.0),
        possible=Range(0.0, np.inf),
        statement=None,
        about="SW-UCB",
    )


def _over_bound(evidence: Evidence, name: str, policy: str) -> Finding:
    study = evidence.studies[name]
    regrets = evidence.regrets(name, policy)
    least = only_world(study, Hypercube).least_regret(study.horizon)
    return ratio_of(regrets, np.full(len(regrets), least))


def _measure_bound(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    findings = {
        (name, policy): _over_bound(evidence, name, policy)
        for name in names
        for policy in evidence.studies[name].policies
    }
    place = min(findings, key=lambda each: findings[each].ours - 1.645 * findings[each].error)
    return findings[place]._replace(why=f"{findings[place].ours:.3f} times the bound: {place[1]} in {place[0]}.")


def _measure_rate(_: Evidence, *, symbol: str) -> Finding:
    least = []
    for value in LADDERS[symbol]:
        horizon, variation, dim = ({"T": HORIZON, "B": VARIATION, "d": DIM} | {symbol: value}).values()
        least.append(Hypercube(dim=int(dim), variation=float(variation)).least_regret(int(horizon)))
    slope = float(np.polyfit(np.log(np.array(LADDERS[symbol], float)), np.log(least), 1)[0])
    listed = ", ".join(f"{value:,.0f} at {symbol} = {at:,g}" for value, at in zip(least, LADDERS[symbol], strict=True))
    return Finding(slope, why=f"{listed}.")


def _measure_blind(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    finding = worst_of(_over_bound(evidence, name, "uniform") for name in names)
    return finding._replace(why=f"At most {finding.ours:.3f} times the bound.")


def _measure_learns(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    pairs = ((evidence.regrets(name, "SW-UCB"), evidence.regrets(name, "uniform")) for name in names)
    finding = worst_of(ratio_of(*pair) for pair in pairs)
    return finding._replace(why=f"At most {finding.ours:.3f} of its regret.")
