"""Every statement of the paper that can be judged, and what to use instead."""

from driftwise.papers.whittle.closed_form import appendix
from driftwise.papers.whittle.curves import curves, theorem
from driftwise.papers.whittle.knowledge import knowledge
from driftwise.papers.whittle.orders import orders, recommended
from driftwise.papers.whittle.table import cells
from driftwise.papers.whittle.theory import theory
from driftwise.study.claims import Claim


def claims(scale: str) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    return [
        *cells(),
        *orders(),
        *curves(),
        *theory(scale),
        *theorem(scale),
        *knowledge(),
        *appendix(),
        *recommended(),
    ]
