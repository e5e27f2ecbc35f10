"""Policies by Whittle indices of transitions they learn: each against its slow twin, and how moves are counted."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from driftwise.core.types import Decision, Moves
from driftwise.core.validation import cast
from driftwise.families import (
    AdaptiveWhittle,
    HealthAdherence,
    MachineMaintenance,
    RestlessTable,
    RoundRobin,
    SlidingWhittle,
    UCWhittle,
    WhittleThompson,
)
from driftwise.families.restless.transitions.counts import close_episode, count_moves, new_counts
from driftwise.families.restless.transitions.pooling import add_to_pool, believed_row, empty_pool
from driftwise.study.run import run
from driftwise.study.study import Study
from tests.fixtures.everyday import deep_unless, latin
from tests.fixtures.restless_arms import follow, problem
from tests.fixtures.verbs import update

POLICIES_TRIED: dict[str, Any] = {
    "sliding-whittle": SlidingWhittle(window=3, every=3),
    "sliding-whittle, literal": SlidingWhittle(window=2, conf="literal", pooled=0, every=7),
    "sliding-whittle, literal, pooled": SlidingWhittle(window=2, conf="literal", eta1=0.3, eta2=0.01, every=5),
    "sliding-whittle, certain": SlidingWhittle(window=2, conf="certain", every=7),
    "sliding-whittle, certain of each arm": SlidingWhittle(window=2, conf="certain", pooled=0, every=7),
    "uc-whittle": UCWhittle(every=7),
    "uc-whittle, size=0.5": UCWhittle(size=0.5, every=7),
    "whittle-thompson": WhittleThompson(window=2, every=7),
    "adaptive-whittle": AdaptiveWhittle(every=5),
    "adaptive-whittle that forgets no loss": AdaptiveWhittle(every=3, fade=1.0),
}


EVERYDAY = {
    "sliding-whittle",
    "sliding-whittle, literal, pooled",
    "adaptive-whittle",
}  # the paper's, and that of `auto`


@pytest.mark.parametrize(
    ("name", "late", "episode"),
    [*latin(sorted(EVERYDAY), [False, True], [0, 7])]
    + [deep_unless(False, *case) for case in product(sorted({*POLICIES_TRIED} - EVERYDAY), [False, True], [0, 7])],
)
def test_a_policy_agrees_with_its_twin(name: str, late: bool, episode: int) -> None:
    """Where outcomes are late, those of one episode come in others; indices agree all the same."""
    follow(POLICIES_TRIED[name], problem(episode=episode), late=late)


@pytest.mark.parametrize("name", ["sliding-whittle, literal", deep_unless(False, "uc-whittle")])
def test_radii_go_by_the_number_of_episodes_where_it_is_known(name: str) -> None:
    follow(POLICIES_TRIED[name], problem(episode=7, horizon=700), late=True)


@pytest.mark.parametrize("window", [0, 2])
def test_windows_and_slacks_are_those_of_each_type(window: int) -> None:
    """By Theorem 2 a type that moves by 0.3 an episode remembers 2 of 10, and one that moves by 0.02 all of them."""
    policy = SlidingWhittle(window=window, conf="literal", pooled=0, every=0)
    state, _ = follow(policy, problem(episode=6, horizon=60, drift=(0.3, 0.02)), late=True)
    assert state.counts.sizes[:2, 1].tolist() == ([2, 10] if window == 0 else [2, 2])
    np.testing.assert_allclose(state.slacks, state.counts.sizes[:2, 1] * [0.3, 0.02])


@pytest.mark.parametrize("name", [deep_unless(name in EVERYDAY, name) for name in POLICIES_TRIED])
def test_at_most_so_many_are_activated(name: str) -> None:
    """Arms with an index below 0 are left alone; in some slots that leaves fewer than there may be."""
    asked = problem(n_arms=5, size=4, episode=7, at_most=1)
    _, twin = follow(POLICIES_TRIED[name], asked, late=False)
    assert min(len(slot.active) for slot in twin.log) < 4


def test_where_every_ball_holds_everything_an_index_is_what_activating_earns_at_once() -> None:
    asked = problem(episode=7)
    state, _ = follow(UCWhittle(size=1e12), asked, late=False)
    besides = 0.9 * asked.structure.activation_rewards[asked.structure.classes]
    np.testing.assert_allclose(state.table, besides, atol=1e-9)


@pytest.mark.parametrize("kind", [UCWhittle(every=7), SlidingWhittle(every=7, pooled=0)])
def test_an_arm_that_was_not_there_has_no_say_in_the_charge(kind: Any) -> None:
    policy, asked = cast(kind), problem(episode=0)
    state = policy.init(asked)
    state.table[:] = np.arange(5)[:, None]
    for states, charge in (([0, 0, 0, 0, -1], 2.0), ([-1, -1, -1, -1, 0], 2.0)):
        last = Decision(6, np.array([2, 3]), 1.0, np.array(states), np.uint64(0))
        update(policy, state, last, Moves(0.0, np.zeros(5), np.zeros(5, np.int64)), 6)
        assert state.charge[0] == charge - 0.9 * asked.structure.costs[2]


WORLDS_TRIED: dict[str, Any] = {
    "health-adherence": (HealthAdherence(n_arms=60, activate=6), 208),
    "machine-maintenance": (MachineMaintenance(), 300),
    "restless-table": (RestlessTable(), 400),
}


@pytest.mark.parametrize("name", [deep_unless(name != "health-adherence", name) for name in WORLDS_TRIED])
def test_what_a_user_gets_beats_taking_turns(name: str) -> None:
    """Eight runs each; its lead over round-robin is four standard errors and more."""
    world, horizon = WORLDS_TRIED[name]
    policies: dict[str, Any] = {"default": SlidingWhittle(), "turns": RoundRobin()}
    study = Study(name="default", worlds={"w": world}, policies=policies, horizon=horizon, runs=8)
    results = run(study)
    ours, theirs = (results.column(study.cells_of("w", each), "reward") for each in policies)
    assert (ours - theirs).mean() > 4.0 * (ours - theirs).std(ddof=1) / np.sqrt(8)


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
