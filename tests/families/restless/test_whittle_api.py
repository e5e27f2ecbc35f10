"""`whittle_index`: one arm or many, alike ones once, any number of threads, and a sentence for what it cannot take."""

import re
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.restless.whittle import api as many_arms
from driftwise.families.restless.whittle import arm_validation
from driftwise.families.restless.whittle.api import whittle_index

N_STATES = 5


def random_arms(n_arms: int, n_states: int = N_STATES, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    luck = np.random.default_rng(seed)
    transitions = luck.exponential(size=(2, n_arms, n_states, n_states))
    transitions /= transitions.sum(axis=3, keepdims=True)
    return transitions[0], transitions[1], luck.random((n_arms, n_states, 2))


@pytest.mark.parametrize("discount", [0.9, None])
def test_many_are_each_as_one(discount: float | None) -> None:
    passive, active, rewards = random_arms(20)
    together = whittle_index(passive, active, rewards, discount)
    assert together.values.shape == (20, N_STATES) and together.indexable.shape == (20,)
    for arm in range(20):
        alone = whittle_index(passive[arm], active[arm], rewards[arm], discount)
        np.testing.assert_array_equal(together.values[arm], alone.values)
        assert together.indexable[arm] == alone.indexable


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_arms, "WORTH", 1)
    arms = random_arms(101)
    one = whittle_index(*arms, 0.95, threads=1)
    for threads in (2, 3, None):
        np.testing.assert_array_equal(whittle_index(*arms, 0.95, threads=threads).values, one.values)


def test_arms_that_are_alike_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worked_out: list[int] = []
    share = many_arms.share

    def watched(arms: Any, memory: Any, which: Any, *rest: Any) -> None:
        worked_out.extend(which)
        share(arms, memory, which, *rest)

    monkeypatch.setattr(many_arms, "share", watched)
    passive, active, rewards = random_arms(3)
    order = [0, 1, 0, 2, 2, 1, 0]
    index = whittle_index(passive[order], active[order], rewards[order], 0.9)
    assert worked_out == [0, 1, 3]
    np.testing.assert_array_equal(index.values, whittle_index(passive, active, rewards, 0.9).values[order])


def test_arms_with_the_same_mark_are_still_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    arms = random_arms(6)
    apart = whittle_index(*arms, 0.9)

    def unmarked(arms: Any, marks: Any) -> None:
        marks[:] = 7

    monkeypatch.setattr(arm_validation, "mark", unmarked)
    np.testing.assert_array_equal(whittle_index(*arms, 0.9).values, apart.values)


@pytest.mark.parametrize("discount", [0.95, None])
def test_memory_changes_nothing_but_the_time(discount: float | None) -> None:
    """Rows of transitions that move, one, some and all of them, and discounts that change in between."""
    (passive, active, rewards), luck = random_arms(6, 40), np.random.default_rng(1)
    memory = dw.new_whittle_memory(6, 40)
    for turn in range(12):
        rows = luck.choice(40, (1, 3, 40)[turn % 3], replace=False)
        arm = turn % 6
        for kernel in (passive, active)[turn % 2 :]:
            moved = 0.8 * kernel[arm, rows] + 0.2 * kernel[arm, rows][:, ::-1]
            kernel[arm, rows] = moved / moved.sum(axis=1, keepdims=True)
        now = 0.9 if turn == 7 else discount
        again = whittle_index(passive, active, rewards, now, memory=memory)
        fresh = whittle_index(passive, active, rewards, now)
        np.testing.assert_allclose(again.values, fresh.values, atol=1e-11)
        np.testing.assert_array_equal(again.indexable, fresh.indexable)


def test_what_is_remembered_is_tested_too() -> None:
    """An inverse that has gone wrong is noticed, and made afresh."""
    passive, active, rewards = random_arms(2, 40)
    memory, fresh = dw.new_whittle_memory(2, 40), whittle_index(passive, active, rewards, 0.9)
    whittle_index(passive, active, rewards, 0.9, memory=memory)
    memory.inverses[0, 3, 5] += 1e-6
    memory.tableaus[1, 3, 5] += 1e-6
    passive[:, 7] = passive[:, 8]
    fresh = whittle_index(passive, active, rewards, 0.9)
    again = whittle_index(passive, active, rewards, 0.9, memory=memory)
    np.testing.assert_allclose(again.values, fresh.values, atol=1e-11)


def test_memory_of_other_arms_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=re.escape("the memory is for arms of shape (2, 5, 5), these have (3, 5, 5)")
    ):
        whittle_index(*random_arms(3), 0.9, memory=dw.new_whittle_memory(2, 5))


