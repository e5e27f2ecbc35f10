"""The arms of an agent: names for programs, indices for kernels, and uids for pending decisions.

An index is used again when an arm leaves; a uid never is, so that a late reward is never credited to another arm.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from driftwise.core.encoding import Arm
from driftwise.core.validation import whole
from driftwise.errors import ArmError, ParameterError


class ArmRegistry:
    """Names in the order of their indices. It does not change: to add or retire an arm makes another registry."""

    def __init__(self, names: Sequence[Arm], uids: Sequence[int] | None = None, next_uid: int | None = None) -> None:
        self.names = list(names)
        self.uids = list(range(len(self.names)) if uids is None else uids)
        self.next_uid = len(self.names) if next_uid is None else next_uid  # of the next arm that is added
        self.index_by_uid = {uid: index for index, uid in enumerate(self.uids)}

    def __len__(self) -> int:
        return len(self.names)

    def with_arm(self, name: Arm) -> "ArmRegistry":
        """A registry with one more arm."""
        if name in self.names:
            raise ArmError(f"there is an arm {name!r} already")
        return ArmRegistry([*self.names, name], [*self.uids, self.next_uid], self.next_uid + 1)

    def without_arm(self, name: Arm, least: int) -> "ArmRegistry":
        """A registry without an arm; at least `least` arms must stay."""
        if name not in self.names:
            raise ArmError(f"there is no arm {name!r}: there are {', '.join(map(repr, self.names)) or 'none'}")
        if len(self.names) == 1:
            raise ArmError(f"{name!r} is the last arm: add another before retiring it")
        if len(self.names) == least:
            raise ArmError(f"{name!r} is one of {len(self.names)} arms, and as many are chosen at once: add another")
        stay = [index for index, other in enumerate(self.names) if other != name]
        return ArmRegistry([self.names[i] for i in stay], [self.uids[i] for i in stay], self.next_uid)

    def index(self, name: object) -> int:
        """The index of an arm, by its name."""
        if name not in self.names:
            raise ArmError(f"there is no arm {name!r}: there are {', '.join(map(repr, self.names)) or 'none'}")
        return self.names.index(name)

    def old_indices(self, other: "ArmRegistry") -> list[int]:
        """For each arm of another registry, its index in this one; -1 for an arm that is not in this one."""
        return [self.index_by_uid.get(uid, -1) for uid in other.uids]


def registry_of(arms: object) -> ArmRegistry:
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


def plain_name(name: object) -> Arm:
    """A name that can be written down: text, a whole number of 64 bits, or a number such as a price."""
    if isinstance(name, str) and name.isprintable():
        return str(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and -(2**63) <= name < 2**63:
        return int(name)
    if isinstance(name, float | np.floating) and math.isfinite(name):
        return float(name)
    raise ParameterError(f"arm names must be printable text, 64-bit integers or finite numbers; got {name!r}")
