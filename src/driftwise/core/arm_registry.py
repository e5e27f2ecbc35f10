"""The arms of an agent: their names, the places kernels know them by, and the numbers that pending decisions keep.

Arms come and go, and places are used again; a number never is, so that a late reward finds its arm, or nobody.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from driftwise.core.encoding import Arm
from driftwise.core.validation import whole
from driftwise.errors import ArmError, ParameterError


class ArmRegistry:
    """Names in the order of their places. It does not change: arms that come and go make another."""

    def __init__(
        self, names: Sequence[Arm], numbers: Sequence[int] | None = None, following: int | None = None
    ) -> None:
        self.names = list(names)
        self.numbers = list(range(len(self.names)) if numbers is None else numbers)
        self.following = len(self.names) if following is None else following  # the number of the next arm to come
        self.places = {number: place for place, number in enumerate(self.numbers)}

    def __len__(self) -> int:
        return len(self.names)

    def joined(self, name: Arm) -> "ArmRegistry":
        """With one more arm."""
        if name in self.names:
            raise ArmError(f"there is an arm {name!r} already")
        return ArmRegistry([*self.names, name], [*self.numbers, self.following], self.following + 1)

    def left(self, name: Arm, least: int) -> "ArmRegistry":
        """Without an arm; at least `least` must stay."""
        if name not in self.names:
            raise ArmError(f"there is no arm {name!r}: there are {', '.join(map(repr, self.names)) or 'none'}")
        if len(self.names) == 1:
            raise ArmError(f"{name!r} is the last arm: add another before retiring it")
        if len(self.names) == least:
            raise ArmError(f"{name!r} is one of {len(self.names)} arms, and as many are chosen at once: add another")
        stay = [place for place, other in enumerate(self.names) if other != name]
        return ArmRegistry([self.names[p] for p in stay], [self.numbers[p] for p in stay], self.following)

    def place(self, name: Any) -> int:
        """Where an arm is."""
        if name not in self.names:
            raise ArmError(f"there is no arm {name!r}: there are {', '.join(map(repr, self.names)) or 'none'}")
        return self.names.index(name)

    def kept(self, other: "ArmRegistry") -> list[int]:
        """Where each arm of another registry is in this one; -1 for those that are not."""
        return [self.places.get(number, -1) for number in other.numbers]


def registry_of(arms: Any) -> ArmRegistry:
    """The arms of a problem: how many, called 0, 1, ..., or their names."""
    if arms is None:
        raise ParameterError("arms is missing: give a count or names")
    if isinstance(arms, str):
        raise ParameterError(f"arms={arms!r} is one string: give a list of names")
    if isinstance(arms, int | np.integer) or not isinstance(arms, Iterable):
        return ArmRegistry(range(whole("arms", arms, high=10**6)))
    names = [plain_name(name) for name in arms]
    if not names:
        raise ParameterError("arms is empty: a problem needs at least one")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ParameterError(f"arms {sorted(map(str, twice))} are named twice")
    return ArmRegistry(names)


def plain_name(name: Any) -> Arm:
    """A name that can be written down: text, or a whole number of 64 bits."""
    if isinstance(name, str) and name.isprintable():
        return str(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and -(2**63) <= name < 2**63:
        return int(name)
    raise ParameterError(f"arm names must be printable text or 64-bit integers; got {name!r}")
