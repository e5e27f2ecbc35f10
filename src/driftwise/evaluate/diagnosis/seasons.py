"""Seasons: does an arm pay by the hour of the day, or by the day of the week? Told apart from drift.

Rewards become cells, an hour of a day or a day of a week each, less the moving average over the cycle around them: what
is left of a drift is small and does not come back every cycle. Then cells are put into random order within their
cycle, several hundred times: only what comes back in every cycle stands out.
"""

from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats, Ints
from driftwise.evaluate.diagnosis.permutation import joint_statistic, means_of, spread_of, summed

LEVEL = 0.01
PERMUTATIONS = 199
MOST_CYCLES = 400  # beyond it, evenly spaced ones are tested
LEAST_CYCLES = 3
LEAST_REWARDS = 5  # on average, of an arm in a slot
MOST_CELLS = 200_000
HOUR, DAY = 3600.0, 86400.0
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Season(NamedTuple):
    """A cycle of `hour` or `weekday`: the p-value, and how far the mean reward lies from the average in each slot."""

    name: str
    p_value: float
    effects: Floats

    @property
    def present(self) -> bool:
        """Whether it stands out from chance."""
        return self.p_value <= LEVEL

    @property
    def swing(self) -> float:
        """From the least slot to the most."""
        return float(np.nanmax(self.effects) - np.nanmin(self.effects))

    def slot_name(self, slot: int) -> str:
        """`14:00` or `Tuesday`."""
        return WEEKDAYS[slot] if self.name == "weekday" else f"{slot}:00"


class Seasons(NamedTuple):
    """The seasons that were looked for, the slot of each reward by those that are there, and why others were not."""

    hour: Season | None
    weekday: Season | None
    slots: Ints
    notes: list[str]

    @property
    def present(self) -> list[Season]:
        """Those that stand out."""
        return [each for each in (self.hour, self.weekday) if each is not None and each.present]


def find_seasons(
    times: Floats | None, timezone: str, arms: Ints, values: Floats, n_arms: int, *, seed: int = 0
) -> Seasons:
    """Look for both; rewards of an arm are compared with that arm's own."""
    nothing = np.zeros(len(values), np.int64)
    if times is None:
        return Seasons(None, None, nothing, ["seasons cannot be told from drift: the log has no dates"])
    hours = local_hours(times, timezone)
    days = hours // 24
    means = means_of(arms, values, n_arms)
    spread = spread_of(arms, values - means[arms], n_arms)
    residuals: Floats = (values - means[arms]) / spread[arms]
    scale, notes = float(spread[arms].mean()), []
    hour = weekday = None
    if days[-1] - days[0] >= LEAST_CYCLES:
        hour = _season("hour", hours, 24, arms, residuals, n_arms, scale, seed)
    else:
        notes.append(f"the log is shorter than {LEAST_CYCLES + 1} days: an hourly season cannot be told from drift")
    if days[-1] - days[0] >= 7 * LEAST_CYCLES:
        # 1970 began on a Thursday: three days later weeks start with Monday.
        weekday = _season("weekday", days + 3, 7, arms, residuals, n_arms, scale, seed)
    elif days[-1] - days[0] >= LEAST_CYCLES:
        notes.append(f"the log is shorter than {LEAST_CYCLES} weeks: a weekly season cannot be told from drift")
    slots = _slots(hour, weekday, hours, len(values) / n_arms)
    return Seasons(hour, weekday, slots, notes)


