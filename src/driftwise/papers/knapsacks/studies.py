"""All studies; each part has its own file."""

from driftwise.papers import Shelf
from driftwise.papers.knapsacks import errata_in_play, future, non_binding, points, recommended, slopes


def studies(scale: str, runs: int | None) -> Shelf:
    """Every study of a scale by name; `runs` overrides the number of runs."""
    parts = (slopes, future, non_binding, recommended, points, errata_in_play)
    return Shelf(dict(maker for part in parts for maker in part.studies(scale, runs)))
