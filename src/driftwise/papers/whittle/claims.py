"""The claims of section 6 that can be judged, and the exponent of Theorem 2."""

from driftwise.papers.whittle.curves import curves, theorem
from driftwise.papers.whittle.table import cells, orders, recommended
from driftwise.study.claims import Claim


def claims(scale: str) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    return [*cells(), *recommended(), *orders(), *curves(), *theorem(scale)]
