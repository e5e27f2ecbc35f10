"""What choices are called on pages and in tables."""

from driftwise.core.protocols import World
from driftwise.core.words import Column, Words

POINTS = Words(
    one="constraint",
    best="good point",
    others="constraints",
    lines="each constraint in the middle of the domain",
    caption="every constraint in the middle of the domain as run 0 met it, before luck; at most 0 where it is kept",
    comparator="playing the best fixed point that keeps the constraints on average",
    good="no more was lost than by the best fixed point",
    columns=(Column("violation", "constraints\noverdrawn by", "violation", percent=False),),
    ranked=False,
)


def words_of(world: World) -> Words:
    """The words for a world of this family."""
    return POINTS
