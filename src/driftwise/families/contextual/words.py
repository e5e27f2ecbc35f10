"""What choices are called on pages and in tables."""

from driftwise.core.protocols import World
from driftwise.core.words import Words

ACTIONS = Words(
    one="action",
    best="best action",
    others="other actions",
    lines="mean reward of each action",
    caption="the mean reward of every action as run 0 met it; the heavy line is the best action of the moment",
    comparator="always choosing the best action",
)

FRESH = Words(
    one="feature",
    best="best action",
    others="features",
    lines="the parameter, feature by feature",
    caption="the parameter behind the rewards as run 0 met it, a line for each feature; "
    "every round has actions of its own, so there are no means to follow",
    comparator="always choosing the best action",
    ranked=False,
)


def words_of(world: World) -> Words:
    """The words for a world of this family."""
    return ACTIONS if world.lasting else FRESH
