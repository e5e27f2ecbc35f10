"""What is told of the notes of a monitor: all that a page draws, with intervals where there are means."""

import math
from typing import Any

import msgspec
import numpy as np

from driftwise.service.deployments.stats.state import DECIDED, FIELDS, REWARDED, Notes, Stretch, numbers

TRAILING = 8  # stretches that are taken together for a windowed mean
RATE_SECONDS = 60
Mean = tuple[int, float, float, float]  # how many, their mean, and a 95% interval for what it should be


class Money(msgspec.Struct):
    """What was left of a resource, and what there was of it in all."""

    left: float
    total: float


class Spending(msgspec.Struct):
    """How budgets stood when a stretch ended. `rounds` is the share of rounds that were to come."""

    rounds: float
    resources: dict[str, Money]


class StretchTold(msgspec.Struct):
    """A stretch of time, by label: how often each was chosen and rewarded, and its mean reward in the window.

    `budgets` is told where there are budgets. Where arms move on their own, `moved` is the mean of what an arm earned a
    round in the window, and `states` counts the arms that decisions saw in each state.
    """

    at: float
    decisions: int
    decided: list[int]
    rewarded: list[int]
    propensity_floor: float | None
    window: list[Mean | None]
    budgets: Spending | None = None
    moved: Mean | None = None
    states: list[int] | None = None


class Lately(msgspec.Struct):
    """The mean of those of the last thousand rewards that were an arm's; `ci95` is half an interval."""

    arm: str
    count: int
    mean: float | None
    ci95: float | None


class Change(msgspec.Struct):
    """A change of an arm's rewards that was detected: `up` or `down`."""

    at: float
    arm: str
    direction: str
    mean_before: float


class Alarms(msgspec.Struct):
    """Changes that the policy itself noticed: how many, and when the latest were."""

    count: int
    at: list[float]


class Delay(msgspec.Struct):
    """How many rewards came within so many seconds, and not within half of that."""

    seconds_below: float
    count: int


class Report(msgspec.Struct):
    """The life of a deployment in stretches of time, with what each arm earned of late, changes, delays and counts.

    `labels` are the names of what was chosen; lists in `stretches` and `lately` are in their order. `states` are
    those of arms that move, `resources` those of budgets.
    """

    labels: list[str]
    states: list[str]
    resources: list[str]
    width_seconds: float
    window_seconds: float
    stretches: list[StretchTold]
    lately: list[Lately]
    changes: list[Change]
    alarms: Alarms
    delays: list[Delay]
    propensity_floor: float | None
    decisions_per_second: float
    decided: int
    learned: int
    defaulted: int
    stale: int
    ignored: int
    earned: float


def report(notes: Notes, now: int, low: float, high: float) -> Report:
    """Everything, for a page that draws it; rewards lie between `low` and `high` where those are finite."""
    began = notes.stretches[0].index * notes.width if notes.stretches else now
    seconds = min(RATE_SECONDS, max(1.0, (now - began) / 1e6))
    recent = [count for second, count in notes.seconds if second > now // 1_000_000 - RATE_SECONDS]
    return Report(
        labels=notes.labels,
        states=notes.states,
        resources=notes.resources,
        width_seconds=notes.width / 1e6,
        window_seconds=TRAILING * notes.width / 1e6,
        stretches=_stretches(notes, low, high),
        lately=_intervals(notes),
        changes=[
            Change(at / 1e6, label, "up" if sign > 0 else "down", mean) for at, label, sign, mean in notes.changes
        ],
        alarms=Alarms(notes.alarms, [at / 1e6 for at in notes.alarmed]),
        delays=[Delay(2.0**power / 1000, count) for power, count in enumerate(notes.delays) if count],
        propensity_floor=_finite(min((each.floor for each in notes.stretches), default=math.inf)),
        decisions_per_second=sum(recent) / seconds,
        decided=notes.decided,
        learned=notes.learned,
        defaulted=notes.defaulted,
        stale=notes.stale,
        ignored=notes.ignored,
        earned=notes.earned,
    )


def _stretches(notes: Notes, low: float, high: float) -> list[StretchTold]:
    """Each stretch: who was chosen, and what each arm earned in the window that ends with it."""
    stretches, labels = notes.stretches, len(notes.labels)
    cells, rounds = np.zeros((len(stretches), labels, FIELDS)), np.zeros((len(stretches), 3))
    for row, several, stretch in zip(cells.reshape(len(stretches), labels * FIELDS), rounds, stretches, strict=True):
        row[: len(stretch.cells)] = stretch.cells
        several[: len(stretch.rounds)] = stretch.rounds
    told, first = [], 0
    for last, stretch in enumerate(stretches):
        while stretches[first].index <= stretch.index - TRAILING:
            first += 1
        window = cells[first : last + 1].sum(0)
        told.append(
            StretchTold(
                at=stretch.index * notes.width / 1e6,
                decisions=stretch.decided,
                decided=cells[last, :, DECIDED].astype(int).tolist(),
                rewarded=cells[last, :, REWARDED].astype(int).tolist(),
                propensity_floor=_finite(stretch.floor),
                window=[_interval(each, low, high) for each in window[:, REWARDED:].tolist()],
                budgets=_spending(notes, stretch),
                moved=_interval(rounds[first : last + 1].sum(0).tolist(), -math.inf, math.inf),
                states=[int(n) for n in stretch.states] or None,
            )
        )
    return told


def _spending(notes: Notes, stretch: Stretch) -> Spending | None:
    if not stretch.purse:
        return None
    rounds, *pairs = stretch.purse
    money = (Money(left, total) for left, total in zip(pairs[::2], pairs[1::2], strict=True))
    return Spending(rounds, dict(zip(notes.resources, money, strict=True)))


def _interval(sums: list[float], low: float, high: float) -> Mean | None:
    """How many rewards, their mean, and a 95% interval for what it should be; nothing of nothing.

    Where rewards lie in a known range, two more at either end are counted in, as Agresti and Coull do for coins: few
    rewards that happen to be alike do not make a narrow interval. Otherwise it is the normal approximation.
    """
    count, total, squares = sums
    if not count:
        return None
    mean = total / count
    if not math.isfinite(low):
        half = 1.96 * math.sqrt(max(0.0, squares - total * mean) / max(1.0, count - 1) / count)
        return int(count), mean, mean - half, mean + half
    more = count + 4
    centre = (total + 2 * (low + high)) / more
    half = 1.96 * math.sqrt(max(0.0, (squares + 2 * (low * low + high * high)) / more - centre * centre) / more)
    return int(count), mean, max(low, centre - half), min(high, centre + half)


def _intervals(notes: Notes) -> list[Lately]:
    """The mean of the last rewards of each arm, with a 95% interval by the normal approximation."""
    values: dict[float, Any] = {}
    for place, value in zip(notes.places, notes.rewards, strict=True):
        values.setdefault(place, numbers()).append(value)
    told = []
    for place, label in enumerate(notes.labels):
        rewards = values.get(place, ())
        count = len(rewards)
        mean = math.fsum(rewards) / count if count else None
        half = None
        if mean is not None and count > 1:
            half = 1.96 * math.sqrt(math.fsum((each - mean) ** 2 for each in rewards) / (count - 1) / count)
        told.append(Lately(label, count, mean, half))
    return told


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
