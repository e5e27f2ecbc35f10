"""What a monitor has written down, as data: small, whatever the age of a deployment, and part of its snapshots."""

import math
from array import array
from typing import Any

import msgspec

STRETCHES = 96
LATELY = 1000
DECIDED, REWARDED, SUM, SQUARES, FIELDS = 0, 1, 2, 3, 4


def numbers(*values: float) -> Any:
    """An array of numbers that can grow."""
    return array("d", values)


class Stretch(msgspec.Struct, array_like=True):
    """A stretch of time.

    `cells` has four numbers per label, `floor` the least propensity, `decided` how many decisions there were. With
    budgets, `purse` is how it stood last: the share of rounds to come, then of each resource what is left and what
    there is in all. With arms that move, `rounds` counts and sums what an arm earned a round, and squares of that;
    `states` counts the arms seen in each state.
    """

    index: int
    cells: array  # type: ignore[type-arg]
    floor: float = math.inf
    decided: int = 0
    purse: array = msgspec.field(default_factory=numbers)  # type: ignore[type-arg]
    rounds: array = msgspec.field(default_factory=numbers)  # type: ignore[type-arg]
    states: array = msgspec.field(default_factory=numbers)  # type: ignore[type-arg]

    def joined(self, later: "Stretch", index: int) -> "Stretch":
        """One with the next, both together."""
        return Stretch(
            index,
            _sum(self.cells, later.cells),
            min(self.floor, later.floor),
            self.decided + later.decided,
            later.purse or self.purse,
            _sum(self.rounds, later.rounds),
            _sum(self.states, later.states),
        )


class Walk(msgspec.Struct, array_like=True):
    """The mean of an arm since its last change, how far rewards have walked above and below it, and their squared
    distances from it.
    """

    count: int = 0
    mean: float = 0.0
    rise: float = 0.0
    fall: float = 0.0
    squares: float = 0.0


class Notes(msgspec.Struct, array_like=True):
    """All of it. `resources` and `states` are the names by which budgets and moving arms are told."""

    width: int = 1_000_000  # microseconds
    labels: list[str] = []
    stretches: list[Stretch] = []
    places: array = msgspec.field(default_factory=numbers)  # type: ignore[type-arg]
    rewards: array = msgspec.field(default_factory=numbers)  # type: ignore[type-arg]
    slot: int = 0
    delays: list[int] = []
    walks: list[Walk] = []
    changes: list[tuple[int, str, float, float]] = []
    alarms: int = 0
    alarmed: list[int] = []
    seconds: list[tuple[int, int]] = []
    decided: int = 0
    learned: int = 0
    defaulted: int = 0
    stale: int = 0
    ignored: int = 0
    earned: float = 0.0
    resources: list[str] = []
    states: list[str] = []


def on_paper(notes: Notes) -> bytes:
    """Notes as bytes."""
    return msgspec.msgpack.encode(notes, enc_hook=lambda each: each.tobytes())


def from_paper(blob: bytes) -> Notes:
    """Notes that were written down."""
    return msgspec.msgpack.decode(blob, type=Notes, dec_hook=lambda _, each: array("d", each))


def _sum(one: Any, other: Any) -> Any:
    """Cell by cell; what one of them does not have is nothing."""
    longer = max(len(one), len(other))
    pairs = ([*each, *[0.0] * (longer - len(each))] for each in (one, other))
    return numbers(*(a + b for a, b in zip(*pairs, strict=True)))
