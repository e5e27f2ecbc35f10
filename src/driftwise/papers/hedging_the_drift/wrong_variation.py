"""What a wrong B_T costs: SW-UCB in Figures 3 and 4 with the window of (90) for f times the true variation."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.families import PiecewiseLinear, SlidingLinUCB
from driftwise.papers.hedging_the_drift.growth import Growth
from driftwise.papers.hedging_the_drift.piecewise import (
    HORIZON,
    WORLDS,
    exact,
    instance_names,
    instance_studies,
    regrets,
)
from driftwise.papers.hedging_the_drift.readings import NOISE
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least, between
from driftwise.study.findings import ratio_of
from driftwise.study.study import Study

FACTORS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
INSTANCES = {"quick": 4, "full": 20}


def names(figure: str, scale: str) -> tuple[str, ...]:
    """The studies of a figure."""
    return instance_names(f"wrong-B/{figure}", INSTANCES[scale])


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """A study per figure and instance."""
    return instance_studies(lambda figure: names(figure, scale), _policies, runs or 1)


def _policies(world: PiecewiseLinear) -> dict[str, Policy]:
    return {
        label(factor): SlidingLinUCB.optimal(HORIZON, world.dim, factor * exact(world).l2, NOISE) for factor in FACTORS
    }


def label(factor: float) -> str:
    """The policy that takes B to be so many times what it is."""
    return f"SW-UCB-{factor:g}B"


def claims(scale: str) -> Iterator[Claim]:
    """What a factor of 10 costs either way, and how far (90) is from the best window."""
    for figure in WORLDS:
        chosen = names(figure, scale)
        yield Claim(
            f"wrong-B/{figure}/asymmetry",
            "to take B for a tenth of what it is costs more than to take it for ten times that: the ratio of regrets",
            chosen,
            partial(_measure_ratio, names=chosen, one=0.1, other=10.0),
            agrees=at_least(1.0),
            possible=Range(0.0, math.inf),
            statement=None,
        )
        yield Claim(
            f"wrong-B/{figure}/optimal",
            "the window of (90) for the true B is the regret-optimal one: its regret over that for 3 B is at most 1.05",
            chosen,
            partial(_measure_ratio, names=chosen, one=1.0, other=3.0),
            agrees=between(0.0, 1.05),
            possible=Range(0.0, math.inf),
            statement="section9/optimal-window",
            reading="literal" if figure == "figure4" else "two arms",
        )


def by_factor(evidence: Evidence, names: tuple[str, ...]) -> Growth:
    """The regret at every factor, an instance a row."""
    return Growth(np.array(FACTORS), np.stack([regrets(evidence, names, label(f)) for f in FACTORS], axis=1))


def _measure_ratio(evidence: Evidence, *, names: tuple[str, ...], one: float, other: float) -> Finding:
    grid = by_factor(evidence, names)
    listed = ", ".join(f"{mean:,.0f} for {factor:g} B" for factor, mean in zip(FACTORS, grid.means, strict=True))
    ours, theirs = (grid.regrets[:, FACTORS.index(factor)] for factor in (one, other))
    return ratio_of(ours, theirs, f"{listed}.")
