"""Papers that can be reproduced, one folder each.

The package of a paper defines `PAPER`: its studies by scale, its claims, its tables and its figures. What is known to
come out otherwise than printed is in the `expected.csv` beside it, recorded from runs (`tools/record_expected.py`).
"""

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, TypeVar

from driftwise.core.spec import lookup
from driftwise.study.claims import Claim, Evidence
from driftwise.study.plots.lines import Drawing
from driftwise.study.printed import PaperAnswer, PrintedTable
from driftwise.study.study import Study
from driftwise.study.verdicts import Expected, read_expected

SCALES = ("quick", "full")
W = TypeVar("W")


class Paper(NamedTuple):
    """What there is to reproduce. `studies`, `claims` and `tables` take a scale; `figures` draws what was played.

    `answer` is the first screen of its page: what was printed, what comes out, what does not and why, what to use.

    Where a paper uses data that cannot be distributed, `data` names the substitute, and `with_data` returns the paper
    that reads your file instead.
    """

    name: str
    title: str
    source: str
    notes: tuple[str, ...]
    studies: Callable[[str, int | None], Mapping[str, Study]]
    claims: Callable[[str], list[Claim]]
    figures: Callable[[Evidence], list[Drawing]]
    answer: PaperAnswer | None = None
    tables: Callable[[str], list[PrintedTable]] = lambda scale: []
    data: str = ""
    with_data: "Callable[[Path], Paper] | None" = None

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(__file__).parent / self.name.replace("-", "_")

    def expected(self) -> dict[str, Expected]:
        """What earlier runs found where it does not come out as printed, by claim."""
        return read_expected(self.folder / "expected.csv")


class Shelf(Mapping[str, Study]):
    """Studies by name, each created on access: some take seconds to prepare."""

    def __init__(self, makers: Mapping[str, Callable[[], Study]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> Study:
        return self._makers[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def only_world(study: Study, *kinds: type[W]) -> W:
    """The one world of a study, which is of one of these kinds."""
    (world,) = study.worlds.values()
    if isinstance(world, kinds):
        return world
    raise TypeError(f"the study {study.name} has the world {world}")


def names() -> list[str]:
    """The papers there are, by name."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.ispkg)


def paper(name: str) -> Paper:
    """The paper called `name`."""
    lookup(name, dict.fromkeys(names(), True), "paper")
    entry: Paper = import_module(f"{__name__}.{name.replace('-', '_')}").PAPER
    return entry
