"""What people look at: who was chosen when, what it earned lately, how late rewards come, and what has changed.

It is part of the fold, so that a restart loses none of it, and small: a hundred or so stretches of time for the whole
life of a deployment, which are joined two by two when they become too many, and the last thousand rewards.

Changes are looked for whatever the policy: for every arm two sums go up with rewards above and below its mean since
the last change, less a slack, as in Page's test. On rewards that do not change, scaled to [0, 1], it gives a false
alarm about once in 30,000 rewards at worst (fair coins), and it sees a step of 0.3 after about 50.
"""

import math
from array import array
from typing import Any

import msgspec
import numpy as np

STRETCHES = 96
LATELY = 1000
DECIDED, REWARDED, SUM, SQUARES, FIELDS = 0, 1, 2, 3, 4
TRAILING = 8  # stretches that are taken together for a windowed mean
DELAYS = 40  # powers of two of a millisecond: up to ten years
WARMUP, SLACK, HEIGHT = 30, 0.1, 10.0
CHANGES = 50
RATE_SECONDS = 60
OTHERS = "others"
MOST_LABELS = 200


class Stretch(msgspec.Struct, array_like=True):
    """A stretch of time: four numbers per label, the least propensity, and how many decisions there were."""

    index: int
    cells: array  # type: ignore[type-arg]
    floor: float
    decided: int


class Walk(msgspec.Struct, array_like=True):
    """The mean of an arm since its last change, and how far rewards have walked above and below it."""

    count: int = 0
    mean: float = 0.0
    rise: float = 0.0
    fall: float = 0.0


class Notes(msgspec.Struct, array_like=True):
    """All of it, as data."""

    width: int = 1_000_000  # microseconds
    labels: list[str] = []
    stretches: list[Stretch] = []
    places: array = msgspec.field(default_factory=lambda: array("d"))  # type: ignore[type-arg]
    rewards: array = msgspec.field(default_factory=lambda: array("d"))  # type: ignore[type-arg]
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


def on_paper(notes: Notes) -> bytes:
    """Notes as bytes."""
    return msgspec.msgpack.encode(notes, enc_hook=lambda numbers: numbers.tobytes())


def from_paper(blob: bytes) -> Notes:
    """Notes that were written down."""
    return msgspec.msgpack.decode(blob, type=Notes, dec_hook=lambda _, numbers: array("d", numbers))


