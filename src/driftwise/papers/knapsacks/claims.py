"""All that the paper says and we can judge: there are no experiments in it, the theory is the claim."""

from driftwise.papers.knapsacks import errata, future, measures, non_binding, points, recommended, slopes, theory
from driftwise.study.claims import Claim


def claims(scale: str) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    parts = (slopes, future, non_binding, measures, theory, points, recommended, errata)
    return [claim for part in parts for claim in part.claims(scale)]
