"""The shared compiled maths, against recounts and SciPy.

The one statistical test (the mean of Bernoulli trials) has a fixed seed and a false-alarm rate of 1e-5 per reward.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from driftwise.core.kernel import kernel
from driftwise.core.random import stream
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, equal
from driftwise.core.types import Floats, Problem
from driftwise.families import SlidingGaussianThompson
from driftwise.families.multi_armed.beta_thompson import log_factorial, log_height, trial
from driftwise.families.multi_armed.gaussian_thompson import believe
from driftwise.numerics.argmax_tree import SMALL, best, new_tree, repair
from driftwise.numerics.optimism import most_promising, tally
from driftwise.numerics.window import Window, remember, slide

QUICK = settings(max_examples=60, deadline=None, derandomize=True, database=None)
ARMS = 3


# ---- the window ----


class Told(NamedTuple):
    """Time moves on by `wait` rounds; then the reward of the decision `age` rounds ago is told (None: nothing is)."""

    wait: int
    age: int | None
    arm: int
    reward: float


TOLD = st.builds(
    Told,
    wait=st.sampled_from([0, 0, 1, 1, 1, 2, 5, 17]),
    age=st.none() | st.integers(0, 12),
    arm=st.integers(0, ARMS - 1),
    reward=st.floats(-10.0, 10.0),
)


class Diary:
    """The window as a dictionary from round to (arm, reward): the first that came for each round stays."""

    def __init__(self, size: int) -> None:
        self.size, self.clock, self.stale = size, 0, 0
        self.entries: dict[int, tuple[int, float]] = {}

    def move(self, t: int) -> None:
        self.clock = max(self.clock, t)
        self.entries = {each: entry for each, entry in self.entries.items() if each >= self.clock - self.size}

    def tell(self, t: int, arm: int, reward: float, now: int) -> None:
        self.move(now + 1)
        if t < self.clock - self.size:
            self.stale += 1
        else:
            self.entries.setdefault(t, (arm, reward))

    def of(self, arm: int) -> list[float]:
        return [reward for each, reward in self.entries.values() if each == arm]


def new_state(size: int) -> tuple[Any, Any]:
    policy = SlidingGaussianThompson(window=size)
    return policy, policy.init(Problem(ARMS))


def assert_recounts(state: Any, diary: Diary) -> None:
    """Counts and sums are those of the ring, the ring is the diary's, and what is cached of each arm is fresh."""
    window: Window = state.window
    assert (window.clock[0], window.stale[0]) == (diary.clock, diary.stale)
    beliefs = state.beliefs._replace(centres=state.beliefs.centres.copy(), spreads=state.beliefs.spreads.copy())
    for arm in range(ARMS):
        in_ring = window.rewards[window.arms == arm]
        assert sorted(in_ring) == sorted(diary.of(arm))
        assert window.counts[arm] == len(in_ring)
        np.testing.assert_allclose(window.sums[arm], in_ring.sum(), rtol=0.0, atol=1e-9)
        believe(beliefs, arm, int(window.counts[arm]), float(window.sums[arm]), 0, int(window.left[arm]))
    np.testing.assert_array_equal(beliefs.centres, state.beliefs.centres)
    np.testing.assert_array_equal(beliefs.spreads, state.beliefs.spreads)


def live_through(size: int, history: list[Told]) -> None:
    """Lead a window and a diary through the same history, recounting after every step."""
    (policy, state), diary = new_state(size), Diary(size)
    now = 0
    for each in history:
        now += each.wait
        slide(policy, state, now, 0)
        diary.move(now)
        assert_recounts(state, diary)
        if each.age is not None and each.age <= now:
            remember(state, now - each.age, each.arm, each.reward, now)
            diary.tell(now - each.age, each.arm, each.reward, now)
            assert_recounts(state, diary)


@QUICK
@given(size=st.sampled_from([1, 2, 3, 7, 11]), history=st.lists(TOLD, max_size=60))
def test_the_window_equals_a_recount_after_any_history(size: int, history: list[Told]) -> None:
    live_through(size, history)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 11])