class Monitor:
    """Takes note of decisions and outcomes. `low` and `span` bring rewards to [0, 1] for the test of change."""

    def __init__(self, low: float, span: float, notes: Notes | None = None) -> None:
        self.notes = Notes() if notes is None else notes
        self._bounded = math.isfinite(low)
        self._low, self._span = (low, span) if self._bounded else (0.0, span)
        self._places = {label: place for place, label in enumerate(self.notes.labels)}

    def decided(self, at: int, action: Any, propensity: float | None) -> None:
        """A decision was made."""
        notes = self.notes
        notes.decided += 1
        stretch = self._stretch(at)
        stretch.decided += 1
        for label in labels_of(action):
            self._cell(stretch, label, DECIDED, 1.0)
        if propensity is not None and propensity < stretch.floor:
            stretch.floor = propensity
        second = at // 1_000_000
        seconds = notes.seconds
        if seconds and seconds[-1][0] == second:
            seconds[-1] = second, seconds[-1][1] + 1
        else:
            seconds.append((second, 1))
            if len(seconds) > RATE_SECONDS:
                del seconds[0]

    def learned(self, at: int, since: int, action: Any, told: dict[str, Any], *, status: str, defaulted: bool) -> None:
        """An outcome came of the decision made at `since`."""
        notes = self.notes
        if defaulted:
            notes.defaulted += 1
        else:
            notes.learned += 1
            delay = min(DELAYS - 1, (max(0, at - since) // 1000).bit_length())
            if not notes.delays:
                notes.delays = [0] * DELAYS
            notes.delays[delay] += 1
        if status == "stale":
            notes.stale += 1
        elif status == "ignored":
            notes.ignored += 1
        notes.earned -= told.get("loss", 0.0)
        labels = labels_of(action)
        rewards = told.get("rewards")
        values = [told.get("reward", 0.0)] * len(labels) if rewards is None else rewards
        stretch = self._stretch(at)
        for label, value in zip(labels, values, strict=False):
            notes.earned += value
            self._cell(stretch, label, REWARDED, 1.0)
            self._cell(stretch, label, SUM, value)
            self._cell(stretch, label, SQUARES, value * value)
            self._lately(label, value)
            if not defaulted:
                self._watch(at, label, (value - self._low) / self._span)

    def alarmed(self, at: int, alarms: int) -> None:
        """The policy has noticed so many changes by now."""
        if alarms > self.notes.alarms:
            self.notes.alarmed = [*self.notes.alarmed[1 - CHANGES :], at]
        self.notes.alarms = alarms

    # ---- keeping it small ----

    def _place(self, label: str) -> int:
        place = self._places.get(label)
        if place is None:
            if len(self._places) >= MOST_LABELS:
                return self._place(OTHERS) if OTHERS in self._places else self._add(OTHERS)
            return self._add(label)
        return place

    def _add(self, label: str) -> int:
        self._places[label] = place = len(self.notes.labels)
        self.notes.labels.append(label)
        self.notes.walks.append(Walk())
        return place

    def _cell(self, stretch: Stretch, label: str, field: int, value: float) -> None:
        place = FIELDS * self._place(label) + field
        if place >= len(stretch.cells):
            stretch.cells.frombytes(bytes(8 * (FIELDS * len(self.notes.labels) - len(stretch.cells))))
        stretch.cells[place] += value

    def _stretch(self, at: int) -> Stretch:
        notes = self.notes
        index = at // notes.width
        if notes.stretches and notes.stretches[-1].index >= index:
            return notes.stretches[-1]
        if len(notes.stretches) >= STRETCHES:
            self._widen()
            return self._stretch(at)
        notes.stretches.append(Stretch(index, array("d"), math.inf, 0))
        return notes.stretches[-1]

    def _widen(self) -> None:
        """Stretches twice as wide."""
        notes = self.notes
        notes.width *= 2
        joined: list[Stretch] = []
        for stretch in notes.stretches:
            index = stretch.index // 2
            if not joined or joined[-1].index != index:
                joined.append(Stretch(index, stretch.cells, stretch.floor, stretch.decided))
                continue
            last, longer = joined[-1], max(len(joined[-1].cells), len(stretch.cells))
            pairs = ([*each.cells, *[0.0] * (longer - len(each.cells))] for each in (last, stretch))
            last.cells = array("d", (a + b for a, b in zip(*pairs, strict=True)))
            last.floor, last.decided = min(last.floor, stretch.floor), last.decided + stretch.decided
        notes.stretches = joined

    def _lately(self, label: str, value: float) -> None:
        notes, place = self.notes, float(self._place(label))
        if len(notes.rewards) < LATELY:
            notes.places.append(place)
            notes.rewards.append(value)
        else:
            notes.places[notes.slot], notes.rewards[notes.slot] = place, value
            notes.slot = (notes.slot + 1) % LATELY

    def _watch(self, at: int, label: str, reward: float) -> None:
        """Has the mean of this arm changed?"""
        place = self._place(label)
        walk = self.notes.walks[place]
        walk.count += 1
        walk.mean += (reward - walk.mean) / walk.count
        if walk.count <= WARMUP:
            return
        walk.rise = max(0.0, walk.rise + reward - walk.mean - SLACK)
        walk.fall = max(0.0, walk.fall - reward + walk.mean - SLACK)
        if max(walk.rise, walk.fall) >= HEIGHT:
            direction = 1.0 if walk.rise > walk.fall else -1.0
            mean = self._low + self._span * walk.mean
            self.notes.changes = [*self.notes.changes[1 - CHANGES :], (at, label, direction, mean)]
            self.notes.walks[place] = Walk()

    # ---- what is asked ----

    def report(self, now: int) -> dict[str, Any]:
        """Everything, for a page that draws it."""
        notes = self.notes
        began = notes.stretches[0].index * notes.width if notes.stretches else now
        seconds = min(RATE_SECONDS, max(1.0, (now - began) / 1e6))
        recent = [count for second, count in notes.seconds if second > now // 1_000_000 - RATE_SECONDS]
        return {
            "labels": notes.labels,
            "width_seconds": notes.width / 1e6,
            "window_seconds": TRAILING * notes.width / 1e6,
            "stretches": self._stretches(),
            "lately": self._intervals(),
            "changes": [
                {"at": at / 1e6, "arm": label, "direction": "up" if sign > 0 else "down", "mean_before": mean}
                for at, label, sign, mean in notes.changes
            ],
            "alarms": {"count": notes.alarms, "at": [at / 1e6 for at in notes.alarmed]},
            "delays": [
                {"seconds_below": 2.0**power / 1000, "count": count}
                for power, count in enumerate(notes.delays)
                if count
            ],
            "propensity_floor": _finite(min((each.floor for each in notes.stretches), default=math.inf)),
            "decisions_per_second": sum(recent) / seconds,
            "decided": notes.decided,
            "learned": notes.learned,
            "defaulted": notes.defaulted,
            "stale": notes.stale,
            "ignored": notes.ignored,
            "earned": notes.earned,
        }

    def _stretches(self) -> list[dict[str, Any]]:
        """Each stretch: who was chosen, and what each arm earned in the window that ends with it."""
        stretches, labels = self.notes.stretches, len(self.notes.labels)
        cells = np.zeros((len(stretches), labels, FIELDS))
        for row, stretch in zip(cells.reshape(len(stretches), labels * FIELDS), stretches, strict=True):
            row[: len(stretch.cells)] = stretch.cells
        told, first = [], 0
        for last, stretch in enumerate(stretches):
            while stretches[first].index <= stretch.index - TRAILING:
                first += 1
            window = cells[first : last + 1].sum(0)
            told.append(
                {
                    "at": stretch.index * self.notes.width / 1e6,
                    "decisions": stretch.decided,
                    "decided": cells[last, :, DECIDED].astype(int).tolist(),
                    "rewarded": cells[last, :, REWARDED].astype(int).tolist(),
                    "propensity_floor": _finite(stretch.floor),
                    "window": [self._interval(*each) for each in window[:, REWARDED:].tolist()],
                }
            )
        return told

    def _interval(self, count: float, total: float, squares: float) -> tuple[int, float, float, float] | None:
        """How many rewards, their mean, and a 95% interval for what it should be; nothing of nothing.

        Where rewards lie in a known range, two more at either end are counted in, as Agresti and Coull do for coins:
        few rewards that happen to be alike do not make a narrow interval. Otherwise it is the normal approximation.
        """
        if not count:
            return None
        mean = total / count
        if not self._bounded:
            half = 1.96 * math.sqrt(max(0.0, squares - total * mean) / max(1.0, count - 1) / count)
            return int(count), mean, mean - half, mean + half
        low, high = self._low, self._low + self._span
        more = count + 4
        centre = (total + 2 * (low + high)) / more
        half = 1.96 * math.sqrt(max(0.0, (squares + 2 * (low * low + high * high)) / more - centre * centre) / more)
        return int(count), mean, max(low, centre - half), min(high, centre + half)

    def _intervals(self) -> list[dict[str, Any]]:
        """The mean of the last rewards of each arm, with a 95% interval by the normal approximation."""
        values: dict[float, array[float]] = {}
        for place, value in zip(self.notes.places, self.notes.rewards, strict=True):
            values.setdefault(place, array("d")).append(value)
        told = []
        for place, label in enumerate(self.notes.labels):
            rewards = values.get(place, array("d"))
            count = len(rewards)
            mean = math.fsum(rewards) / count if count else None
            half = None
            if mean is not None and count > 1:
                half = 1.96 * math.sqrt(math.fsum((each - mean) ** 2 for each in rewards) / (count - 1) / count)
            told.append({"arm": label, "count": count, "mean": mean, "ci95": half})
        return told


def labels_of(action: Any) -> list[str]:
    """The names an action is counted under: an arm, the items of a slate, or nothing; a point has none."""
    if action is None:
        return ["nothing"]
    if isinstance(action, list | tuple):
        return [str(each) for each in action if not isinstance(each, float)]
    return [str(action)]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
