"""All that section 9 says and we can judge, and what of the theory can be held against our runs."""

from driftwise.papers.hedging_the_drift import auto_loans, gradual, piecewise, theory
from driftwise.study.claims import Claim


def claims(scale: str, source: auto_loans.Source) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    return [*gradual.claims(scale), *piecewise.claims(scale), *auto_loans.claims(source), *theory.claims(scale)]