def test_the_window_equals_a_recount_after_long_histories(size: int) -> None:
    luck = np.random.default_rng(size)
    for _ in range(8):
        waits, ages, arms = luck.integers(0, 3, 80), luck.integers(-2, size + 2, 80), luck.integers(0, ARMS, 80)
        columns = zip(waits.tolist(), ages.tolist(), arms.tolist(), luck.normal(size=80).tolist(), strict=True)
        live_through(size, [Told(wait, age if age >= 0 else None, arm, reward) for wait, age, arm, reward in columns])


def test_a_duplicate_changes_nothing_and_a_stale_reward_is_only_counted() -> None:
    policy, state = new_state(4)
    for t in range(4):
        remember(state, t, t % ARMS, 1.0 + t, t)
    before = clone(state.window)
    remember(state, 2, 0, 99.0, 3)
    assert equal(state.window, before)
    slide(policy, state, 6, 0)
    remember(state, 2, 2, 5.0, 6)
    assert state.window.stale[0] == 1
    assert state.window.counts.sum() == 1  # of rounds 3 .. 6 only round 3 was ever answered


def test_a_late_reward_leaves_with_its_decision_not_with_its_arrival() -> None:
    policy, state = new_state(5)
    remember(state, 0, 1, 7.0, 4)
    assert state.window.sums[1] == 7.0
    slide(policy, state, 6, 0)
    assert state.window.counts[1] == 0
    assert state.window.sums[1] == 0.0


@pytest.mark.parametrize(("size", "late"), [(1, 0), (2, 0), (7, 0), (7, 3), (50, 0), (50, 30)])
@pytest.mark.parametrize("offset", [0, 1, 6])
def test_a_huge_reward_leaves_no_trace_after_two_windows(size: int, late: int, offset: int) -> None:
    """Plain adding and subtracting would keep the rounding of 3e14, a few hundredths, for ever."""
    policy, state = new_state(size)
    huge = 3 * size + offset
    rewards = np.random.default_rng(size).random(huge + 2 * size)
    rewards[huge] = 1e15 / 3.0
    for now in range(late, len(rewards)):
        remember(state, now - late, 0, float(rewards[now - late]), now)
    slide(policy, state, len(rewards), 0)
    in_window = rewards[len(rewards) - size : len(rewards) - late]
    assert state.window.counts[0] == len(in_window) == size - late
    np.testing.assert_allclose(state.window.sums[0], in_window.sum(), rtol=0.0, atol=1e-9)


def test_an_idle_window_empties_itself() -> None:
    policy, state = new_state(6)
    for t in range(6):
        remember(state, t, t % ARMS, 0.1, t)
    slide(policy, state, 12, 0)
    assert (state.window.arms == -1).all()
    assert (state.window.counts == 0).all()
    np.testing.assert_array_equal(state.window.sums, np.zeros(ARMS))


# ---- the winner tree ----


SCORES = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 0.5 + 1e-12, 2.0, np.inf])  # few values, so there are many ties
CHANGES = st.lists(st.tuples(st.integers(0, 10**6), SCORES), min_size=1, max_size=60)


@QUICK
@given(n_arms=st.sampled_from([SMALL + 1, 120, 128, 129, 300]), start=SCORES, changes=CHANGES)
def test_the_tree_knows_the_first_of_the_largest(n_arms: int, start: float, changes: list[tuple[int, float]]) -> None:
    tree, scores = new_tree(n_arms), np.full(n_arms, start)
    assert best(tree, scores) == 0
    for place, score in changes:
        arm = place % n_arms
        scores[arm] = score
        repair(tree, scores, arm)
        assert best(tree, scores) == np.argmax(scores)
    assert_every_match_is_right(tree, scores)


