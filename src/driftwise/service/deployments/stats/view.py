"""JSON view of a deployment's statistics, with 95% intervals."""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

import msgspec
import numpy as np

from driftwise.service.deployments.clock import utc
from driftwise.service.deployments.stats.rewards import (
    RewardEstimate,
    lift_estimate,
    mean_interval,
    reward_estimate,
)
from driftwise.service.deployments.stats.state import (
    CHOSEN,
    CLOSE_UPS,
    FIELDS,
    REWARDED,
    CloseUp,
    StatsState,
    TimeBin,
    numbers,
    sum_arrays,
)

T = TypeVar("T")
WINDOW_BINS = 8  # bins that a mean over a window covers
RATE_SECONDS = 60
NOTHING = "nothing"  # the label of a decision to do nothing
Mean = tuple[int, float, float, float]  # count, mean, and the ends of a 95% interval


class TimeBinView(msgspec.Struct):
    """A bin of time. `n_chosen`, `n_rewarded` and `window_means` have an entry per label.

    `window_means` are mean rewards over the window that ends with the bin, `reward` is that of a decision. `tracks` has
    the numbers of the family's tracks, by name: a mean is one over the window, with its interval; null where nothing
    was recorded.
    """

    start_at: datetime
    n_decisions: int
    n_chosen: list[int]
    n_rewarded: list[int]
    propensity_floor: float | None
    window_means: list[Mean | None]
    reward: Mean | None
    tracks: dict[str, list[float] | None]


class RecentMean(msgspec.Struct):
    """The mean of an arm's rewards among the last thousand of all arms; `ci95` is half the width of an interval."""

    arm: str
    count: int
    mean: float | None
    ci95: float | None


class DetectedChange(msgspec.Struct):
    """A detected change of an arm's rewards: `up` or `down`. `mean_after` is up to the next change, or now."""

    detected_at: datetime
    arm: str
    direction: str
    mean_before: float
    mean_after: float | None


class PolicyAlarms(msgspec.Struct):
    """Changes that the policy itself detected: how many, and the times of the latest."""

    count: int
    detected_at: list[datetime]


class DelayBin(msgspec.Struct):
    """How many outcomes came within so many seconds, and not within half of that."""

    seconds_below: float
    count: int


class StatsView(msgspec.Struct):
    """The life of a deployment in bins of time, with recent rewards of each arm, changes, delays and counts.

    `labels` are the names of actions, arms in the order in which they are declared; lists in `bins` and `recent` are in
    their order. `tracks` names what the family records, and the labels of its numbers. `bins`, `reward`, `uniform` and
    `lift` are those of the last `last` seconds, if the request has such a number; the rest is that of the whole life.
    `reward` is the mean of a decision (of restless arms: of an arm in a round), `uniform` what arms chosen at random
    would have earned in its place, estimated from propensities, and `lift` the difference; null where that is not
    known.
    """

    labels: list[str]
    tracks: dict[str, list[str]]
    last: float | None
    bin_seconds: float
    window_seconds: float
    bins: list[TimeBinView]
    reward: RewardEstimate | None
    uniform: RewardEstimate | None
    lift: RewardEstimate | None
    recent: list[RecentMean]
    changes: list[DetectedChange]
    alarms: PolicyAlarms
    delays: list[DelayBin]
    propensity_floor: float | None
    decisions_per_second: float
    n_decided: int
    n_learned: int
    n_defaulted: int
    n_stale: int
    n_ignored: int
    total_reward: float


