"""All studies of section 9; each figure has its own file."""

from driftwise.papers import Shelf
from driftwise.papers.hedging_the_drift import auto_loans, gradual, piecewise


def studies(scale: str, runs: int | None, source: auto_loans.Source) -> Shelf:
    """Every study of a scale by name; `runs` overrides the number of runs."""
    makers = (*gradual.studies(scale, runs), *piecewise.studies(scale, runs), *auto_loans.studies(scale, runs, source))
    return Shelf(dict(makers))
