"""The claims of the paper that can be judged: it has no experiments, so they are its theorems."""

from collections.abc import Iterator

from driftwise.papers.knapsacks import (
    errata_in_play,
    errata_of_points,
    errata_of_programs,
    future,
    measures,
    non_binding,
    points,
    recommended,
    slopes,
    theory,
)
from driftwise.study.claims import Claim


def claims(scale: str) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    parts = (slopes, future, non_binding, measures, theory, points, recommended)
    return [*(claim for part in parts for claim in part.claims(scale)), *_errata(scale)]


def _errata(scale: str) -> Iterator[Claim]:
    """All nineteen, by their number."""
    every = [*errata_of_programs.ERRATA, *errata_in_play.errata(scale), *errata_of_points.errata(scale)]
    for each in sorted(every, key=lambda erratum: erratum.name):
        yield from each.claims()
