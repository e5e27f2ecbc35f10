"""Policies for arms that move on their own: each against its slow twin, slot by slot, and what they choose by hand."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Floats, Problem
from driftwise.core.validation import cast
from driftwise.errors import ParameterError
from driftwise.families import WIQL, Myopic, RandomArms, RoundRobin
from driftwise.families.restless.random_subset import chance_of_set, draw_arms
from driftwise.families.restless.structure import DRIFTING, KNOWN, restless
from driftwise.families.restless.top_m import TIE, kth_largest, top_arms
from tests.fixtures.by_family import RESTLESS
from tests.fixtures.restless_arms import follow, problem, walk
from tests.fixtures.twins import RESTLESS_TWINS
from tests.fixtures.verbs import select, update

ALARM = 1e-5  # the chance of a false alarm, were the streams renewed, of each chi-square test here
DRAWS = 20_000
POLICIES_TRIED: dict[str, Any] = {
    "random-arms": RandomArms(),
    "round-robin": RoundRobin(),
    "wiql": WIQL(),
    "wiql by slot": WIQL(by_slot=1),
    "wiql as published": WIQL.as_published(),
    "myopic": Myopic(fade=0.9),
    "myopic that never forgets": Myopic(fade=1.0),
}


def test_every_policy_has_a_twin() -> None:
    assert set(RESTLESS_TWINS) == set(RESTLESS)


@pytest.mark.parametrize("episode", [0, 7])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", POLICIES_TRIED)
def test_a_policy_agrees_with_its_twin(name: str, late: bool, episode: int) -> None:
    follow(POLICIES_TRIED[name], problem(episode=episode), late=late)


@pytest.mark.parametrize("name", ["wiql", "myopic"])
def test_at_most_so_many_are_activated(name: str) -> None:
    """Arms with an index below 0 are left alone, except where arms are drawn."""
    _, twin = follow(POLICIES_TRIED[name], problem(size=4, episode=7, at_most=1), late=False)
    assert min(len(slot.active) for slot in twin.log) < 4


@pytest.mark.parametrize("name", ["random-arms", "wiql"])
def test_sets_are_drawn_as_often_as_they_should(name: str) -> None:
    policy, asked, luck = cast(RESTLESS[name]()), problem(episode=10), np.random.default_rng(2)
    twin, state = RESTLESS_TWINS[name](policy, asked), policy.init(asked)
    for t in range(30):
        states = luck.integers(3, size=5)
        outcome = walk(luck, asked, states)
        chosen = np.sort(luck.permutation(5)[:2])
        update(policy, state, Decision(t, chosen, np.nan, states, at(key(0), t)), outcome, t)
        twin.learn(t, states, chosen, outcome, t)
    states = luck.integers(3, size=5)
    chances = twin.chances(30, states)
    assert chances is not None
    counts = dict.fromkeys(chances, 0)
    for i in range(DRAWS):
        chosen, _ = select(policy, state, 30, states, at(key(3), i))
        counts[tuple(chosen.tolist())] += 1
    expected = DRAWS * np.array(list(chances.values()))
    assert stats.chisquare(list(counts.values()), expected).pvalue > ALARM


def test_a_round_of_round_robin_leaves_nobody_out() -> None:
    policy, asked = cast(RoundRobin()), problem(n_arms=7, size=3)
    state, states = policy.init(asked), np.zeros(7, np.int64)
    turns = [select(policy, state, t, states, at(key(0), t))[0].tolist() for t in range(7)]
    assert turns[:3] == [[0, 1, 2], [3, 4, 5], [0, 1, 6]]
    assert np.bincount(np.concatenate(turns)).tolist() == [3] * 7


# ---- some of many arms ----


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_the_largest_indices_are_taken_and_of_equal_ones_the_lowest_arms(data: Any) -> None:
    levels = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=30))
    noise = data.draw(st.lists(st.sampled_from([0.0, 1e-9, -3e-8]), min_size=len(levels), max_size=len(levels)))
    size = data.draw(st.integers(1, len(levels)))
    indices, chosen = np.array(levels) + np.array(noise), np.zeros(size, np.int64)
    level = top_arms(indices, np.zeros(len(levels)), chosen)
    assert level == np.sort(indices)[-size]
    expected = sorted(range(len(levels)), key=lambda arm: (-levels[arm], arm))[:size]
    assert chosen.tolist() == sorted(expected)


@pytest.mark.parametrize("strange", [[np.nan, 1.0, np.nan, 2.0], [np.nan] * 4, [-np.inf, np.inf, np.inf, 0.0]])
def test_an_index_that_is_no_number_is_below_all_others(strange: list[float]) -> None:
    chosen = np.full(2, -1)
    top_arms(np.array(strange), np.zeros(4), chosen)
    assert chosen.tolist() == {1.0: [1, 3], np.inf: [1, 2]}.get(strange[1], [0, 1])


def test_the_kth_largest_is_that_of_a_sorted_copy() -> None:
    luck = np.random.default_rng(3)
    for size in (1, 2, 3, 50, 1001):
        for values in (luck.standard_normal(size), luck.integers(0, 3, size).astype(float), np.zeros(size)):
            for k in {1, size, (size + 1) // 2}:
                assert kth_largest(values, np.zeros(size), k) == np.sort(values)[-k]


def test_all_sets_are_alike_and_one_has_the_chance_that_is_told() -> None:
    sets = list(itertools.combinations(range(6), 3))
    counts: dict[Any, int] = dict.fromkeys(sets, 0)
    for i in range(DRAWS):
        chosen = np.zeros(3, np.int64)
        draw_arms(6, chosen, at(key(4), i))
        counts[tuple(chosen.tolist())] += 1
    assert stats.chisquare(list(counts.values())).pvalue > ALARM
    assert chance_of_set(6, 3) == 1.0 / len(sets)
    assert chance_of_set(1020, 510) == 1 / math.comb(1020, 510)  # 3.6e-306
    for n_arms, size in (1030, 515), (10_000, 1000), (10**6, 5 * 10**5):  # 1 / chance is more than a float holds
        assert np.isnan(chance_of_set(n_arms, size))
    assert TIE == 1e-7


# ---- what is known beforehand ----


def rows(*row: float) -> Floats:
    return np.tile(np.array(row), (2, len(row), 1))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"rewards": [0.0, np.nan]}, "rewards has nan in it, which is not a finite number"),
        ({"rewards": "high"}, "rewards is not an array of numbers with rows of the same length"),
        ({"rewards": [[0.0, 1.0]] * 2}, "there are 2 classes and 3 arms: say which arm is of which class"),
        ({"classes": [0, 1, 0]}, "class 1 is not one of the 1 there are, counted from 0"),
        ({"classes": [0, 0]}, r"classes has shape \(2,\): it must name the class of each of 3 arms"),
        ({"kinds": 0}, "row 0 of the passive transitions sums to 0, not to one"),
        ({"kinds": 0, "known": rows(0.5, 0.4)}, "row 0 of the passive transitions sums to 0.9, not to one"),
        (
            {"kinds": 0, "known": rows(1.5, -0.5)},
            "row 0 of the passive transitions has 1.5 in it, which is not a probability",
        ),
        ({"kinds": 3}, "kinds holds something other than 0, 1 and 2"),
        ({"kinds": np.zeros(3, int)}, r"kinds has shape \(3,\), not \(2, 2\) or \(1, 2, 2\)"),
        (
            {"support": rows(1, 0) == 1, "kinds": 0, "known": rows(0.5, 0.5)},
            "row 0 of the passive transitions is known to go",
        ),
        ({"support": rows(0, 0) == 1}, "row 0 of the passive transitions leads nowhere"),
        ({"discount": 1.0}, r"discount=1.0 is outside \(0, 1\)"),
        ({"discount": 0.0}, r"discount=0.0 is outside \(0, 1\)"),
        ({"episode": -1}, "episode=-1 is not a whole number of at least 0"),
        ({"costs": [1.0]}, r"costs has shape \(1,\): it must be one number, or one for each of 3 arms"),
        ({"costs": np.inf}, "costs holds something that is not a finite number"),
        ({"n_arms": 0}, "n_arms=0 is not a whole number of at least 1"),
        ({"activation_rewards": [0.0, np.inf]}, "activation_rewards has inf in it, which is not a finite number"),
        ({"activation_rewards": np.zeros(3)}, r"activation_rewards has shape \(3,\), not \(2,\) or \(1, 2\)"),
        ({"drift": 2.5}, r"drift=2.5 is outside \[0, 2\]"),
        ({"drift": [0.1, 0.2]}, r"drift has shape \(2,\): it must be one number, or one for each of 1 classes"),
        ({"at_most": 2}, "at_most=2 is not a whole number of at least 0 and at most 1"),
    ],
)
def test_what_cannot_be_known_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        restless(**dict[str, Any]({"rewards": [0.0, 1.0], "n_arms": 3} | given))


def test_the_row_that_is_wrong_is_named() -> None:
    known = np.tile(np.eye(2), (2, 2, 1, 1))
    known[1, 1, 0] = 0.6, 0.6
    with pytest.raises(ParameterError, match=r"row 0 of the active transitions of class 1 sums to 1\.2, not to one"):
        restless([[0.0, 1.0]] * 2, n_arms=2, kinds=0, known=known)


def test_what_is_known_leaves_no_room_for_other_moves() -> None:
    structure = restless([0.0, 1.0], n_arms=1, kinds=[[KNOWN, DRIFTING]] * 2, known=[np.eye(2)] * 2)
    assert structure.support[0, 0].tolist() == [[True, False], [True, True]]
    assert structure.known[0, 0].tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", RESTLESS.values())
def test_a_problem_without_arms_that_move_is_refused(kind: Any) -> None:
    with pytest.raises(ParameterError, match="this problem has none"):
        kind().init(Problem(3, slate=1, family="slate"))
    with pytest.raises(ParameterError, match="n_arms=4 does not fit the classes of 5 arms"):
        kind().init(problem()._replace(n_arms=4))
    with pytest.raises(ParameterError, match="slate=6 is not a whole number of at least 1 and at most 5"):
        kind().init(problem(size=6))
