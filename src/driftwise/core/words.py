"""What the choices in a world are called, on pages and in tables: each family has words of its own."""

from typing import NamedTuple


class Column(NamedTuple):
    """A column that only some families have: an outcome by its name in results, perhaps as a share of another."""

    name: str
    title: str
    outcome: str
    of: str = ""
    percent: bool = True


class Words(NamedTuple):
    """The words for one kind of world. `lines` is what its picture shows one line of each, `caption` how to read it.

    `comparator` is what regret is measured against, `good` when a choice counts as the best. `ranked` says that lines
    compete, and the largest is the best, or what `heavy` says.
    """

    one: str
    best: str
    others: str
    lines: str
    caption: str
    comparator: str
    good: str = "no other choice had a larger mean"
    columns: tuple[Column, ...] = ()
    ranked: bool = True
    heavy: str = ""

    @property
    def largest(self) -> str:
        """What the heavy line is called: the best choice, where nothing else was said."""
        return self.heavy or self.best
