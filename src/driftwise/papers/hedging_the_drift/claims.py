"""The claims of section 9 that can be judged, and those of the theory that runs can test."""

from driftwise.papers.hedging_the_drift import auto_loans, gradual, piecewise, theory
from driftwise.study.claims import Claim


def claims(scale: str, source: auto_loans.Source) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    return [*gradual.claims(scale), *piecewise.claims(scale), *auto_loans.claims(source), *theory.claims(scale)]
