"""Does a log drift? A permutation test that holds its level.

If no arm drifts, the rewards of an arm, within an hour or weekday where these matter, could have come in any order. So
rewards are put into random order within their arm and season, several hundred times, and statistics of the log are
compared with those of its permutations:

    cusum     max over arms and splits of |z|, the difference of means before and after in standard errors
    spread_j  sum over arms and 2^j equal stretches of n (mean - mean of the arm)^2: oscillations and walks

Each is measured from its median, in units of the distance from there to its 95 % quantile; the largest of them is
compared with the largest of every permutation. So the level is that of one test, exactly, if rewards of an arm are
independent of each other.

Time is counted in rewards of the arm, not by the clock: a logging policy that adapts chooses an arm more often after
good rewards, which ties the clock to the rewards, but the next reward of an arm does not depend on when it is drawn.
What is left is that such a policy may stop choosing an arm after bad rewards; see docs/logs.md for what that does.

Long logs are permuted in runs of consecutive rewards of an arm, at most `MOST_RUNS` in all.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import integers
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Ints

LEVEL = 0.025  # of logs without drift that are called drifting
PERMUTATIONS = 499
MOST_RUNS = 100_000
MOST_BINS = 256
LEAST_SIDE = 5  # rewards on either side of a split
SURE = 50.0  # rewards that the noise of a whole log counts for, beside those around a bin
BATCH = 1 << 22  # numbers of permuted sums at a time: 32 MB


class Exchangeable(NamedTuple):
    """Runs of rewards, in order of their strata: those of a stratum may change places.

    `values` are sums over a run of rewards less the mean of their stratum, in units of their arm's spread; `cells`
    say where a run lies, bin x n_arms + arm, in bins of equal numbers of an arm's rewards; stratum i has the runs
    `starts[i]` to `starts[i + 1]`; a run has `length` rewards.
    """

    values: Floats
    cells: Ints
    starts: Ints
    length: int
    n_bins: int
    n_arms: int

    @property
    def counts(self) -> Floats:
        """Rewards per bin and arm."""
        counts: Floats = np.bincount(self.cells, minlength=self.n_bins * self.n_arms) * np.float64(self.length)
        return counts.reshape(self.n_bins, self.n_arms)


class DriftTest(NamedTuple):
    """The p-value of the test, the statistics of the log with a p-value each, and what chance does to a split.

    `split_threshold` is the square of z that the best split of any arm exceeds by chance in one log of forty.
    """

    p_value: float
    statistics: dict[str, float]
    p_values: dict[str, float]
    split_threshold: float
    permutations: int


def n_bins_for(n_rewards: int, n_arms: int) -> int:
    """A power of two, so that an arm has about ten rewards in a bin."""
    wanted = max(4.0, n_rewards / (10.0 * n_arms))
    return int(min(MOST_BINS, 2 ** int(np.log2(wanted))))


def exchangeable(arms: Ints, values: Floats, slots: Ints, n_arms: int) -> Exchangeable:
    """Runs of rewards of an arm and a season, as long as it takes to have few enough."""
    n_bins, n_slots = n_bins_for(len(values), n_arms), int(slots.max(initial=0)) + 1
    length = -(-len(values) // MOST_RUNS)
    strata = arms * n_slots + slots
    order = np.argsort(strata, kind="stable")
    sizes = np.bincount(strata, minlength=n_arms * n_slots)
    first = np.cumsum(sizes) - sizes
    means = means_of(strata, values, len(sizes))
    residuals = ((values - means[strata]) / spread_of(arms, values - means[strata], n_arms)[arms])[order]
    runs = sizes // length  # rewards at the end that fill no run are left out of the test
    whole = np.repeat(first, runs * length) + _counts_up(runs * length)
    middle = order[whole[length // 2 :: length]]
    cells = (_place_in_arm(arms, n_arms)[middle] * n_bins // np.bincount(arms, minlength=n_arms)[arms[middle]]) * n_arms
    sums = residuals[whole].reshape(-1, length).sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(runs)])
    return Exchangeable(sums, cells + arms[middle], starts.astype(np.int64), length, n_bins, n_arms)


def _place_in_arm(arms: Ints, n_arms: int) -> Ints:
    """How many rewards of the same arm came before."""
    places = np.empty(len(arms), np.int64)
    places[np.argsort(arms, kind="stable")] = _counts_up(np.bincount(arms, minlength=n_arms))
    return places


def _counts_up(sizes: Ints) -> Ints:
    """0 .. sizes[0] - 1, 0 .. sizes[1] - 1, ..."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def drift_test(runs: Exchangeable, *, seed: int = 0, permutations: int = PERMUTATIONS) -> DriftTest:
    """Compare the log with permutations of it."""
    counts, shape = runs.counts, (runs.n_bins, runs.n_arms)
    names, observed = statistics(_sums(runs)[None], counts)
    rows, values = [observed], runs.values.copy()
    rng, size = key(seed, "permutations"), max(1, BATCH // (runs.n_bins * runs.n_arms))
    for start in range(0, permutations, size):
        sums = np.zeros((min(size, permutations - start), runs.n_bins * runs.n_arms))
        rng = np.uint64(permute(values, runs.cells, runs.starts, sums, rng))
        rows.append(statistics(sums.reshape(-1, *shape), counts)[1])
    table = np.concatenate(rows)
    joint = joint_statistic(table)
    return DriftTest(
        p_value=float((joint >= joint[0]).mean()),
        statistics=dict(zip(names, map(float, observed[0]), strict=True)),
        p_values=dict(zip(names, map(float, (table >= observed).mean(axis=0)), strict=True)),
        split_threshold=float(np.quantile(table[1:, 0], 1.0 - LEVEL) ** 2),
        permutations=permutations,
    )


def joint_statistic(table: Floats) -> Floats:
    """One number per row: the largest of its columns, each on the scale of its own distribution."""
    middle, high = np.quantile(table, (0.5, 0.95), axis=0)
    joint: Floats = ((table - middle) / np.maximum(high - middle, 1e-12)).max(axis=1)
    return joint


def _sums(runs: Exchangeable) -> Floats:
    return summed(runs.cells, runs.values, runs.n_bins * runs.n_arms).reshape(runs.n_bins, runs.n_arms)


def summed(cells: Ints, values: Floats, size: int) -> Floats:
    """The sum of the values in each cell."""
    sums: Floats = np.bincount(cells, weights=values, minlength=size).astype(np.float64)
    return sums


def means_of(cells: Ints, values: Floats, size: int) -> Floats:
    """The mean of each cell, 0 where it is empty. That of equal values is their value, which the sum may miss.

    Rewards that never vary would else differ from their mean by rounding, and be compared in units of it.

    >>> means_of(np.zeros(3, int), np.array([0.1, 0.1, 0.1]), 1)
    array([0.1])
    """
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, cells, values)
    np.maximum.at(high, cells, values)
    counts = np.bincount(cells, minlength=size)
    means = summed(cells, values, size) / np.maximum(counts, 1)
    return np.where(counts > 0, np.clip(means, low, high), 0.0)


