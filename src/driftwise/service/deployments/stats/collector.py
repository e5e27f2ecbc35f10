"""Collects the statistics of a deployment: choices, recent rewards, delays of outcomes, and detected changes.

And the tracks of the family: what is left of budgets, the states of restless arms, ...

The statistics are part of the fold, so that a restart loses none, and small: a hundred or so bins of time for the whole
life of a deployment, which are merged in pairs when they become too many, as many for the last hour, day and week, and
the last thousand rewards.

Changes are tested for whatever the policy: for every arm two sums go up with rewards above and below its mean since
the last change, less a slack, as in Page's test. On rewards that do not change, scaled to [0, 1], it gives a false
alarm about once in 30,000 rewards at worst (fair coins), and it detects a step of 0.3 after about 50. Where the range
of rewards is not known, twice the standard deviation of the arm's own since the last change is taken for 1.
"""

import math
from collections.abc import Mapping
from typing import Any

from driftwise.service.deployments.stats.rewards import reward_sums
from driftwise.service.deployments.stats.state import (
    CHOSEN,
    CLOSE_UPS,
    FIELDS,
    MAX_BINS,
    MAX_RECENT,
    REWARDED,
    SQUARES,
    SUM,
    ChangeTest,
    CloseUp,
    StatsState,
    TimeBin,
    empty,
    numbers,
)
from driftwise.service.deployments.stats.view import NOTHING, RATE_SECONDS, StatsView, stats_view

Rewards = tuple[list[Any], list[float]]
DELAYS = 40  # powers of two of a millisecond: up to ten years
WARMUP, SLACK, HEIGHT = 30, 0.1, 10.0
MAX_CHANGES = 50
OTHERS = "others"
MAX_LABELS = 200