def _slots(hour: Season | None, weekday: Season | None, hours: Ints, rewards_per_arm: float) -> Ints:
    """What rewards may change places within: the hour, the weekday, or both where there are rewards enough."""
    of_day: Ints = hours % 24
    of_week: Ints = (hours // 24 + 3) % 7
    if hour is None or not hour.present:
        return of_week if weekday is not None and weekday.present else np.zeros(len(hours), np.int64)
    if weekday is None or not weekday.present:
        return of_day
    enough = rewards_per_arm / (24 * 7) >= LEAST_REWARDS
    return of_week * 24 + of_day if enough else (of_day if hour.swing >= weekday.swing else of_week)


def local_hours(times: Floats, timezone: str) -> Ints:
    """Whole hours since 1970 on a wall clock of the zone; offsets are looked up once an hour."""
    hours = np.floor_divide(times, HOUR).astype(np.int64)
    if timezone == "UTC":
        return hours
    zone, firsts = ZoneInfo(timezone), np.flatnonzero(np.diff(hours, prepend=hours[0] - 1))
    offsets = [datetime.fromtimestamp(int(h) * 3600, UTC).astimezone(zone).utcoffset() for h in hours[firsts]]
    shifts = np.array([0.0 if each is None else each.total_seconds() for each in offsets])
    local: Floats = times + np.repeat(shifts, np.diff(np.append(firsts, len(hours))))
    return np.floor_divide(local, HOUR).astype(np.int64)


def _season(
    name: str, ticks: Ints, cycle: int, arms: Ints, residuals: Floats, n_arms: int, scale: float, seed: int
) -> Season:
    """The test over cells (arm, cycle, slot), arm by arm and over all arms."""
    first = ticks[0] // cycle
    n_cycles = int(ticks[-1] // cycle - first) + 1
    if n_arms * min(n_cycles, MOST_CYCLES) * cycle > MOST_CELLS:  # many arms: only what moves them all
        arms, n_arms = np.zeros_like(arms), 1
    cells = arms * (n_cycles * cycle) + (ticks - first * cycle)
    size = n_arms * n_cycles * cycle
    counts = np.bincount(cells, minlength=size).reshape(n_arms, -1).astype(float)
    sums = summed(cells, residuals, size).reshape(n_arms, -1)
    means = sums / np.maximum(counts, 1.0) - _moving_average(sums, counts, cycle)
    weights = np.sqrt(counts).reshape(n_arms, n_cycles, cycle)
    scores = np.where(weights > 0.0, means.reshape(weights.shape) * weights, 0.0)
    used = np.flatnonzero(weights.any(axis=(0, 2)))
    used = used[:: -(-len(used) // MOST_CYCLES)]
    random, scores, weights = generator(seed, "season", name), scores[:, used], weights[:, used]
    cells = np.argsort(weights == 0.0, axis=2, kind="stable")  # those with rewards first
    rows = [_statistics(scores, weights)]
    rows += [_statistics(_permuted(scores, weights, cells, random), weights) for _ in range(PERMUTATIONS)]
    table = np.stack(rows)
    joint = joint_statistic(table)
    totals, squares = (scores * weights).sum(axis=(0, 1)), (weights**2).sum(axis=(0, 1))
    effects = np.where(squares > 0.0, totals / np.where(squares > 0.0, squares, 1.0) * scale, np.nan)
    return Season(name, float((joint >= joint[0]).mean()), effects)


def _moving_average(sums: Floats, counts: Floats, cycle: int) -> Floats:
    """The mean over one cycle around each cell, half a cell of each end where the cycle is even."""
    weights = np.ones(cycle + 1 - cycle % 2)
    if cycle % 2 == 0:
        weights[[0, -1]] = 0.5

    def around(rows: Floats) -> Floats:
        return np.stack([np.convolve(row, weights, mode="same") for row in rows])

    size = around(counts)
    return np.where(size > 0.0, around(sums) / np.where(size > 0.0, size, 1.0), 0.0)


def _permuted(scores: Floats, weights: Floats, cells: Ints, random: np.random.Generator) -> Floats:
    """Scores that changed places within their cycle, among cells that have rewards."""
    source = np.argsort(random.random(scores.shape) + (weights == 0.0), axis=2)
    moved = np.empty_like(scores)
    np.put_along_axis(moved, cells, np.take_along_axis(scores, source, axis=2), axis=2)
    return moved


def _statistics(scores: Floats, weights: Floats) -> Floats:
    """How far the means of slots are apart: of every arm on its own, and of all together."""
    sums, squares = (scores * weights).sum(axis=1), (weights**2).sum(axis=1)
    each = np.where(squares > 0.0, sums**2 / np.where(squares > 0.0, squares, 1.0), 0.0).sum()
    total, square = sums.sum(axis=0), squares.sum(axis=0)
    pooled = np.where(square > 0.0, total**2 / np.where(square > 0.0, square, 1.0), 0.0).sum()
    return np.array([each, pooled])
