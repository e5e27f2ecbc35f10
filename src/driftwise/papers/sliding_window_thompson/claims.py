"""All claims of the paper that can be judged."""

from driftwise.papers.sliding_window_thompson.cells import cells, orders
from driftwise.papers.sliding_window_thompson.prose import figure_5, prose
from driftwise.papers.sliding_window_thompson.sensitivity import sensitivity
from driftwise.study.claims import Claim


def claims(scale: str) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    return [*cells(scale), *orders(scale), *prose(scale), *figure_5(), *sensitivity(scale)]