class StatsCollector:
    """Updates a state with decisions and outcomes. `low` and `span` bring rewards to [0, 1] for the test of change.

    A `span` of 0 means that the range is not known.
    """

    def __init__(self, low: float, span: float, state: StatsState | None = None) -> None:
        self.state = empty(low, []) if state is None else state
        self._range = low, low + span
        self._low, self._span = low if math.isfinite(low) else 0.0, span or 1.0
        self._known = span > 0.0
        self._indices = {label: index for index, label in enumerate(self.state.labels)}

    def add_decision(self, at: int, action: object, propensity: float | None) -> None:
        """Count a decision. To do nothing has no outcome, and earns nothing."""
        state = self.state
        state.n_decided += 1
        labels, bins = labels_of(action), self._open_bins(at)
        for bin in bins:
            bin.n_decisions += 1
            for label in labels:
                self._add_to_cell(bin, label, CHOSEN, 1.0)
            if propensity is not None and propensity < bin.floor:
                bin.floor = propensity
        if action is None:
            self._add_earned(bins, 0.0, None)
        second = at // 1_000_000
        seconds = state.seconds
        if seconds and seconds[-1][0] == second:
            seconds[-1] = second, seconds[-1][1] + 1
        else:
            seconds.append((second, 1))
            if len(seconds) > RATE_SECONDS:
                del seconds[0]

    def add_outcome(
        self,
        at: int,
        since: int,
        rewards: Rewards | None,
        *,
        status: str,
        defaulted: bool,
        weight: float | None = None,
    ) -> None:
        """Count an outcome; `rewards` are the arms of its decision and what each earned, where arms earn.

        `weight` is that of the decision in an estimate of uniform choice: see `rewards.py`.
        """
        self._count_outcome(at, since, status, defaulted)
        if rewards is None:
            return
        pairs, bins = [*zip(map(str, rewards[0]), rewards[1], strict=False)], self._open_bins(at)
        for label, value in pairs:
            self._add_to_cells(bins, label, value)
            self._add_recent(label, value)
            if not defaulted:
                self._test(at, label, (value - self._low) / self._span)
        earned = math.fsum(value for _, value in pairs)
        self.state.total_reward += earned
        self._add_earned(bins, earned, weight)

    def add_reward(self, at: int, value: float) -> None:
        """Add what a decision earned that is no single arm's."""
        self.state.total_reward += value
        self._add_earned(self._open_bins(at), value, None)

    def record(self, at: int, samples: Mapping[str, list[float]]) -> None:
        """Record numbers of the family's tracks, by name."""
        if not samples:
            return
        for bin in self._open_bins(at):
            self._record(bin, samples)

    def _record(self, bin: TimeBin, samples: Mapping[str, list[float]]) -> None:
        for index, (name, join, _) in enumerate(self.state.tracks):
            if name not in samples:
                continue
            before = bin.tracks[index]
            added = self._moments(index, samples[name]) if join == "mean" else samples[name]
            if join == "last" or not before:
                bin.tracks[index] = numbers(*added)
            else:
                bin.tracks[index] = numbers(*(a + b for a, b in zip(before, added, strict=True)))

    def _moments(self, track: int, values: list[float]) -> list[float]:
        """Count, sum and sum of squares, of numbers less the shift of their track."""
        shifts = self.state.track_shifts
        if shifts and shifts[track] is None:
            shifts[track] = values[0]
        shift = self.state.track_shift(track)
        less = [value - shift for value in values]
        return [float(len(less)), math.fsum(less), math.fsum(each * each for each in less)]

    def set_alarms(self, at: int, alarms: int) -> None:
        """Store how many changes the policy itself has detected."""
        if alarms > self.state.n_alarms:
            self.state.alarm_times = [*self.state.alarm_times[1 - MAX_CHANGES :], at]
        self.state.n_alarms = alarms

    def view(self, now: int, *, last: float | None = None, one_arm: bool = True, compares: bool = True) -> StatsView:
        """The statistics as JSON shows them, of the `last` seconds or of all.

        With `one_arm` a decision earns what one arm earns, so that it has the same range.
        """
        return stats_view(self.state, now, *self._range, last=last, one_arm=one_arm, compares=compares)

    def _count_outcome(self, at: int, since: int, status: str, defaulted: bool) -> None:
        """Count a delay and a status."""
        state = self.state
        if defaulted:
            state.n_defaulted += 1
        else:
            state.n_learned += 1
            delay = min(DELAYS - 1, (max(0, at - since) // 1000).bit_length())
            if not state.delays:
                state.delays = [0] * DELAYS
            state.delays[delay] += 1
        if status == "stale":
            state.n_stale += 1
        elif status == "ignored":
            state.n_ignored += 1

    # ---- labels and bins, limited in number ----

    def _index(self, label: str) -> int:
        index = self._indices.get(label)
        if index is None:
            if len(self._indices) >= MAX_LABELS:
                return self._index(OTHERS) if OTHERS in self._indices else self._add_label(OTHERS)
            return self._add_label(label)
        return index

    def _add_label(self, label: str) -> int:
        self._indices[label] = index = len(self.state.labels)
        self.state.labels.append(label)
        self.state.tests.append(ChangeTest())
        return index

    def _add_to_cell(self, bin: TimeBin, label: str, field: int, value: float) -> None:
        cell = FIELDS * self._index(label) + field
        if cell >= len(bin.cells):
            bin.cells.frombytes(bytes(8 * (FIELDS * len(self.state.labels) - len(bin.cells))))
        bin.cells[cell] += value

    def _add_to_cells(self, bins: list[TimeBin], label: str, value: float) -> None:
        if self.state.arm_shift is None:
            self.state.arm_shift = value
        value -= self.state.arm_shift
        for bin in bins:
            self._add_to_cell(bin, label, REWARDED, 1.0)
            self._add_to_cell(bin, label, SUM, value)
            self._add_to_cell(bin, label, SQUARES, value * value)

    def _add_earned(self, bins: list[TimeBin], value: float, weight: float | None) -> None:
        if self.state.shift is None:
            self.state.shift = value
        added = reward_sums(value - self.state.shift, weight)
        for bin in bins:
            earned = bin.earned
            if not earned:
                bin.earned = numbers(*added)
                continue
            if len(earned) < len(added):
                earned.frombytes(bytes(8 * (len(added) - len(earned))))
            for index, each in enumerate(added):
                earned[index] += each

    def _open_bins(self, at: int) -> list[TimeBin]:
        """The bins that a time falls into: one of the whole life, and one of each close-up."""
        life = self._bin(at)  # may add a close-up
        return [life, *(self._close_bin(each, at) for each in self.state.close_ups)]

    def _bin(self, at: int) -> TimeBin:
        state = self.state
        index = at // state.width
        if state.bins and state.bins[-1].index >= index:
            return state.bins[-1]
        if len(state.bins) >= MAX_BINS:
            self._widen()
            return self._bin(at)
        state.bins.append(self._new_bin(index))
        return state.bins[-1]

    def _close_bin(self, close_up: CloseUp, at: int) -> TimeBin:
        """The latest bin of a close-up; a new one drops those that are too old."""
        index, bins = at // close_up.width, close_up.bins
        if not bins or bins[-1].index < index:
            oldest = (at - CLOSE_UPS[close_up.width]) // close_up.width
            close_up.bins = bins = [each for each in bins if each.index >= oldest]
            bins.append(self._new_bin(index))
        return bins[-1]

    def _new_bin(self, index: int) -> TimeBin:
        return TimeBin(index, numbers(), tracks=[numbers() for _ in self.state.tracks])

    def _widen(self) -> None:
        """Make bins twice as wide; those that are just fine enough for a close-up go on as one."""
        state = self.state
        if state.width in CLOSE_UPS:
            state.close_ups.append(CloseUp(state.width, [each.copy() for each in state.bins]))
        state.width *= 2
        joins = [join for _, join, _ in state.tracks]
        wide: list[TimeBin] = []
        for bin in state.bins:
            index = bin.index // 2
            if wide and wide[-1].index == index:
                wide[-1] = wide[-1].merge(bin, index, joins)
            else:
                bin.index = index
                wide.append(bin)
        state.bins = wide

    # ---- recent rewards and the test of change ----

    def _add_recent(self, label: str, value: float) -> None:
        state, index = self.state, float(self._index(label))
        if len(state.recent_rewards) < MAX_RECENT:
            state.recent_labels.append(index)
            state.recent_rewards.append(value)
        else:
            state.recent_labels[state.slot], state.recent_rewards[state.slot] = index, value
            state.slot = (state.slot + 1) % MAX_RECENT

    def _test(self, at: int, label: str, reward: float) -> None:
        """Test whether the mean of this arm has changed."""
        index = self._index(label)
        test = self.state.tests[index]
        test.count += 1
        before = test.mean
        test.mean += (reward - before) / test.count
        test.squares += (reward - before) * (reward - test.mean)
        unit = 1.0 if self._known else 2.0 * math.sqrt(test.squares / test.count)
        if test.count <= WARMUP or unit == 0.0:
            return
        above = (reward - test.mean) / unit
        test.rise = max(0.0, test.rise + above - SLACK)
        test.fall = max(0.0, test.fall - above - SLACK)
        if max(test.rise, test.fall) >= HEIGHT:
            direction = 1.0 if test.rise > test.fall else -1.0
            mean = self._low + self._span * test.mean
            self.state.changes = [*self.state.changes[1 - MAX_CHANGES :], (at, label, direction, mean)]
            self.state.tests[index] = ChangeTest()


def labels_of(action: object) -> list[str]:
    """The labels an action is counted under: an arm, the items of a slate, or `nothing`; a point has none."""
    if action is None:
        return [NOTHING]
    if isinstance(action, list | tuple):
        return [str(each) for each in action if not isinstance(each, float)]
    return [str(action)]
