"""All studies; each part has its own file."""

from driftwise.papers import Shelf
from driftwise.papers.knapsacks import (
    appendix_c,
    appendix_d,
    errata_algorithm1,
    theorem1,
    theorem1_constants,
    theorem2,
    theorem2_iii,
    theorem3,
    what_to_use,
)

PARTS = (
    *(theorem2_iii, theorem1, theorem1_constants, theorem2, theorem3),
    *(appendix_c, appendix_d, errata_algorithm1, what_to_use),
)


def studies(scale: str, runs: int | None) -> Shelf:
    """Every study of a scale by name; `runs` overrides the number of runs."""
    return Shelf(dict(maker for part in PARTS for maker in part.studies(scale, runs)))
