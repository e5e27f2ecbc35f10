"""What the choices in a world are called, on pages and in tables."""

from typing import Any, NamedTuple

from driftwise.measure.variation import lasting


class Choices(NamedTuple):
    """The words for one kind of world. `lines` is what its picture shows one line of each, `caption` how to read it."""

    one: str
    best: str
    others: str
    lines: str
    caption: str


ARMS = Choices(
    one="arm",
    best="best arm",
    others="other arms",
    lines="mean reward of each arm",
    caption="the mean reward of every arm as run 0 met it; the heavy line is the best arm of the moment",
)
ACTIONS = Choices(
    one="action",
    best="best action",
    others="other actions",
    lines="mean reward of each action",
    caption="the mean reward of every action as run 0 met it; the heavy line is the best action of the moment",
)
FRESH = Choices(
    one="feature",
    best="best action",
    others="features",
    lines="the parameter, feature by feature",
    caption="the parameter behind the rewards as run 0 met it, a line for each feature; "
    "every round has actions of its own, so there are no means to follow",
)
SLATES = Choices(
    one="item",
    best="best slate",
    others="other items",
    lines="mean reward of each item",
    caption="the mean reward of every item as run 0 met it; the heavy lines are the best slate of the moment",
)
BY_FAMILY = {"armed": ARMS, "features": ACTIONS, "slates": SLATES}


def choices_of(world: Any) -> Choices:
    """The words for a world."""
    return BY_FAMILY[world.problem().family] if lasting(world) else FRESH
