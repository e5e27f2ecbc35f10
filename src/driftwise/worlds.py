"""Drifting worlds to try policies in, of every family: `driftwise.worlds.Abrupt()`.

`Delayed` makes the rewards of any other world late; `driftwise worlds` lists them all.
"""

from typing import TYPE_CHECKING, Any

from driftwise.errors import no_attribute
from driftwise.families import WORLDS
from driftwise.families.composite.worlds.delayed import Delayed as Delayed

if TYPE_CHECKING:
    from driftwise.families import *  # noqa: F403

_CLASSES = {kind.__name__: kind for kind in WORLDS.values()}


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise no_attribute(__name__, name, __dir__())
    return _CLASSES[name]


def __dir__() -> list[str]:
    return sorted([*_CLASSES, "Delayed"])
