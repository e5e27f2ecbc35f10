"""What choices are called on pages and in tables."""

from driftwise.core.protocols import World
from driftwise.core.words import Words
from driftwise.families.knapsack.words import BUDGETED

FEATURED = BUDGETED._replace(
    one="level",
    best="plan's action",
    heavy="",
    others="levels of demand",
    lines="the demand of each kind",
    caption="what drifts behind rewards and costs as run 0 met it, line by line; "
    "every round has actions of its own, so there are no means to follow",
    ranked=False,
)


def words_of(world: World) -> Words:
    """The words for a world of this family."""
    return FEATURED
