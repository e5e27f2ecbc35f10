"""What choices are called on pages and in tables."""

from driftwise.core.protocols import World
from driftwise.core.words import Column, Words

RESTLESS = Words(
    one="chance",
    best="good arms",
    others="chances",
    lines="the chances by which arms move",
    caption="what drifts behind the transitions as run 0 met it; it moves between episodes",
    comparator="activating the arms with the largest Whittle indices of the true transitions",
    good="no less was earned than by the oracle, which had come through the same rounds in its own way",
    columns=(Column("share", "of the\noracle", "reward", of="benchmark"),),
    ranked=False,
)


def words_of(world: World) -> Words:
    """The words for a world of this family."""
    return RESTLESS
