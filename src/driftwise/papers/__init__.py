"""Papers whose numbers can be made again. One folder each, found by listing this one.

A paper's package holds `PAPER`: its studies by scale, its claims, and its figures.
"""

import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from driftwise.core.spec import lookup
from driftwise.study.claims import Claim, Evidence
from driftwise.study.study import Study

SCALES = ("quick", "full")


class Paper(NamedTuple):
    """What there is to reproduce. `studies` and `claims` take a scale; `figures` draws what the evidence allows."""

    name: str
    title: str
    source: str
    notes: tuple[str, ...]
    studies: Callable[[str, int | None], Mapping[str, Study]]
    claims: Callable[[str], list[Claim]]
    figures: Callable[[Evidence], list[Any]]


def names() -> list[str]:
    """The papers there are, by name."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.ispkg)


def paper(name: str) -> Paper:
    """The paper called `name`."""
    lookup(name, dict.fromkeys(names(), True), "paper")
    found: Paper = import_module(f"{__name__}.{name.replace('-', '_')}").PAPER
    return found