def assert_every_match_is_right(tree: Any, scores: Floats) -> None:
    """Not only the root: a repair that stops early leaves no node behind that is wrong."""
    leaves = len(tree) // 2
    for node in range(1, leaves):
        left, depth = node, 1
        while left < leaves:
            left, depth = 2 * left, 2 * depth
        below = scores[left - leaves : left - leaves + depth]
        assert tree[node] == (left - leaves + np.argmax(below) if len(below) else -1)


def test_the_tree_stays_right_over_a_long_run_of_every_kind_of_change() -> None:
    n_arms, luck = 200, np.random.default_rng(0)
    tree, scores = new_tree(n_arms), np.zeros(n_arms)
    for i in range(3000):
        arm = int(best(tree, scores)) if i % 3 == 0 else int(luck.integers(n_arms))
        scores[arm] = luck.integers(6)
        repair(tree, scores, arm)
        assert best(tree, scores) == np.argmax(scores)
    assert_every_match_is_right(tree, scores)


@pytest.mark.parametrize("n_arms", [1, 2, 5, SMALL])
def test_few_arms_are_scanned_with_the_same_answer(n_arms: int) -> None:
    tree, luck = new_tree(n_arms), np.random.default_rng(n_arms)
    assert len(tree) == 1
    for _ in range(200):
        scores = luck.integers(4, size=n_arms).astype(float)
        repair(tree, scores, 0)
        assert best(tree, scores) == np.argmax(scores)


# ---- bounds ----


def test_the_most_promising_arm_is_the_first_of_the_largest_bounds() -> None:
    luck = np.random.default_rng(1)
    for _ in range(300):
        counts, totals = luck.integers(0, 4, size=6), luck.integers(0, 4, size=6).astype(float)
        means, roots = np.empty(6), np.empty(6)
        for arm in range(6):
            tally(means, roots, arm, int(counts[arm]), totals[arm], 0, 0.5, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.where(counts > 0, totals / counts + 0.5 * (1.0 / np.sqrt(counts)), np.inf)
        assert most_promising(means, roots, 0.5) == np.argmax(bounds)


# ---- Beta posteriors ----


@pytest.mark.parametrize("n", [*range(0, 600, 7), 255, 256, 257, 10**4, 10**6, 10**9])
def test_log_factorial_is_gammaln(n: int) -> None:
    np.testing.assert_allclose(log_factorial(n), special.gammaln(n + 1.0), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 0), (0, 5), (5, 5), (3, 9), (255, 256), (300, 700), (10**6, 10**6 + 3)]
)
def test_log_height_is_the_constant_of_the_beta_density(successes: int, trials: int) -> None:
    constant = -special.betaln(successes + 1.0, trials - successes + 1.0)
    np.testing.assert_allclose(log_height(float(successes), trials), constant, rtol=1e-9, atol=1e-9)


@kernel
def count_successes(reward: float, low: float, span: float, rng: Any, trials: int) -> int:
    total = 0
    for i in range(trials):
        total += int(trial(reward, low, span, stream(rng, i)))
    return total


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 5.0)])
@pytest.mark.parametrize("place", [0.001, 0.25, 0.5, 0.9])
def test_a_trial_succeeds_with_the_place_of_its_reward_in_the_range(low: float, high: float, place: float) -> None:
    trials = 100_000
    hits = count_successes(low + place * (high - low), low, high - low, key(4, "trials"), trials)
    assert stats.binomtest(int(hits), trials, place).pvalue > 1e-5


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 5.0)])
def test_the_ends_of_the_range_are_certain(low: float, high: float) -> None:
    assert count_successes(low, low, high - low, key(5), 20_000) == 0
    assert count_successes(high, low, high - low, key(5), 20_000) == 20_000


def test_a_reward_told_twice_has_the_same_trial() -> None:
    """The coin belongs to the decision: a replay of the log gives the same state."""
    outcomes = [(trial(0.5, 0.0, 1.0, at(key(6), t)), trial(0.5, 0.0, 1.0, at(key(6), t))) for t in range(200)]
    assert all(one == again for one, again in outcomes)
    assert {one for one, _ in outcomes} == {0.0, 1.0}
