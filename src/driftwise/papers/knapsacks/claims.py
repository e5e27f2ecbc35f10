"""The claims, in the order of the paper. It has no experiments: they are its lemmas and theorems, and its prose.

What the paper does not say comes last: remarks, what it leaves open, and what to use.
"""

from collections.abc import Iterator

from driftwise.papers.knapsacks import (
    adaptive_adversary,
    appendix_b,
    appendix_c,
    appendix_d,
    errata_algorithm1,
    errata_convex,
    errata_linear_programs,
    lemmas2_3,
    proposition1,
    theorem1,
    theorem1_constants,
    theorem2,
    theorem2_iii,
    theorem3,
    what_to_use,
)
from driftwise.study.claims import Claim

PARTS = (
    theorem2_iii.section21,
    proposition1.claims,
    lemmas2_3.claims,
    theorem1_constants.corollary1,
    theorem1.claims,
    theorem1_constants.claims,
    theorem2.claims,
    theorem2_iii.claims,
    theorem3.proposition2,
    theorem3.claims,
    adaptive_adversary.claims,
    appendix_b.claims,
    appendix_c.claims,
    appendix_d.claims,
    theorem3.appendix_e1,
    theorem3.appendix_e3,
)


def claims(scale: str) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    return [*(claim for part in PARTS for claim in part(scale)), *_errata(), *what_to_use.claims(scale)]


def _errata() -> Iterator[Claim]:
    """Errata first, then remarks, then what is open."""
    for erratum in (*errata_linear_programs.ERRATA, *errata_convex.ERRATA):
        yield from erratum.claims()
    notes = (*errata_linear_programs.REMARKS, *errata_algorithm1.notes(), *errata_convex.NOTES)
    for note in sorted(notes, key=lambda each: each.kind, reverse=True):
        yield from note.claims()
