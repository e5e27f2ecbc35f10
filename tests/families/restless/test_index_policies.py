"""Policies that go by Whittle indices of kernels they learn: each against its slow twin, and how moves are counted."""

from typing import Any

import numpy as np
import pytest

from driftwise.core.types import Decision, Moves
from driftwise.core.validation import cast
from driftwise.core.verbs import update
from driftwise.families import AdaptiveWhittle, SlidingWhittle, UCWhittle, WhittleThompson
from driftwise.families.restless.transitions.counts import close_episode, count_moves, new_counts
from driftwise.families.restless.transitions.pooling import add_to_pool, believed_row, empty_pool
from tests.fixtures.restless_arms import follow, problem

POLICIES_TRIED: dict[str, Any] = {
    "sliding-whittle, literal": SlidingWhittle(window=2, every=7),
    "sliding-whittle, calibrated": SlidingWhittle.calibrated(window=3)._replace(every=7),
    "sliding-whittle, certain": SlidingWhittle.certain(window=2)._replace(every=7),
    "sliding-whittle, certain of each arm": SlidingWhittle(window=2, conf="certain", every=7),
    "uc-whittle": UCWhittle(every=7),
    "uc-whittle, size=0.5": UCWhittle(size=0.5, every=7),
    "whittle-thompson": WhittleThompson(window=2, every=7),
    "adaptive-whittle": AdaptiveWhittle(every=5),
    "adaptive-whittle that forgets no loss": AdaptiveWhittle(every=3, fade=1.0),
}


@pytest.mark.parametrize("episode", [0, 7])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", POLICIES_TRIED)
def test_a_policy_agrees_with_its_twin(name: str, late: bool, episode: int) -> None:
    """Where outcomes are late, those of one episode come in others; indices agree all the same."""
    follow(POLICIES_TRIED[name], problem(episode=episode), late=late)


@pytest.mark.parametrize("name", ["sliding-whittle, literal", "uc-whittle"])
def test_radii_go_by_the_number_of_episodes_where_it_is_known(name: str) -> None:
    follow(POLICIES_TRIED[name], problem(episode=7, horizon=700), late=True)


def test_where_every_ball_holds_everything_all_indices_are_0() -> None:
    state, _ = follow(UCWhittle(size=1e12), problem(episode=7), late=False)
    assert np.abs(state.table).max() < 1e-9


def test_an_arm_that_was_not_there_has_no_say_in_the_charge() -> None:
    policy, asked = cast(UCWhittle(every=7)), problem(episode=0)
    state = policy.init(asked)
    state.table[:] = np.arange(5)[:, None]
    for states, charge in (([0, 0, 0, 0, -1], 2.0), ([-1, -1, -1, -1, 0], 2.0)):
        last = Decision(6, np.array([2, 3]), 1.0, np.array(states), np.uint64(0))
        update(policy, state, last, Moves(0.0, np.zeros(5), np.zeros(5, np.int64)), 6)
        assert state.charge[0] == charge - 0.9 * asked.structure.costs[2]


def test_windows_of_episodes_are_what_a_recount_of_the_log_gives() -> None:
    """Three windows at once, outcomes up to five episodes late, some arms not seen."""
    sizes, period, groups, luck = np.array([0, 1, 3]), 4, np.array([0, 1, 0]), np.random.default_rng(3)
    counts = new_counts(groups, 2, 3, sizes, period, pooled=True)
    due: dict[int, list[tuple[Decision, Moves]]] = {}
    log: list[tuple[int, int, int, int, int]] = []
    for t in range(120):
        while counts.episode[0] < t // period:
            close_episode(counts)
        np.testing.assert_array_equal(counts.views, recount(log, sizes, t // period))
        states, after = luck.integers(3, size=3), luck.integers(-1, 3, size=3)
        chosen = np.sort(luck.permutation(3)[: 1 + t % 2])
        told = t + int(luck.integers(20) if t % 3 else 0)
        due.setdefault(told, []).append(
            (Decision(t, chosen, 1.0, states, np.uint64(0)), Moves(0.0, np.zeros(3), after))
        )
        for decision, outcome in due.pop(t, []):
            count_moves(counts, decision, outcome)
            for arm in np.flatnonzero(outcome.states >= 0):
                active = int(arm in decision.action)
                log.append((decision.t // period, groups[arm], active, decision.context[arm], outcome.states[arm]))


def recount(log: list[tuple[int, int, int, int, int]], sizes: Any, now: int) -> Any:
    """Every window, counted from the log."""
    views = np.zeros((2, len(sizes), 2, 3, 3))
    for episode, group, action, here, there in log:
        for view, size in enumerate(sizes):
            if episode < now and (size == 0 or now - episode <= size):
                views[group, view, action, here, there] += 1
    return views


@pytest.mark.parametrize(("sizes", "stale"), [([1, 2], 1), ([1, 0], 0)])
def test_what_no_window_reaches_is_stale(sizes: list[int], stale: int) -> None:
    counts = new_counts(np.zeros(1, np.int64), 1, 2, np.array(sizes), 1, pooled=True)
    for _ in range(5):
        close_episode(counts)
    first, there = np.zeros(1, np.int64), np.ones(1, np.int64)
    count_moves(counts, Decision(0, first, 1.0, first, np.uint64(0)), Moves(0.0, np.zeros(1), there))
    assert (counts.stale[0], counts.views.sum()) == (stale, 1 - stale)
    count_moves(counts, Decision(0, first, 1.0, first, np.uint64(0)), Moves(0.0, np.zeros(1), -there))
    assert counts.stale[0] == stale  # what was not seen is not stale


def test_rows_borrow_from_rows_with_as_many_places() -> None:
    """Two rows with two places each, 3 + 0 and 1 + 4 moves; a row with three places is left alone."""
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    counts = np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 4.0], [7.0, 7.0, 7.0]])
    pool, out = np.zeros((4, 3)), np.zeros(3)
    empty_pool(pool)
    for allowed, seen in zip(rows, counts, strict=True):
        add_to_pool(pool, allowed, seen)
    assert pool[2, :2].tolist() == [4.5, 4.5]
    believed_row(pool, rows[0], counts[0], 10.0, out)
    np.testing.assert_allclose(out, [8.0 / 13.0, 5.0 / 13.0, 0.0])
    believed_row(pool, rows[1], counts[1], 0.0, out)
    np.testing.assert_allclose(out, [0.0, 1.5 / 6.0, 4.5 / 6.0])
