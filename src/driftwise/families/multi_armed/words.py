"""What choices are called on pages and in tables."""

from driftwise.core.protocols import World
from driftwise.core.words import Words

ARMS = Words(
    one="arm",
    best="best arm",
    others="other arms",
    lines="mean reward of each arm",
    caption="the mean reward of every arm as run 0 met it; the heavy line is the best arm of the moment",
    comparator="always choosing the best arm",
)


def words_of(world: World) -> Words:
    """The words for a world of this family."""
    return ARMS
