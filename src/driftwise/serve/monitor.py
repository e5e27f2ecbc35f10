"""What people look at: who was chosen when, what it earned lately, how late rewards come, and what has changed.

With budgets also what is left of them, and with arms that move what they earn and where they are.

It is part of the fold, so that a restart loses none of it, and small: a hundred or so stretches of time for the whole
life of a deployment, which are joined two by two when they become too many, and the last thousand rewards.

Changes are looked for whatever the policy: for every arm two sums go up with rewards above and below its mean since
the last change, less a slack, as in Page's test. On rewards that do not change, scaled to [0, 1], it gives a false
alarm about once in 30,000 rewards at worst (fair coins), and it sees a step of 0.3 after about 50. Where nothing is
known of how large rewards are, twice the standard deviation of the arm's own since the last change is taken for 1.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from driftwise.serve.notes import (
    DECIDED,
    FIELDS,
    LATELY,
    REWARDED,
    SQUARES,
    STRETCHES,
    SUM,
    Notes,
    Stretch,
    Walk,
    numbers,
)
from driftwise.serve.report import RATE_SECONDS, Report, report

DELAYS = 40  # powers of two of a millisecond: up to ten years
WARMUP, SLACK, HEIGHT = 30, 0.1, 10.0
CHANGES = 50
OTHERS = "others"
MOST_LABELS = 200


class Monitor:
    """Takes note of decisions and outcomes. `low` and `span` bring rewards to [0, 1] for the test of change.

    A `span` of 0 is not known.
    """

    def __init__(self, low: float, span: float, notes: Notes | None = None) -> None:
        self.notes = Notes() if notes is None else notes
        self._range = low, low + span
        self._low, self._span = low if math.isfinite(low) else 0.0, span or 1.0
        self._known = span > 0.0
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
        self._settled(at, since, status, defaulted)
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

    def moved(self, at: int, since: int, worth: float | None, *, status: str, defaulted: bool) -> None:
        """Arms that move on their own went on; `worth` is what an arm earned, on average, if any was told of."""
        self._settled(at, since, status, defaulted)
        if worth is None:
            return
        self.notes.earned += worth
        stretch = self._stretch(at)
        count, total, squares = stretch.rounds or (0.0, 0.0, 0.0)
        stretch.rounds = numbers(count + 1.0, total + worth, squares + worth * worth)

    def seen(self, at: int, states: Iterable[Any]) -> None:
        """Arms were seen in these states."""
        stretch, counts = self._stretch(at), Counter(map(str, states))
        before = stretch.states or [0.0] * len(self.notes.states)
        stretch.states = numbers(*(n + counts[name] for n, name in zip(before, self.notes.states, strict=True)))

    def spent(self, at: int, to_come: float, left: Mapping[str, float], total: Mapping[str, float]) -> None:
        """Of the rounds this share is to come, and of each resource so much is left, of so much in all."""
        pairs = (each for name in self.notes.resources for each in (left[name], total[name]))
        self._stretch(at).purse = numbers(to_come, *pairs)

    def _settled(self, at: int, since: int, status: str, defaulted: bool) -> None:
        """A decision has its outcome: how late, and what became of it."""
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

    def alarmed(self, at: int, alarms: int) -> None:
        """The policy has noticed so many changes by now."""
        if alarms > self.notes.alarms:
            self.notes.alarmed = [*self.notes.alarmed[1 - CHANGES :], at]
        self.notes.alarms = alarms

    def report(self, now: int) -> Report:
        """Everything, for a page that draws it."""
        return report(self.notes, now, *self._range)

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
        notes.stretches.append(Stretch(index, numbers()))
        return notes.stretches[-1]

    def _widen(self) -> None:
        """Stretches twice as wide."""
        notes = self.notes
        notes.width *= 2
        joined: list[Stretch] = []
        for stretch in notes.stretches:
            index = stretch.index // 2
            if joined and joined[-1].index == index:
                joined[-1] = joined[-1].joined(stretch, index)
            else:
                stretch.index = index
                joined.append(stretch)
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
        before = walk.mean
        walk.mean += (reward - before) / walk.count
        walk.squares += (reward - before) * (reward - walk.mean)
        unit = 1.0 if self._known else 2.0 * math.sqrt(walk.squares / walk.count)
        if walk.count <= WARMUP or unit == 0.0:
            return
        above = (reward - walk.mean) / unit
        walk.rise = max(0.0, walk.rise + above - SLACK)
        walk.fall = max(0.0, walk.fall - above - SLACK)
        if max(walk.rise, walk.fall) >= HEIGHT:
            direction = 1.0 if walk.rise > walk.fall else -1.0
            mean = self._low + self._span * walk.mean
            self.notes.changes = [*self.notes.changes[1 - CHANGES :], (at, label, direction, mean)]
            self.notes.walks[place] = Walk()


def labels_of(action: Any) -> list[str]:
    """The names an action is counted under: an arm, the items of a slate, or nothing; a point has none."""
    if action is None:
        return ["nothing"]
    if isinstance(action, list | tuple):
        return [str(each) for each in action if not isinstance(each, float)]
    return [str(action)]
