"""All studies; each subject has its own file."""

from driftwise.papers import Shelf
from driftwise.papers.hedging_the_drift import (
    advice,
    auto_loans,
    generalised,
    gradual,
    lower_bound,
    piecewise,
    rates,
    remark2,
    wrong_variation,
)

SUBJECTS = (gradual, piecewise, lower_bound, rates, remark2, generalised, wrong_variation, advice)


def studies(scale: str, runs: int | None, source: auto_loans.Source) -> Shelf:
    """Every study of a scale by name; `runs` overrides the number of runs."""
    makers = [maker for subject in SUBJECTS for maker in subject.studies(scale, runs)]
    return Shelf(dict([*makers, *auto_loans.studies(scale, runs, source)]))