@kernel
def permute(values: Floats, cells: Ints, starts: Ints, out: Floats, rng: Any) -> Any:
    """Shuffle each stratum again and again; a row of `out` has the sums per cell of one shuffle."""
    for row in range(len(out)):
        for stratum in range(len(starts) - 1):
            first, last = starts[stratum], starts[stratum + 1]
            for i in range(last - 1, first - 1, -1):
                j, rng = integers(i - first + 1, rng)
                j += first
                value = values[j]
                values[j] = values[i]
                values[i] = value
                out[row, cells[i]] += value
    return rng


def statistics(sums: Floats, counts: Floats) -> tuple[list[str], Floats]:
    """The statistics of logs, a row each, from their sums (log, bin, arm) and what all have: counts (bin, arm)."""
    before, total = np.cumsum(counts, axis=0)[:-1], counts.sum(axis=0)
    sizes = before * (total - before) / np.maximum(total, 1.0)
    split = np.cumsum(sums, axis=1)[:, :-1]
    inside = (before >= LEAST_SIDE) & (total - before >= LEAST_SIDE)
    scale = np.where(inside, np.sqrt(np.where(inside, sizes, 1.0)), np.inf)
    names, columns = ["cusum"], [np.abs(split / scale).max(axis=(1, 2))]
    stretches = 2
    while stretches <= len(counts):
        part = counts.reshape(stretches, -1, counts.shape[1]).sum(axis=1)
        whole = sums.reshape(len(sums), stretches, -1, counts.shape[1]).sum(axis=2)
        names.append(f"spread{stretches}")
        columns.append((whole**2 / np.maximum(part, 1.0)).sum(axis=(1, 2)))
        stretches *= 2
    return names, np.stack(columns, axis=1)


def spread_of(arms: Ints, residuals: Floats, n_arms: int) -> Floats:
    """The standard deviation of each arm's residuals, which does not depend on their order.

    The test must not weigh arms by their noise, which is taken from neighbours: by chance, arms whose neighbours are
    alike would get more weight, and the same chance makes them look like drift.
    """
    spread = np.sqrt(summed(arms, residuals**2, n_arms) / np.maximum(np.bincount(arms, minlength=n_arms), 1))
    return np.where(spread > 0.0, spread, 1.0)


def noise_of(arms: Ints, values: Floats, n_arms: int) -> Floats:
    """The spread of an arm's rewards around its mean of the moment, from neighbours in time: drift hardly shows in it.

    Rewards that never vary tell no noise: such an arm gets the spread of all rewards, in their unit.

    >>> noise_of(np.zeros(6, int), np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]), 1)
    array([0.70710678])
    """
    rewards, squares = _steps(arms, values)
    owners = arms[rewards]
    noise = np.sqrt(summed(owners, squares, n_arms) / np.maximum(np.bincount(owners, minlength=n_arms), 1))
    return np.where(noise > 0.0, noise, float(values.std()) or 1.0)


def local_noise(bins: Ints, arms: Ints, values: Floats, noise: Floats, n_bins: int) -> Floats:
    """The same for each bin and arm, over an eighth of the log around it: the noise of clicks follows their rate."""
    rewards, squares = _steps(arms, values)
    cells, size = bins[rewards] * len(noise) + arms[rewards], n_bins * len(noise)
    window = np.ones(2 * (n_bins // 16) + 1)
    tables = (np.bincount(cells, minlength=size).astype(float), summed(cells, squares, size))
    count, total = (
        np.stack([np.convolve(column, window, mode="same")[:n_bins] for column in table.reshape(n_bins, -1).T], axis=1)
        for table in tables
    )
    return np.asarray(np.sqrt((total + SURE * noise**2) / (count + SURE)), np.float64)


def _steps(arms: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Rewards that follow another of their arm, and half the square of the difference."""
    order = np.argsort(arms, kind="stable")
    same = np.diff(arms[order]) == 0
    return order[1:][same], np.diff(values[order])[same] ** 2 / 2.0