def test_rewards_by_state_and_for_all() -> None:
    passive, active, rewards = random_arms(4)
    by_state = rewards[..., 0]
    both = np.stack([by_state, by_state], axis=2)
    np.testing.assert_array_equal(
        whittle_index(passive, active, by_state, 0.9).values, whittle_index(passive, active, both, 0.9).values
    )
    shared = whittle_index(passive, active, by_state[0], 0.9).values
    np.testing.assert_array_equal(shared[0], whittle_index(passive[0], active[0], by_state[0], 0.9).values)


def test_what_is_told_stays_as_it_is_and_may_be_lists_or_short_floats() -> None:
    passive, active, rewards = (each[0] for each in random_arms(1))
    short = passive.astype(np.float32), active.astype(np.float32), rewards.astype(np.float32)
    before = [each.copy() for each in short]
    index = dw.whittle_index(*short, 0.9)
    np.testing.assert_allclose(index.values, whittle_index(passive, active, rewards, 0.9).values, atol=1e-5)
    for told, kept in zip(short, before, strict=True):
        np.testing.assert_array_equal(told, kept)
    lists = whittle_index(passive.tolist(), active.tolist(), rewards.tolist(), 0.9)
    np.testing.assert_array_equal(lists.values, whittle_index(passive, active, rewards, 0.9).values)


def broken(place: tuple[int, ...], value: float) -> Floats:
    passive = random_arms(3)[0]
    passive[place] = value
    return passive


GOOD = random_arms(3)
NONSENSE: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "a sum": ((broken((1, 2, 0), 0.9), *GOOD[1:], 0.9), {}, "row 2 of passive, arm 1, sums to "),
    "one arm": ((GOOD[0][0], 0.5 * GOOD[1][0], GOOD[2][0], 0.9), {}, "row 0 of active sums to 0.5, not to one"),
    "negative": (
        (broken((1, 2, 3), -0.1), *GOOD[1:], 0.9),
        {},
        "row 2 of passive, arm 1, has -0.1 in it, which is",
    ),
    "nan": ((broken((0, 4, 1), np.nan), *GOOD[1:], 0.9), {}, "row 4 of passive, arm 0, has nan in it, which is not a"),
    "large": ((broken((0, 4, 1), 7.0), *GOOD[1:], 0.9), {}, "row 4 of passive, arm 0, has 7 in it, which is not a pro"),
    "discount": ((*GOOD, 1.0), {}, "discount=1.0 is outside (0, 1): None stands for the average reward"),
    "no discount": ((*GOOD, 0.0), {}, "discount=0.0 is outside (0, 1)"),
    "words": ((*GOOD, "0.9"), {}, "discount=0.9 is outside (0, 1)"),
    "threads": ((*GOOD, 0.9), {"threads": 0}, "threads=0 is not a whole number of at least 1"),
    "flat": ((GOOD[0][0, 0], *GOOD[1:], 0.9), {}, "passive has shape (5,), not (states, states) or (arms, states, st"),
    "oblong": ((GOOD[0][:, 1:], *GOOD[1:], 0.9), {}, "passive has shape (3, 4, 5), not (states, states) or"),
    "none": ((np.zeros((0, 2, 2)), *GOOD[1:], 0.9), {}, "passive has shape (0, 2, 2), not (states, states) or"),
    "unequal": ((GOOD[0], GOOD[1][1:], GOOD[2], 0.9), {}, "active has shape (2, 5, 5), passive has (3, 5, 5): they"),
    "ragged": (([[1.0], [0.5, 0.5]], *GOOD[1:], 0.9), {}, "passive is not an array of numbers with rows of the same"),
    "rewards": ((*GOOD[:2], GOOD[2][:, 1:], 0.9), {}, "rewards has shape (3, 4, 2), not (5,) or (3, 5) or (3, 5, 2)"),
    "infinite": ((*GOOD[:2], np.full((3, 5), np.inf), 0.9), {}, "rewards has inf in it, which is not a finite number"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused_in_one_sentence(name: str) -> None:
    told, options, sentence = NONSENSE[name]
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        whittle_index(*told, **options)


def test_who_is_not_indexable_is_said_once() -> None:
    bad = np.array([[0.55, 0.23, 0.22], [0.08, 0.91, 0.01], [0.0, 0.02, 0.98]])
    worse = np.array([[0.6, 0.0, 0.4], [0.01, 0.99, 0.0], [0.97, 0.01, 0.02]])
    passive, active, _ = random_arms(4, 3)
    rewards = np.zeros((4, 3, 2))
    rewards[:, :, 1] = [0.46, 0.44, 0.35]
    passive[2:], active[2:] = bad, worse
    with pytest.warns(
        UserWarning, match=r"2 of 4 arms are not indexable, arm 2 first: the index of a state is"
    ) as seen:
        index = whittle_index(passive, active, rewards, 0.95)
    assert len(seen) == 1
    assert index.indexable.tolist() == [True, True, False, False]
    assert np.isfinite(index.values).all()
