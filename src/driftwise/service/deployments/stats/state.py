"""State of a deployment's statistics: small, whatever the age of the deployment, and part of its snapshots."""

import functools
import math
from array import array
from collections.abc import Iterable

import msgspec

MAX_BINS = 96
MAX_RECENT = 1000
CHOSEN, REWARDED, SUM, SQUARES, FIELDS = 0, 1, 2, 3, 4
SECOND = 1_000_000
# Close-ups of the last hour, day and week: the width of their bins and the time they cover, in microseconds.
CLOSE_UPS = {64 * SECOND: 3600 * SECOND, 1024 * SECOND: 86_400 * SECOND, 8192 * SECOND: 604_800 * SECOND}


def numbers(*values: float) -> "array[float]":
    """An array of numbers that can grow."""
    return array("d", values)


class TimeBin(msgspec.Struct, array_like=True):
    """A bin of time.

    `cells` has four numbers per label, `floor` is the least propensity. `tracks` has the numbers of each track that the
    family records; of a mean the count, the sum and the sum of squares. `earned` has the sums of `rewards.py`. Rewards
    in sums are less the shifts of the state.
    """

    index: int
    cells: array  # type: ignore[type-arg]
    floor: float = math.inf
    n_decisions: int = 0
    tracks: list[array] = []  # type: ignore[type-arg]
    earned: array = msgspec.field(default_factory=numbers)  # type: ignore[type-arg]

    def copy(self) -> "TimeBin":
        """A bin with the same numbers."""
        tracks = [each[:] for each in self.tracks]
        return TimeBin(self.index, self.cells[:], self.floor, self.n_decisions, tracks, self.earned[:])

    def merge(self, later: "TimeBin", index: int, joins: list[str]) -> "TimeBin":
        """Merge with the next bin; `joins` says how each track is."""
        pairs = zip(joins, self.tracks, later.tracks, strict=True)
        return TimeBin(
            index,
            _add(self.cells, later.cells),
            min(self.floor, later.floor),
            self.n_decisions + later.n_decisions,
            [(after or before) if join == "last" else _add(before, after) for join, before, after in pairs],
            _add(self.earned, later.earned),
        )


class CloseUp(msgspec.Struct, array_like=True):
    """Bins of a fixed width, for the latest part of a life whose own bins have become wider."""

    width: int
    bins: list[TimeBin]


class ChangeTest(msgspec.Struct, array_like=True):
    """Page's test on an arm: count, mean and squared deviations of its rewards since the last change, and two sums."""

    count: int = 0
    mean: float = 0.0
    rise: float = 0.0
    fall: float = 0.0
    squares: float = 0.0


class StatsState(msgspec.Struct, array_like=True):
    """All of it. `tracks` are those of the family: name, how bins are joined, and labels.

    `bins` cover the whole life, and become wider as it goes on; `close_ups` cover the last hour, day and week, as soon
    as `bins` are too wide for that. `shift` is what rewards of decisions are less in all sums, `arm_shift` those of
    arms: None before the first reward of a range that is not known, and 0 in states of before there were shifts.
    `track_shifts` are those of tracks that are means: None before the first number, empty in states of before.
    """

    width: int = SECOND  # of a bin, in microseconds
    labels: list[str] = []
    bins: list[TimeBin] = []
    recent_labels: array = msgspec.field(default_factory=numbers)  # type: ignore[type-arg]
    recent_rewards: array = msgspec.field(default_factory=numbers)  # type: ignore[type-arg]
    slot: int = 0  # of the oldest recent reward
    delays: list[int] = []
    tests: list[ChangeTest] = []
    changes: list[tuple[int, str, float, float]] = []
    n_alarms: int = 0
    alarm_times: list[int] = []
    seconds: list[tuple[int, int]] = []
    n_decided: int = 0
    n_learned: int = 0
    n_defaulted: int = 0
    n_stale: int = 0
    n_ignored: int = 0
    total_reward: float = 0.0
    tracks: list[tuple[str, str, list[str]]] = []
    close_ups: list[CloseUp] = []
    shift: float | None = 0.0
    arm_shift: float | None = 0.0
    track_shifts: list[float | None] = []

    def track_shift(self, index: int) -> float:
        """What numbers of a track are less in its sums."""
        return (self.track_shifts[index] or 0.0) if self.track_shifts else 0.0


def empty(low: float, tracks: list[tuple[str, str, list[str]]]) -> StatsState:
    """The state of the statistics of a new deployment, with rewards of at least `low`, where that is finite."""
    shift = low if math.isfinite(low) else None
    return StatsState(tracks=tracks, shift=shift, arm_shift=shift, track_shifts=[None for _ in tracks])


def encode(state: StatsState) -> bytes:
    """Serialize a state."""
    return msgspec.msgpack.encode(state, enc_hook=lambda each: each.tobytes())


def decode(blob: bytes) -> StatsState:
    """Deserialize a state."""
    return _STATE.decode(blob)


_STATE = msgspec.msgpack.Decoder(StatsState, dec_hook=lambda _, each: array("d", each))


def sum_arrays(arrays: "Iterable[array[float]]") -> "array[float]":
    """The sum, cell by cell; missing cells are 0."""
    return functools.reduce(_add, arrays, numbers())


def _add(one: "array[float]", other: "array[float]") -> "array[float]":
    longer = max(len(one), len(other))
    pairs = ([*each, *[0.0] * (longer - len(each))] for each in (one, other))
    return numbers(*(a + b for a, b in zip(*pairs, strict=True)))
