"""What is measured, against plain NumPy and SciPy.

The coverage of the paired interval is simulated with a fixed seed over 1,000 repetitions; its bounds lie four standard
errors from the nominal 95%, so a renewed seed would raise a false alarm about once in 10,000 times.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import Trace, new_trace
from driftwise.families import Abrupt, RandomWalk, Stationary, Uniform
from driftwise.families.multi_armed.worlds.base import BernoulliTape
from driftwise.measure.comparator import BestChoice, ByMeans, ByPath
from driftwise.measure.ledger import OPTIMAL, REGRET, REWARD, Ledger, checkpoints, enter, new_ledger
from driftwise.measure.levels import Levels
from driftwise.measure.recovery import recovery_times
from driftwise.measure.summary import band, estimate, paired_difference

# ---- the ledger ----


def keep_books(world: Any, horizon: int, size: int) -> tuple[Ledger, float, Trace, NDArray[Any]]:
    """A run of the uniform policy booked block by block: ledger, static regret, the whole trace, all means."""
    policy, ledger, nature, rng = Uniform(), new_ledger(horizon), world.nature(), key(1, "books")
    state, whole, means = policy.init(world.problem()), new_trace(0, horizon), []
    standard = BestChoice(world, horizon, 2)
    for tape in world.tapes(horizon, 2, size):
        trace = new_trace(tape.start, len(tape.noise))
        played = play(policy, state, tape, nature, rng, trace, horizon)
        enter(ledger, standard.block(tape), trace, played)
        whole.actions[tape.start : tape.start + played] = trace.actions
        whole.rewards[tape.start : tape.start + played] = trace.rewards
        means.append(tape.levels.table[tape.levels.rows])
    return ledger, standard.tell(ledger, nature)["static_regret"], whole, np.concatenate(means)


def by_means(levels: Levels) -> ByMeans:
    best = levels.table.max(axis=1)
    return ByMeans(levels.rows, levels.table, best, levels.table, best)


@pytest.mark.parametrize("world", [Stationary(), Abrupt(phases=3), RandomWalk(rewards="gaussian", n_arms=3)], ids=str)
@pytest.mark.parametrize("size", [1, 97, 1000])
def test_the_ledger_equals_numpy_over_the_whole_run(world: Any, size: int) -> None:
    horizon = 1000
    ledger, static, trace, means = keep_books(world, horizon, size)
    earned = means[np.arange(horizon), trace.actions]
    gaps = means.max(axis=1) - earned
    good = trace.actions == means.argmax(axis=1)
    after = ledger.rounds - 1
    np.testing.assert_allclose(ledger.curve[:, REGRET], np.cumsum(gaps)[after], rtol=1e-12)
    np.testing.assert_allclose(ledger.curve[:, REWARD], np.cumsum(trace.rewards)[after], rtol=1e-12)
    np.testing.assert_array_equal(ledger.curve[:, OPTIMAL], np.cumsum(good)[after])
    np.testing.assert_array_equal(ledger.curve[-1], ledger.totals)
    np.testing.assert_array_equal(ledger.good, good)
    assert static == pytest.approx(means.sum(axis=0).max() - earned.sum(), rel=1e-12)
    assert 0 < good.sum() < horizon


def test_arms_that_share_the_largest_mean_are_all_optimal() -> None:
    levels = Levels(np.array([[0.3, 0.7, 0.7]]), np.zeros(3, np.int32))
    ledger = new_ledger(3)
    enter(ledger, by_means(levels), Trace(0, np.array([0, 1, 2]), np.ones(3)), 3)
    assert ledger.good.tolist() == [False, True, True]
    assert ledger.totals[[OPTIMAL, REWARD]].tolist() == [2.0, 3.0]
    assert ledger.totals[REGRET] == pytest.approx(0.4)


def test_a_run_that_ends_early_leaves_later_checkpoints_empty() -> None:
    levels = Levels(np.array([[0.3, 0.7]]), np.zeros(10, np.int32))
    ledger = new_ledger(10)
    enter(ledger, by_means(levels), Trace(0, np.zeros(10, np.int64), np.ones(10)), 4)
    played = ledger.rounds <= 4
    np.testing.assert_allclose(ledger.curve[played, REGRET], 0.4 * ledger.rounds[played])
    assert np.isnan(ledger.curve[~played]).all()
    assert (~played).sum() > 0


def test_following_the_drift_can_beat_every_single_arm() -> None:
    """Two arms that change places: always right means a negative static regret."""
    levels = Levels(np.array([[1.0, 0.0], [0.0, 1.0]]), np.repeat([0, 1], 5).astype(np.int32))
    for missed, expected in (0.0, 5.0 - 10.0), (5.0, 0.0):  # the second is as good as one arm all along
        for cuts in ([slice(0, 10)], [slice(0, 7), slice(7, 10)]):
            standard, ledger = BestChoice(Stationary(n_arms=2), 10, 0), new_ledger(10)
            for part in cuts:
                standard.block(BernoulliTape(part.start, Levels(levels.table, levels.rows[part]), np.zeros(10)))
            ledger.totals[REGRET] = missed
            assert standard.tell(ledger, ())["static_regret"] == pytest.approx(expected)
            assert standard.tell(ledger, ())["benchmark"] == pytest.approx(10.0)


def test_a_path_of_rewards_is_a_standard_too() -> None:
    ledger, standard = new_ledger(4), ByPath(np.array([1.0, 0.5, 0.0, 1.0]))
    enter(ledger, standard, Trace(0, np.zeros(4, np.int64), np.array([0.25, 0.5, 1.0, 1.0])), 4)
    assert ledger.totals[REGRET] == pytest.approx(0.75 + 0.0 - 1.0 + 0.0)
    assert ledger.good.tolist() == [False, True, True, True]


def test_the_null_arm_earns_nothing() -> None:
    levels = Levels(np.array([[0.3, 0.7]]), np.zeros(2, np.int32))
    ledger = new_ledger(2)
    enter(ledger, by_means(levels), Trace(0, np.array([-1, 1]), np.zeros(2)), 2)
    assert ledger.totals[REGRET] == pytest.approx(0.7)


@pytest.mark.parametrize("horizon", [1, 2, 3, 10, 199, 200, 201, 1000, 10**4, 10**7])
def test_checkpoints_go_from_the_first_round_to_the_last_in_growing_steps(horizon: int) -> None:
    rounds = checkpoints(horizon)
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert (np.diff(rounds) > 0).all()
    assert len(rounds) <= min(horizon, 200)
    if horizon >= 1000:
        assert len(rounds) > 100
        ratios = rounds[-20:] / rounds[-21:-1]
        np.testing.assert_allclose(ratios, ratios.mean(), rtol=0.01)  # evenly spaced on a logarithmic axis


# ---- recovery ----


@pytest.mark.parametrize(
    ("good", "changes", "expected"),
    [
        ([1] * 40, [20], [10]),  # right from the first round: one span
        ([1] * 20 + [0] * 5 + [1] * 15, [20], [15]),
        ([1] * 20 + [0] * 20, [20], [20]),  # never: the whole phase
        ([1] * 20 + [0] * 15 + [1] * 5, [20], [20]),  # not in time
        ([1] * 20 + [0] * 10 + [1] * 10, [20], [20]),  # in the very last round
        ([0] * 10 + [1] * 10 + [0] * 3 + [1] * 17, [10, 20], [10, 13]),
        ([0] * 40, [10, 15], [5, 25]),  # a phase shorter than the span
        ([1] * 40, [], []),
    ],
)
def test_recovery_is_the_first_time_a_whole_span_was_good(
    good: list[int], changes: list[int], expected: list[int]
) -> None:
    times = recovery_times(np.array(good, bool), changes, span=10, share=1.0)
    assert times.tolist() == expected


def test_recovery_asks_for_the_share_of_the_span() -> None:
    good = np.array([0, 1, 1, 1, 0] * 20, bool)
    assert recovery_times(good, [0], span=5, share=0.6).tolist() == [5]
    assert recovery_times(good, [0], span=5, share=0.61).tolist() == [100]
    assert recovery_times(np.array([0] * 7 + [1] * 50, bool), [0], span=50).tolist() == [50]  # 43 of 50 is enough


@pytest.mark.parametrize(("span", "hits", "share"), [(25, 7, 0.28), (100, 7, 0.07), (10, 7, 0.7), (50, 40, 0.8)])
def test_recovery_counts_a_share_that_is_just_reached(span: int, hits: int, share: float) -> None:
    """0.28 * 25 is 7.000000000000001 in doubles: 7 of 25 must do all the same."""
    good = np.array([0] * (span - hits) + [1] * hits + [0] * span, bool)
    assert recovery_times(good, [0], span=span, share=share).tolist() == [span]


def test_recovery_looks_at_its_own_phase_only() -> None:
    """Good rounds before the change, or after the next, do not help."""
    good = np.array([1] * 50 + [0] * 30 + [1] * 50, bool)
    assert recovery_times(good, [50, 80], span=10, share=0.5).tolist() == [30, 10]


# ---- means over runs ----


@pytest.mark.parametrize("runs", [2, 3, 10, 200])
def test_an_estimate_is_students_interval(runs: int) -> None:
    sample = np.random.default_rng(runs).normal(3.0, 2.0, size=runs)
    mean, half = estimate(sample)
    low, high = stats.t.interval(0.95, runs - 1, loc=sample.mean(), scale=stats.sem(sample))
    assert mean == pytest.approx(sample.mean(), rel=1e-12)
    assert (mean - half, mean + half) == pytest.approx((low, high), rel=1e-9)


def test_a_single_run_has_no_interval() -> None:
    mean, half = estimate([4.0])
    assert mean == 4.0
    assert np.isnan(half)


def test_a_band_is_an_estimate_at_every_checkpoint() -> None:
    curves = np.random.default_rng(0).normal(size=(12, 5))
    means, halves = band(curves)
    for column in range(5):
        assert (means[column], halves[column]) == pytest.approx(tuple(estimate(curves[:, column])), rel=1e-12)
    assert np.isnan(band(curves[:1])[1]).all()


def test_a_paired_difference_cancels_what_the_worlds_share() -> None:
    """Worlds that differ by hundreds, policies that differ by one: two means would not tell them apart."""
    luck = np.random.default_rng(1)
    worlds = luck.normal(0.0, 300.0, size=40)
    ours, theirs = worlds + luck.normal(0.0, 0.5, size=40), worlds + 1.0 + luck.normal(0.0, 0.5, size=40)
    difference = paired_difference(ours, theirs)
    assert difference.mean == pytest.approx((ours - theirs).mean())
    assert difference.low < difference.mean < difference.high < 0.0
    assert difference.clear
    assert estimate(ours).ci95 > 50.0
    assert not paired_difference(theirs - 1.0, worlds).clear


def test_a_paired_difference_turns_its_sign_and_keeps_its_seed() -> None:
    luck = np.random.default_rng(2)
    ours, theirs = luck.normal(size=30), luck.normal(size=30)
    there, back = paired_difference(ours, theirs), paired_difference(theirs, ours)
    assert (back.mean, back.low, back.high) == pytest.approx((-there.mean, -there.high, -there.low))
    assert paired_difference(ours, theirs) == there
    assert paired_difference(ours, theirs, seed=1) != there


def test_the_paired_interval_covers_the_truth_95_times_in_100() -> None:
    repetitions, runs, truth = 1000, 100, 0.3
    luck, covered = np.random.default_rng(3), 0
    for repetition in range(repetitions):
        theirs = luck.normal(size=runs)
        ours = theirs + luck.normal(truth, 1.0, size=runs)
        difference = paired_difference(ours, theirs, resamples=1000, seed=repetition)
        covered += difference.low <= truth <= difference.high
    assert 0.92 <= covered / repetitions <= 0.98
