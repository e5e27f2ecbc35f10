"""What choices are called on pages and in tables."""

from driftwise.core.protocols import World
from driftwise.core.words import Column, Words

BUDGETED = Words(
    one="arm",
    best="plan's arm",
    heavy="largest reward",
    others="other arms",
    lines="mean reward of each arm",
    caption="the mean reward of every arm as run 0 met it, its costs not shown; the heavy line is the largest",
    comparator="following the best plan in hindsight",
    good="no other choice was worth more at the prices of the best plan",
    columns=(Column("share", "of the\nplan", "reward", of="benchmark"), Column("spent", "budget\nspent", "spent")),
)


def words_of(world: World) -> Words:
    """The words for a world of this family."""
    return BUDGETED
