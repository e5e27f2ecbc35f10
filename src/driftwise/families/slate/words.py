"""What choices are called on pages and in tables."""

from driftwise.core.protocols import World
from driftwise.core.words import Words

SLATES = Words(
    one="item",
    best="best slate",
    others="other items",
    lines="mean reward of each item",
    caption="the mean reward of every item as run 0 met it; the heavy lines are the best slate of the moment",
    comparator="always choosing the best slate",
)


def words_of(world: World) -> Words:
    """The words for a world of this family."""
    return SLATES
