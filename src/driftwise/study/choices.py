"""What the choices in a world are called, on pages and in tables."""

from typing import Any, NamedTuple

from driftwise.core.types import Floats
from driftwise.measure.variation import lasting
from driftwise.study.results import Results
from driftwise.study.study import Cell


class Column(NamedTuple):
    """A column that only some families have: an outcome by its name in results, perhaps as a share of another."""

    name: str
    title: str
    outcome: str
    of: str = ""
    percent: bool = True


class Choices(NamedTuple):
    """The words for one kind of world. `lines` is what its picture shows one line of each, `caption` how to read it.

    `rival` is what regret is held against, `good` when a choice counts as the best. `ranked` says that lines compete,
    and the largest is the best, or what `heavy` says.
    """

    one: str
    best: str
    others: str
    lines: str
    caption: str
    rival: str
    good: str = "no other choice had a larger mean"
    columns: tuple[Column, ...] = ()
    ranked: bool = True
    heavy: str = ""

    @property
    def largest(self) -> str:
        """What the heavy line is called: the best choice, where nothing else was said."""
        return self.heavy or self.best


ARMS = Choices(
    one="arm",
    best="best arm",
    others="other arms",
    lines="mean reward of each arm",
    caption="the mean reward of every arm as run 0 met it; the heavy line is the best arm of the moment",
    rival="always choosing the best arm",
)
ACTIONS = Choices(
    one="action",
    best="best action",
    others="other actions",
    lines="mean reward of each action",
    caption="the mean reward of every action as run 0 met it; the heavy line is the best action of the moment",
    rival="always choosing the best action",
)
FRESH = Choices(
    one="feature",
    best="best action",
    others="features",
    lines="the parameter, feature by feature",
    caption="the parameter behind the rewards as run 0 met it, a line for each feature; "
    "every round has actions of its own, so there are no means to follow",
    rival="always choosing the best action",
    ranked=False,
)
SLATES = Choices(
    one="item",
    best="best slate",
    others="other items",
    lines="mean reward of each item",
    caption="the mean reward of every item as run 0 met it; the heavy lines are the best slate of the moment",
    rival="always choosing the best slate",
)
BUDGETED = Choices(
    one="arm",
    best="plan's arm",
    heavy="largest reward",
    others="other arms",
    lines="mean reward of each arm",
    caption="the mean reward of every arm as run 0 met it, its costs not shown; the heavy line is the largest",
    rival="following the best plan in hindsight",
    good="no other choice was worth more at the prices of the best plan",
    columns=(Column("share", "of the\nplan", "reward", of="benchmark"), Column("spent", "budget\nspent", "spent")),
)
POINTS = Choices(
    one="constraint",
    best="good point",
    others="constraints",
    lines="each constraint in the middle of the domain",
    caption="every constraint in the middle of the domain as run 0 met it, before luck; at most 0 where it is kept",
    rival="playing the best fixed point that keeps the constraints on average",
    good="no more was lost than by the best fixed point",
    columns=(Column("violation", "constraints\noverdrawn by", "violation", percent=False),),
    ranked=False,
)
RESTLESS = Choices(
    one="chance",
    best="good arms",
    others="chances",
    lines="the chances by which arms move",
    caption="what drifts behind the kernels as run 0 met it; it moves between episodes",
    rival="activating the arms with the largest Whittle indices of the true kernels",
    good="no less was earned than by the oracle, which had come through the same rounds in its own way",
    columns=(Column("share", "of the\noracle", "reward", of="benchmark"),),
    ranked=False,
)
BY_FAMILY = {
    "armed": ARMS,
    "features": ACTIONS,
    "slates": SLATES,
    "budgets": BUDGETED,
    "convex": POINTS,
    "restless": RESTLESS,
}


def column_values(results: Results, cells: list[Cell], column: Column) -> Floats:
    """What every run has in a column."""
    values = results.column(cells, column.outcome)
    return values / results.column(cells, column.of) if column.of else values


def choices_of(world: Any) -> Choices:
    """The words for a world."""
    return BY_FAMILY[world.problem().family] if lasting(world) else FRESH
