"""Changes of an arm's mean: how many, when, how large, each with its uncertainty.

Bins of rewards are cut into segments of one mean each so that

    sum over bins of n (mean of bin - mean of segment)^2 / noise^2  +  penalty x number of changes

is least, exactly (Jackson et al. 2005, optimal partitioning). The penalty is what the best split of any arm gains by
chance in one log of forty, from the permutations of the drift test.

A change is then dated row by row: every split between its neighbours has the likelihood exp(gain / 2), and the
interval has 95 % of these. The date is their median where the interval is short, else the centre of the tenth of the
log that most likely has the change. Changes of several arms are dated together where one date is
likelier than a date each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints
from driftwise.evaluate.diagnosis.permutation import summed

LEAST_SEGMENT = 10  # rewards
TOLERANCE = 0.05  # of the log: a date this far off is still of use
MOST_DATES = 20_000  # that are compared


class ChangePoint(NamedTuple):
    """A change of one arm. `row`, and `low` to `high` with 95 %, are rows of the log; so are means before and after."""

    arm: int
    row: int
    low: int
    high: int
    before: float
    after: float
    standard_error: float

    @property
    def size(self) -> float:
        """How far the mean went."""
        return self.after - self.before


def segments(counts: Floats, sums: Floats, noise: Floats, penalty: float) -> Ints:
    """The first bins of all segments but the first, from counts, sums and noise of rewards in each bin."""
    starts = np.zeros(len(counts) + 1, np.int64)
    costs = np.zeros(len(counts) + 1)
    sizes, weights, totals = (
        np.concatenate([[0.0], np.cumsum(each)]) for each in (counts, counts / noise**2, sums / noise**2)
    )
    n = partition(sizes, weights, totals, float(penalty), float(LEAST_SEGMENT), costs, starts)
    return starts[:n][::-1].copy()


@kernel
def partition(
    counts: Floats, weights: Floats, sums: Floats, penalty: float, least: float, costs: Floats, starts: Ints
) -> int:
    """Optimal partitioning over cumulative counts, weights and weighted sums; changes, last first, go to `starts`.

    The squares of the rewards are the same in every partition, so the cost of a segment is -sum^2 / weight alone.
    """
    n = len(counts) - 1
    costs[0] = -penalty
    starts[0] = 0
    for stop in range(1, n + 1):
        best, origin = np.inf, 0
        for start in range(stop):
            if start > 0 and (counts[stop] - counts[start] < least or counts[start] < least):
                continue
            size, total = weights[stop] - weights[start], sums[stop] - sums[start]
            cost = costs[start] + penalty - (total * total / size if size > 0.0 else 0.0)
            if cost < best:
                best, origin = cost, start
        costs[stop] = best
        starts[stop] = origin
    count, stop = 0, n
    while starts[stop] > 0:  # by way of `costs`, which has served: `starts` is still being read
        stop = starts[stop]
        costs[count] = stop
        count += 1
    for i in range(count):
        starts[i] = int(costs[i])
    return count


class Profile(NamedTuple):
    """The likelihoods of the splits of one arm between two changes: `logs[i]` that of a change at row `rows[i + 1]`."""

    arm: int
    rows: Ints
    values: Floats
    noise: float
    logs: Floats

    def at(self, rows: Ints) -> Floats:
        """The logarithms of the likelihoods of a change at rows of the log."""
        splits = np.searchsorted(self.rows, rows)
        inside = (splits >= 1) & (splits <= len(self.logs))
        return np.where(inside, self.logs[np.clip(splits - 1, 0, len(self.logs) - 1)], -np.inf)


class Date(NamedTuple):
    """Rows of the log: the date, and the interval that has it with 95 %."""

    row: int
    low: int
    high: int


def change_points(
    arms: Ints, rows: Ints, values: Floats, noise: Floats, edges: Ints, penalty: float
) -> list[ChangePoint]:
    """The changes of all arms in order of time: rewards `values` at the log's `rows`, in bins that end at `edges`.

    `noise` is that of each bin and arm.
    """
    profiles: list[Profile] = []
    for arm in range(noise.shape[1]):
        own = arms == arm
        profiles += _profiles(arm, rows[own], values[own], noise[:, arm], edges, penalty)
    dated = _dated_together([(profile, _date([profile], int(edges[-1]))) for profile in profiles], int(edges[-1]))
    return sorted((_change(profile, date) for profile, date in dated), key=lambda change: change.row)


def _profiles(arm: int, rows: Ints, values: Floats, noise: Floats, edges: Ints, penalty: float) -> list[Profile]:
    if len(values) < 2 * LEAST_SEGMENT:
        return []
    bins = np.searchsorted(edges, rows, side="right")
    counts = np.bincount(bins, minlength=len(edges)).astype(float)
    sums = summed(bins, values - values.mean(), len(edges))
    firsts = np.searchsorted(bins, segments(counts, sums, noise, penalty))  # the first reward of every segment
    bounds = [0, *(int(each) for each in firsts), len(values)]
    return [
        _profile(arm, rows[first:last], values[first:last], float(np.sqrt((noise[bins[first:last]] ** 2).mean())))
        for first, last in zip(bounds[:-2], bounds[2:], strict=True)
    ]


def _profile(arm: int, rows: Ints, values: Floats, noise: float) -> Profile:
    n, sizes = len(values), np.arange(1, len(values))
    gains = np.cumsum(values - values.mean())[:-1] ** 2 * n / (sizes * (n - sizes)) / noise**2
    least = min(LEAST_SEGMENT, n // 2)
    return Profile(arm, rows, values, noise, np.where((sizes >= least) & (n - sizes >= least), 0.5 * gains, -np.inf))


def _date(profiles: Sequence[Profile], n_rows: int) -> Date:
    """When arms changed, if all did at once."""
    rows = np.unique(np.concatenate([profile.rows for profile in profiles]))
    logs: Floats = np.sum([profile.at(rows) for profile in profiles], axis=0)
    shares: Floats = np.cumsum(np.exp(logs - logs.max()))
    shares /= shares[-1]
    quantiles = np.minimum(np.searchsorted(shares, (0.025, 0.5, 0.975)), len(rows) - 1)
    low, middle, high = (int(row) for row in rows[quantiles])
    reach = int(TOLERANCE * n_rows)
    if high - low > 2 * reach:
        ahead = np.searchsorted(rows, rows + reach, side="right") - 1
        behind = np.searchsorted(rows, rows - reach) - 1
        mass = shares[ahead] - np.where(behind >= 0, shares[behind], 0.0)
        middle = int(np.median(rows[mass >= mass.max() - 1e-9]))
    return Date(middle, low, high)


def _dated_together(dated: list[tuple[Profile, Date]], n_rows: int) -> list[tuple[Profile, Date]]:
    """Changes of several arms whose intervals overlap get one date, where that is likelier than one each."""
    groups: list[list[tuple[Profile, Date]]] = []
    for profile, date in sorted(dated, key=lambda each: each[1].row):
        for group in groups[-3:]:
            near = all(date.low <= other.high and other.low <= date.high for _, other in group)
            strange = profile.arm not in {other.arm for other, _ in group}
            if near and strange and _likelier_together([*group, (profile, date)], n_rows):
                group.append((profile, date))
                break
        else:
            groups.append([(profile, date)])
    return [each for group in groups for each in _joined(group, n_rows)]


def _joined(group: list[tuple[Profile, Date]], n_rows: int) -> list[tuple[Profile, Date]]:
    if len(group) == 1:
        return group
    date = _date([profile for profile, _ in group], n_rows)
    return [(profile, date) for profile, _ in group]


def _likelier_together(group: list[tuple[Profile, Date]], n_rows: int) -> bool:
    """Whether one date for all explains them better than a date each, all dates being alike beforehand."""
    low, high = min(date.low for _, date in group), max(date.high for _, date in group)
    stride = max(1, (high - low) // MOST_DATES)
    rows = np.arange(low, high + 1, stride)
    logs = [profile.at(rows) for profile, _ in group]
    prior = float(np.log(stride / n_rows))
    together = _log_sum(np.sum(logs, axis=0)) + prior
    return together > sum(_log_sum(each) + prior for each in logs)


def _log_sum(logs: Floats) -> float:
    """The logarithm of a sum of likelihoods."""
    most = float(logs.max())
    return most + float(np.log(np.exp(logs - most).sum())) if np.isfinite(most) else -np.inf


def _change(profile: Profile, date: Date) -> ChangePoint:
    n = len(profile.values)
    split = int(np.clip(np.searchsorted(profile.rows, date.row), 1, n - 1))
    before, after = float(profile.values[:split].mean()), float(profile.values[split:].mean())
    error = profile.noise * float(np.sqrt(1.0 / split + 1.0 / (n - split)))
    return ChangePoint(profile.arm, *date, before, after, error)
