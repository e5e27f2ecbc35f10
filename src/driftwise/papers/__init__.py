"""Papers whose numbers can be made again. One folder each, found by listing this one.

A paper's package holds `PAPER`: its studies by scale, its claims, and its figures.
"""

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from driftwise.core.spec import lookup
from driftwise.study.claims import Claim, Evidence
from driftwise.study.study import Study

SCALES = ("quick", "full")


class Paper(NamedTuple):
    """What there is to reproduce. `studies` and `claims` take a scale; `figures` draws what the evidence allows.

    Where a paper played data that cannot be handed on, `data` says what is played instead, and `with_data` makes the
    paper that plays a file of yours.
    """

    name: str
    title: str
    source: str
    notes: tuple[str, ...]
    studies: Callable[[str, int | None], Mapping[str, Study]]
    claims: Callable[[str], list[Claim]]
    figures: Callable[[Evidence], list[Any]]
    data: str = ""
    with_data: "Callable[[Path], Paper] | None" = None


class Shelf(Mapping[str, Study]):
    """Studies by name, each made when it is asked for: some cost seconds of preparation."""

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


def names() -> list[str]:
    """The papers there are, by name."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.ispkg)


def paper(name: str) -> Paper:
    """The paper called `name`."""
    lookup(name, dict.fromkeys(names(), True), "paper")
    found: Paper = import_module(f"{__name__}.{name.replace('-', '_')}").PAPER
    return found
