"""Changes of an arm's mean: how many, when, how large, each with its uncertainty.

Bins of rewards are cut into segments of one mean each so that

    sum over segments of n (mean of bin - mean of segment)^2 / noise^2  +  penalty x number of changes

is least, exactly (Jackson et al. 2005, optimal partitioning). The penalty is what the best split of any arm gains by
chance in one log of forty, from the permutations of the drift test.

A change is then dated row by row: every split between its neighbours has the likelihood exp(gain / 2), and the
interval has 95 % of these. The date is their median where the interval is short, else the centre of the tenth of the
log that most likely has the change. Changes of several arms that could have been one are dated together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints
from driftwise.evaluate.diagnosis.permutation import summed

LEAST_SEGMENT = 10  # rewards
TOLERANCE = 0.05  # of the log: a date this far off is still of use
MOST_LOSS = 3.0  # of the logarithm of the likelihood of each arm, for one date in common


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


def segments(counts: Floats, sums: Floats, penalty: float) -> Ints:
    """The first bins of all segments but the first; `sums` are in units of the noise."""
    starts = np.zeros(len(counts) + 1, np.int64)
    costs = np.zeros(len(counts) + 1)
    n = partition(
        np.concatenate([[0.0], np.cumsum(counts)]),
        np.concatenate([[0.0], np.cumsum(sums)]),
        float(penalty),
        float(LEAST_SEGMENT),
        costs,
        starts,
    )
    return starts[:n][::-1].copy()


@kernel
def partition(counts: Floats, sums: Floats, penalty: float, least: float, costs: Floats, starts: Ints) -> int:
    """Optimal partitioning over cumulative counts and sums; the changes, last first, are left in `starts`.

    The squares of the rewards are the same in every partition, so the cost of a segment is -sum^2 / n alone.
    """
    n = len(counts) - 1
    costs[0] = -penalty
    starts[0] = 0
    for stop in range(1, n + 1):
        best, origin = np.inf, 0
        for start in range(stop):
            size = counts[stop] - counts[start]
            if start > 0 and (size < least or counts[start] < least):
                continue
            total = sums[stop] - sums[start]
            cost = costs[start] + penalty - (total * total / size if size > 0.0 else 0.0)
            if cost < best:
                best, origin = cost, start
        costs[stop] = best
        starts[stop] = origin
    found, stop = 0, n
    while starts[stop] > 0:  # by way of `costs`, which has served: `starts` is still being read
        stop = starts[stop]
        costs[found] = stop
        found += 1
    for i in range(found):
        starts[i] = int(costs[i])
    return found


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
    """The changes of all arms in order of time: rewards `values` at the log's `rows`, in bins that end at `edges`."""
    profiles: list[Profile] = []
    for arm in range(len(noise)):
        own = arms == arm
        profiles += _profiles(arm, rows[own], values[own], float(noise[arm]), edges, penalty)
    dated = _dated_together([(profile, _date([profile], int(edges[-1]))) for profile in profiles], int(edges[-1]))
    return sorted((_change(profile, date) for profile, date in dated), key=lambda change: change.row)


def _profiles(arm: int, rows: Ints, values: Floats, noise: float, edges: Ints, penalty: float) -> list[Profile]:
    if len(values) < 2 * LEAST_SEGMENT:
        return []
    bins = np.searchsorted(edges, rows, side="right")
    counts = np.bincount(bins, minlength=len(edges)).astype(float)
    sums = summed(bins, (values - values.mean()) / noise, len(edges))
    firsts = np.searchsorted(bins, segments(counts, sums, penalty))  # the first reward of every segment
    bounds = [0, *(int(each) for each in firsts), len(values)]
    return [
        _profile(arm, rows[first:last], values[first:last], noise)
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
    """Changes of several arms whose intervals overlap get one date, where one fits them nearly as well."""
    dated = sorted(dated, key=lambda each: each[1].row)
    groups: list[list[tuple[Profile, Date]]] = []
    for profile, date in dated:
        last = groups[-1] if groups else []
        near = all(date.low <= other.high and other.low <= date.high for _, other in last)
        if last and near and profile.arm not in {other.arm for other, _ in last}:
            last.append((profile, date))
        else:
            groups.append([(profile, date)])
    return [each for group in groups for each in _joined(group, n_rows)]


def _joined(group: list[tuple[Profile, Date]], n_rows: int) -> list[tuple[Profile, Date]]:
    profiles = [profile for profile, _ in group]
    if len(group) == 1:
        return group
    date = _date(profiles, n_rows)
    place = np.array([date.row])
    lost = sum(float(profile.logs.max() - profile.at(place)[0]) for profile in profiles)
    return [(profile, date) for profile in profiles] if lost < MOST_LOSS * len(group) else group


def _change(profile: Profile, date: Date) -> ChangePoint:
    n = len(profile.values)
    split = int(np.clip(np.searchsorted(profile.rows, date.row), 1, n - 1))
    before, after = float(profile.values[:split].mean()), float(profile.values[split:].mean())
    error = profile.noise * float(np.sqrt(1.0 / split + 1.0 / (n - split)))
    return ChangePoint(profile.arm, *date, before, after, error)