def stats_view(
    state: StatsState,
    now: int,
    low: float,
    high: float,
    *,
    last: float | None = None,
    one_arm: bool = True,
    compares: bool = True,
) -> StatsView:
    """The view of a state at a time; rewards lie between `low` and `high` where those are finite.

    With `one_arm`, so does what a decision earns. With `compares`, decisions can tell what other choices would earn.
    """
    start = state.bins[0].index * state.width if state.bins else now
    seconds = min(RATE_SECONDS, max(1.0, (now - start) / 1e6))
    recent = [count for second, count in state.seconds if second > now // 1_000_000 - RATE_SECONDS]
    part = _latest(state, now, last)
    earned = sum_arrays(each.earned for each in part.bins).tolist()
    per_decision = _decision_range(state, low, high) if one_arm else (-math.inf, math.inf)
    shift = state.shift or 0.0
    uniform, lift = (lift_estimate(earned, shift) if compares else None) or (None, None)
    return StatsView(
        labels=state.labels,
        tracks={name: labels for name, _, labels in state.tracks},
        last=last,
        bin_seconds=part.width / 1e6,
        window_seconds=WINDOW_BINS * part.width / 1e6,
        bins=_bins(state, part, (low, high), per_decision),
        reward=reward_estimate(earned, *per_decision, shift),
        uniform=uniform,
        lift=lift,
        recent=_recent_means(state),
        changes=_changes(state, *((low, (high - low) or 1.0) if math.isfinite(low) else (0.0, 1.0))),
        alarms=PolicyAlarms(state.n_alarms, [utc(at) for at in state.alarm_times]),
        delays=[DelayBin(2.0**power / 1000, count) for power, count in enumerate(state.delays) if count],
        propensity_floor=_finite(min((each.floor for each in state.bins), default=math.inf)),
        decisions_per_second=sum(recent) / seconds,
        n_decided=state.n_decided,
        n_learned=state.n_learned,
        n_defaulted=state.n_defaulted,
        n_stale=state.n_stale,
        n_ignored=state.n_ignored,
        total_reward=state.total_reward,
    )


def in_order(view: StatsView, names: Iterable[str]) -> StatsView:
    """A view with its labels in an order: those that have a name in it, then the others, as they were first chosen."""
    ranks = {name: rank for rank, name in enumerate(names)}
    order = sorted(range(len(view.labels)), key=lambda index: ranks.get(view.labels[index], len(ranks)))

    def sort(values: list[T]) -> list[T]:
        return [values[index] for index in order]

    bins = [
        msgspec.structs.replace(
            each,
            n_chosen=sort(each.n_chosen),
            n_rewarded=sort(each.n_rewarded),
            window_means=sort(each.window_means),
        )
        for each in view.bins
    ]
    return msgspec.structs.replace(view, labels=sort(view.labels), bins=bins, recent=sort(view.recent))


def _latest(state: StatsState, now: int, last: float | None) -> CloseUp:
    """The bins of the last so many seconds, from the finest record that reaches so far back; or all bins."""
    if last is None:
        return CloseUp(state.width, state.bins)
    span = int(1e6 * last)
    parts = [each for each in state.close_ups if CLOSE_UPS[each.width] >= span]
    part = parts[0] if parts else CloseUp(state.width, state.bins)
    return CloseUp(part.width, [each for each in part.bins if (each.index + 1) * part.width > now - span])


def _decision_range(state: StatsState, low: float, high: float) -> tuple[float, float]:
    """The range of what a decision earns: to do nothing earns 0."""
    return (min(low, 0.0), max(high, 0.0)) if NOTHING in state.labels else (low, high)


def _changes(state: StatsState, low: float, span: float) -> list[DetectedChange]:
    """Changes in their order; the mean after one is the mean before the next, or that of the test under way.

    It is left out where the arm has gone back since, and the mean tells nothing of the change.
    """
    after = {label: low + span * test.mean for label, test in zip(state.labels, state.tests, strict=True) if test.count}
    changes = []
    for at, label, sign, mean in reversed(state.changes):
        later = after.get(label)
        mean_after = later if later is not None and sign * (later - mean) > 0.0 else None
        changes.append(DetectedChange(utc(at), label, "up" if sign > 0 else "down", mean, mean_after))
        after[label] = mean
    return changes[::-1]


def _bins(
    state: StatsState, part: CloseUp, arms: tuple[float, float], decisions: tuple[float, float]
) -> list[TimeBinView]:
    """Each bin: how often each label was chosen, and mean rewards over the window that ends with the bin."""
    bins, n_labels = part.bins, len(state.labels)
    cells = np.zeros((len(bins), n_labels, FIELDS))
    earned = np.zeros((len(bins), 3))
    for row, money, each in zip(cells.reshape(len(bins), n_labels * FIELDS), earned, bins, strict=True):
        row[: len(each.cells)] = each.cells
        money[: len(each.earned)] = each.earned[:3]
    views, first, shift, arm_shift = [], 0, state.shift or 0.0, state.arm_shift or 0.0
    for last, each in enumerate(bins):
        while bins[first].index <= each.index - WINDOW_BINS:
            first += 1
        window = cells[first : last + 1].sum(0)
        views.append(
            TimeBinView(
                start_at=utc(each.index * part.width),
                n_decisions=each.n_decisions,
                n_chosen=cells[last, :, CHOSEN].astype(int).tolist(),
                n_rewarded=cells[last, :, REWARDED].astype(int).tolist(),
                propensity_floor=_finite(each.floor),
                window_means=[mean_interval(sums, *arms, arm_shift) for sums in window[:, REWARDED:].tolist()],
                reward=mean_interval(earned[first : last + 1].sum(0).tolist(), *decisions, shift),
                tracks=_tracks(state, bins[first : last + 1]),
            )
        )
    return views


def _tracks(state: StatsState, window: list[TimeBin]) -> dict[str, list[float] | None]:
    """The tracks of the last bin of a window; means are those of the window."""
    views: dict[str, list[float] | None] = {}
    for index, (name, join, _) in enumerate(state.tracks):
        if join == "mean":
            sums = [each.tracks[index] for each in window if each.tracks[index]]
            total, shift = [math.fsum(each) for each in zip(*sums, strict=True)], state.track_shift(index)
            mean = mean_interval(total, -math.inf, math.inf, shift) if sums else None
            views[name] = None if mean is None else list(mean)
        else:
            views[name] = list(window[-1].tracks[index]) or None
    return views


def _recent_means(state: StatsState) -> list[RecentMean]:
    """The mean of the recent rewards of each arm, with a 95% interval by the normal approximation."""
    values: dict[float, Any] = {}
    for index, value in zip(state.recent_labels, state.recent_rewards, strict=True):
        values.setdefault(index, numbers()).append(value)
    means = []
    for index, label in enumerate(state.labels):
        rewards = values.get(index, ())
        count = len(rewards)
        mean = math.fsum(rewards) / count if count else None
        half = None
        if mean is not None and count > 1:
            half = 1.96 * math.sqrt(math.fsum((each - mean) ** 2 for each in rewards) / (count - 1) / count)
        means.append(RecentMean(label, count, mean, half))
    return means


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
