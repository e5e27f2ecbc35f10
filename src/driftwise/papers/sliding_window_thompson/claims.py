"""All claims of the paper that can be judged."""

from driftwise.papers.sliding_window_thompson.cells import cells, rows
from driftwise.papers.sliding_window_thompson.growth import growth
from driftwise.papers.sliding_window_thompson.orders import orders
from driftwise.papers.sliding_window_thompson.prose import figure_5, prose
from driftwise.papers.sliding_window_thompson.sensitivity import sensitivity
from driftwise.papers.sliding_window_thompson.theory import theory
from driftwise.study.claims import Claim


def claims(scale: str) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    tables = [*cells(scale), *rows(scale), *orders(scale)]
    return [*tables, *prose(scale), *figure_5(), *sensitivity(scale), *theory(scale), *growth(scale)]
