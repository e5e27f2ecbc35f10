"""What to use: BOB without its shortest windows, `kalman-mixture` and `auto` beside the paper's algorithms.

In the worlds of Figures 3 and 4, on the same instances and noise as there; and along B, where literal BOB, which is
LinUCB restarted every d sqrt(T) rounds, falls behind as soon as theta moves much within a block.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

from driftwise.core.protocols import Policy
from driftwise.families import FilterBankLinUCB, KalmanMixture, PiecewiseLinear
from driftwise.papers.hedging_the_drift import rates
from driftwise.papers.hedging_the_drift.piecewise import WORLDS, instance_names, instance_studies, regrets
from driftwise.papers.hedging_the_drift.readings import mended
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least, at_most
from driftwise.study.findings import lead, ratio_of
from driftwise.study.study import Study

INSTANCES = {"quick": 8, "full": 20}
PAIRS = (
    ("BOB-mended", "BOB-windowed"),
    ("BOB-mended-half", "BOB-windowed"),
    ("kalman-mixture", "SW-UCB-opt"),
    ("kalman-mixture", "BOB-literal"),
    ("auto", "SW-UCB-opt"),
    ("auto", "BOB-literal"),
)
RATIOS = Range(0.0, math.inf)


def names(figure: str, scale: str, group: str = "use") -> tuple[str, ...]:
    """The studies of a figure: ours, or with `group` empty the paper's."""
    return instance_names(f"{group}/{figure}" if group else figure, INSTANCES[scale])


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """A study per figure and instance."""
    return instance_studies(lambda figure: names(figure, scale), _policies, runs or 1)


def _policies(world: PiecewiseLinear) -> dict[str, Policy]:
    return {**mended(world.dim), "kalman-mixture": KalmanMixture(), "auto": FilterBankLinUCB()}


def claims(scale: str) -> Iterator[Claim]:
    """Who loses less; none of this is in the paper."""
    for figure in WORLDS:
        ours, theirs = names(figure, scale), names(figure, scale, "")
        for best, other in PAIRS:
            yield Claim(
                f"use/{figure}/{best}/{other}",
                f"{best} loses less than {other}{', which knows B_T' if other == 'SW-UCB-opt' else ''}",
                (*ours, *theirs),
                partial(_measure_pair, ours=ours, theirs=theirs, best=best, other=other),
                agrees=at_most(1.0),
                possible=RATIOS,
                statement=None,
                about=best,
            )
    few, many = rates.names("large/B")[0], rates.names("large/B")[-1]
    for study, words, agrees, about in (
        (few, "small", at_most(1.0), "BOB-literal"),
        (many, "large", at_least(1.0), ""),
    ):
        yield Claim(
            f"use/literal/{words}-B",
            f"where B is {words}, BOB read literally loses {'less' if words == 'small' else 'more'} than windowed",
            (study,),
            partial(_measure_literal, study=study),
            agrees=agrees,
            possible=RATIOS,
            statement=None,
            about=about,
        )


def _measure_pair(
    evidence: Evidence, *, ours: tuple[str, ...], theirs: tuple[str, ...], best: str, other: str
) -> Finding:
    one, two = regrets(evidence, ours, best), regrets(evidence, theirs, other)
    return ratio_of(one, two, f"{best} {one.mean():,.0f}, {other} {two.mean():,.0f}.")


def _measure_literal(evidence: Evidence, *, study: str) -> Finding:
    return lead(evidence, study, "BOB-literal", "BOB-windowed")
