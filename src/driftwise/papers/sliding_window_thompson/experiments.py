"""Every study of a scale: tables, figures and sweeps, the growth of regret, and the example of section 4.2."""

from driftwise.papers.sliding_window_thompson.growth import growth_studies
from driftwise.papers.sliding_window_thompson.studies import studies
from driftwise.papers.sliding_window_thompson.theory import theory_studies
from driftwise.study.study import Study


def experiments(scale: str, runs: int | None = None) -> dict[str, Study]:
    """By name; `runs` overrides the number of runs."""
    more = (*growth_studies(scale, runs), *theory_studies(scale, runs))
    return studies(scale, runs) | {study.name: study for study in more}
