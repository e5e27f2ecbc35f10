"""Whittle indices are exact: against all policies in fractions, bisection, closed forms and published values."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.restless.whittle import index as fast
from driftwise.families.restless.whittle.advantage_lines import RestlessArm, reward_scale
from driftwise.families.restless.whittle.age_of_information import age_index
from driftwise.families.restless.whittle.api import whittle_index
from driftwise.families.restless.whittle.index import new_whittle_room, whittle_indices
from driftwise.families.restless.whittle.sweep import INDEXABLE, NOT_INDEXABLE, UNDEFINED, sweep
from tests.families.restless.twins import whittle as slow

CLOSE = 1e-9


def index_of(arm: RestlessArm) -> tuple[Floats, int]:
    out = np.zeros(len(arm.idle))
    status = whittle_indices(new_whittle_room(len(out)), arm, out)
    return out, status


def one_dimensional(n_states: int, p: float, q: float, discount: float) -> RestlessArm:
    """Down with probability p when passive, up with probability q when active; a state pays its number."""
    here, last = np.arange(n_states), n_states - 1
    passive, active = np.zeros((2, n_states, n_states))
    np.add.at(passive, (here, np.maximum(here - 1, 0)), p)
    np.add.at(passive, (here, here), 1.0 - p)
    np.add.at(active, (here, np.minimum(here + 1, last)), q)
    np.add.at(active, (here, here), 1.0 - q)
    return RestlessArm(passive, active, here.astype(float), here.astype(float), discount)


def ageing(costs: Floats, q: float, discount: float) -> RestlessArm:
    """Back to age 1 with probability q when active, one older otherwise."""
    n_states = len(costs)
    here = np.arange(n_states)
    passive = np.zeros((n_states, n_states))
    passive[here, np.minimum(here + 1, n_states - 1)] = 1.0
    active = (1.0 - q) * passive
    active[:, 0] += q
    return RestlessArm(passive, active, -costs, -costs, discount)


def random_arm(luck: np.random.Generator, n_states: int, discount: float, *, keep: float = 1.0) -> RestlessArm:
    transitions = luck.exponential(size=(2, n_states, n_states)) * (luck.random((2, n_states, n_states)) <= keep)
    transitions[:, np.arange(n_states), luck.integers(n_states, size=n_states)] += 1e-3
    transitions /= transitions.sum(axis=2, keepdims=True)
    rewards = luck.random((2, n_states))
    return RestlessArm(transitions[0], transitions[1], rewards[0], rewards[1], discount)


NOT_INDEXABLE_ARM = RestlessArm(
    np.array([[0.55, 0.23, 0.22], [0.08, 0.91, 0.01], [0.0, 0.02, 0.98]]),
    np.array([[0.6, 0.0, 0.4], [0.01, 0.99, 0.0], [0.97, 0.01, 0.02]]),
    np.zeros(3),
    np.array([0.46, 0.44, 0.35]),
    0.95,
)


# ---- known values ----


def test_as_the_reference_library_publishes() -> None:
    """The first example of markovianbandit-pkg: `random_restless(4, seed=42)`, average reward."""
    luck = np.random.RandomState(42)
    transitions = luck.exponential(size=(4, 2, 4))
    transitions /= transitions.sum(axis=2, keepdims=True)
    index = whittle_index(transitions[:, 0], transitions[:, 1], luck.rand(4, 2), None)
    np.testing.assert_allclose(index.values, [0.87536099, -0.08765819, -0.15279431, -0.51905682], atol=5e-9)
    assert index.indexable is True


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("q", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("n_states", [2, 3, 10, 25, 80])
def test_an_arm_that_never_falls_back(n_states: int, q: float, discount: float) -> None:
    """All states below the top are tied: a step up is worth one, for ever."""
    index, status = index_of(one_dimensional(n_states, 0.0, q, discount))
    assert status == INDEXABLE
    np.testing.assert_allclose(index[:-1], discount * q / (1.0 - discount), atol=1e-9)
    assert index[-1] == pytest.approx(0.0, abs=1e-12)


def test_the_top_of_a_one_dimensional_arm() -> None:
    """W(K-1) = g p / (1 - g (1 - q)) wherever it is the smallest."""
    cases = [
        (n_states, p, q, discount)
        for n_states in (2, 3, 5, 10, 20)
        for p in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
        for q in (0.1, 0.5, 0.9, 1.0)
        for discount in (0.5, 0.9, 0.95, 0.99)
    ]
    held = 0
    for n_states, p, q, discount in cases:
        index, _ = index_of(one_dimensional(n_states, p, q, discount))
        if index[-1] <= index.min():
            held += 1
            assert index[-1] == pytest.approx(discount * p / (1.0 - discount * (1.0 - q)), abs=1e-11)
    assert held == 359, "of 480; in the others it is not the smallest"


@pytest.mark.parametrize(
    ("q", "known"),
    [
        (1.0, "21.2348 21.7435 22.1963 22.5916 22.9274 23.2015 23.4115 23.5546 23.6279 0.4950"),
        (0.5, "13.3882 13.8282 14.2210 14.5648 14.8578 15.0978 15.2823 15.4086 15.4735 0.9802"),
    ],
)
def test_the_one_dimensional_arm_of_the_paper(q: float, known: str) -> None:
    index, _ = index_of(one_dimensional(10, 0.5, q, 0.99))
    np.testing.assert_allclose(index, [float(word) for word in known.split()], atol=5e-5)


# ---- age ----


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9, 1.0])
def test_age_with_linear_cost(q: float) -> None:
    ages = np.arange(1.0, 3001.0)
    index = age_index(ages, q)[:40]
    np.testing.assert_allclose(index, q * ages[:40] * (ages[:40] + (2.0 - q) / q) / 2.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("q", "known"),
    [(1.0, "0.4630 0.9753 1.4908 1.9947 2.4805 2.9455"), (0.1, "0.1179 0.2055 0.2775 0.3393 0.3937 0.4422")],
)
def test_age_with_the_cost_of_the_paper(q: float, known: str) -> None:
    costs = 0.5 * np.log2(1.0 - 0.9 ** np.arange(1, 401))
    np.testing.assert_allclose(age_index(costs, q)[:6], [float(word) for word in known.split()], atol=5e-5)


@pytest.mark.parametrize("n_states", [1, 2, 7, 30, 90])
@pytest.mark.parametrize("q", [0.1, 0.5, 1.0])
def test_the_closed_form_is_the_index_for_the_average(n_states: int, q: float) -> None:
    """At every age, the cap included; and the limit of discounts, at a distance proportional to 1 - g."""
    costs = 0.5 * np.log2(1.0 - 0.9 ** np.arange(1, n_states + 1))
    closed = age_index(costs, q)
    index, status = index_of(ageing(costs, q, 1.0))
    assert status == INDEXABLE
    np.testing.assert_allclose(index, closed, atol=1e-11)
    far, near = (np.abs(index_of(ageing(costs, q, g))[0] - closed).max() for g in (0.999, 0.9999))
    assert near == pytest.approx(far / 10.0, rel=0.02, abs=1e-9)


@pytest.mark.parametrize(
    ("costs", "success", "sentence"),
    [
        ([1.0, 2.0], 0.0, "success=0.0 is outside (0, 1]"),
        ([1.0, 2.0], 1.5, "success=1.5 is outside (0, 1]"),
        ([2.0, 1.0], 0.5, "costs=[2.0, 1.0] is not a row of finite numbers, one per age, that never fall"),
        ([], 0.5, "costs=[] is not a row of finite numbers"),
        ([1.0, np.nan], 0.5, "costs=[1.0, nan] is not a row of finite numbers"),
    ],
)
def test_ages_that_make_no_sense(costs: Any, success: float, sentence: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        age_index(costs, success)


# ---- the slow twins ----


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.95])
def test_against_all_policies(discount: float) -> None:
    """600 random transitions of 2 to 5 states, some of them sparse, over the three discounts."""
    luck, found = np.random.default_rng(int(100 * discount)), 0
    for turn in range(200):
        arm = random_arm(luck, 2 + turn % 4, discount, keep=1.0 if turn % 2 else 0.5)
        known, indexable = slow.brute_force(arm)
        index, status = index_of(arm)
        assert status == (INDEXABLE if indexable else NOT_INDEXABLE)
        np.testing.assert_allclose(index, known, atol=CLOSE)
        found += 1
    assert found == 200


Rows = list[list[Fraction]]


def fractions(luck: np.random.Generator, size: int, kind: str) -> tuple[Rows, Rows]:
    """Transitions of small whole numbers: deterministic, sparse, dense, half the same in both actions, or at rest."""

    def row() -> list[Fraction]:
        weights = luck.integers(0, 3, size) * (luck.random(size) < (0.5 if kind == "sparse" else 1.0))
        if kind == "deterministic" or not weights.any():
            weights = np.eye(size, dtype=int)[luck.integers(size)]
        return [Fraction(int(weight), int(weights.sum())) for weight in weights]

    passive, active = [row() for _ in range(size)], [row() for _ in range(size)]
    if kind == "same":
        active = [passive[s] if luck.random() < 0.5 else active[s] for s in range(size)]
    if kind == "rested":
        passive = [[Fraction(i == j) for j in range(size)] for i in range(size)]
    return passive, active


def tied_arms(kind: str, count: int) -> Iterator[tuple[Rows, Rows, list[Fraction], list[Fraction]]]:
    luck = np.random.default_rng(len(kind))
    for turn in range(count):
        size = int(luck.integers(1, 5))
        idle = [Fraction(int(reward)) for reward in luck.integers(0, 3, size)]
        busy = [Fraction(int(reward)) for reward in luck.integers(0, 3, size)] if turn % 2 else idle
        yield *fractions(luck, size, kind), idle, busy


def rounded(passive: Any, active: Any, idle: Any, busy: Any, discount: float) -> RestlessArm:
    transitions = np.array(passive, np.float64), np.array(active, np.float64)
    return RestlessArm(*transitions, np.array(idle, np.float64), np.array(busy, np.float64), discount)


@pytest.mark.parametrize("kind", ["deterministic", "sparse", "dense", "same", "rested"])
def test_ties_against_fractions(kind: str) -> None:
    """Small whole rewards and transitions, so that ties are the rule: nothing rounded decides, at any discount."""
    discounts = [Fraction(1, 2), Fraction(7, 8), 1 - Fraction(1, 2**7), 1 - Fraction(1, 2**10), 1 - Fraction(1, 2**13)]
    for turn, (passive, active, idle, busy) in enumerate(tied_arms(kind, 100)):
        discount = discounts[turn % 5]
        known, indexable = slow.exact(passive, active, idle, busy, discount)
        index, status = index_of(rounded(passive, active, idle, busy, float(discount)))
        assert status == (INDEXABLE if indexable else NOT_INDEXABLE)
        truth = np.array(known, float)
        np.testing.assert_allclose(index, truth, atol=CLOSE * max(1.0, np.abs(truth).max()))


@pytest.mark.parametrize("kind", ["deterministic", "sparse", "rested"])
def test_near_a_discount_of_one_an_answer_is_right_or_none(kind: str) -> None:
    """Where rounding leaves no digits the index is nan; that happens, but not often."""
    none = 0
    for turn, (passive, active, idle, busy) in enumerate(tied_arms(kind, 60)):
        discount = 1 - Fraction(1, 2 ** (17, 23, 27)[turn % 3])
        known, indexable = slow.exact(passive, active, idle, busy, discount)
        index, status = index_of(rounded(passive, active, idle, busy, float(discount)))
        if status == UNDEFINED:
            none += 1
            assert np.isnan(index).all()
        else:
            truth = np.array(known, float)
            assert status == (INDEXABLE if indexable else NOT_INDEXABLE)
            np.testing.assert_allclose(index, truth, atol=1e-6 * max(1.0, np.abs(truth).max()))
    assert none < 20


@pytest.mark.parametrize("kind", ["deterministic", "sparse", "dense"])
def test_average_reward_against_fractions(kind: str) -> None:
    """Where every policy brings the states together. Otherwise an arm may have no index, and is then nan."""
    together = 0
    for passive, active, idle, busy in tied_arms(kind, 250):
        index, status = index_of(rounded(passive, active, idle, busy, 1.0))
        try:
            known, indexable = slow.exact_average(passive, active, idle, busy)
        except StopIteration:  # a policy that splits them
            assert np.isnan(index).all() == (status == UNDEFINED)
            continue
        together += 1
        assert status == (INDEXABLE if indexable else NOT_INDEXABLE)
        np.testing.assert_allclose(index, np.array(known, float), atol=CLOSE)
    assert together > 100


def test_average_reward_is_the_limit_of_discounts() -> None:
    luck = np.random.default_rng(3)
    for n_states in (2, 5, 12, 40):
        arm = random_arm(luck, n_states, 1.0)
        limit, _ = index_of(arm)
        far, near = (np.abs(index_of(arm._replace(discount=g))[0] - limit).max() for g in (1 - 1e-4, 1 - 1e-6))
        assert far < 1e-3 and near < 1e-5


@pytest.mark.parametrize("discount", [0.5, 0.9])
def test_against_bisection_and_value_iteration(discount: float) -> None:
    luck = np.random.default_rng(4)
    for n_states in (2, 4, 8):
        arm = random_arm(luck, n_states, discount)
        index, status = index_of(arm)
        assert status == INDEXABLE
        np.testing.assert_allclose(index, slow.by_bisection(arm), atol=CLOSE)


# ---- the pass and the sweep ----


@kernel
def only_pass(room: Any, arm: RestlessArm, out: Floats) -> bool:
    """The fast half alone."""
    return fast.set_up(room, arm) and fast.run_pass(room, arm, out)


@kernel
def spoilt_pass(room: Any, arm: RestlessArm, out: Floats, amount: float) -> bool:
    """The fast half, with one entry of its tableau wrong from the start."""
    begun = fast.set_up(room, arm)
    room.tableau[1, 2] += amount
    return begun and fast.run_pass(room, arm, out)


@kernel
def spoilt_on_the_way(room: Any, arm: RestlessArm, out: Floats, amount: float) -> bool:
    """The same, but after the images of the signs are known, from a pass that went well."""
    begun = fast.set_up(room, arm)
    size, gaps = len(out), room.lines.lines[0]
    for i in range(size):
        gaps[i], room.lines.lines[1, i], room.lines.flags[0, i] = arm.busy[i] - arm.idle[i], 1.0, False
        for j in range(size):
            gaps[i] += room.tableau[j, i] * arm.busy[j]
    for j in range(size):
        room.tableau[j, 2] += amount
    return begun and fast._turn_all(room, reward_scale(arm), out)


ARMS: dict[str, Callable[[int, float], RestlessArm]] = {
    "dense": lambda size, discount: random_arm(np.random.default_rng(size), size, discount),
    "sparse": lambda size, discount: random_arm(np.random.default_rng(size), size, discount, keep=0.2),
    "one-dimensional": lambda size, discount: one_dimensional(size, 0.3, 0.7, min(discount, 0.99)),
    "age": lambda size, discount: ageing(0.5 * np.log2(1.0 - 0.9 ** np.arange(1, size + 1)), 0.5, discount),
}


@pytest.mark.parametrize("discount", [0.9, 0.99, 1.0])
@pytest.mark.parametrize("n_states", [2, 31, 32, 33, 65, 110])  # steps are taken 32 at a time
@pytest.mark.parametrize("name", ARMS)
def test_pass_and_sweep_agree(name: str, n_states: int, discount: float) -> None:
    """Two ways that share nothing but the elimination, and numpy on the policies they go through."""
    arm = ARMS[name](n_states, discount)
    room, quick, thorough = new_whittle_room(n_states), np.zeros(n_states), np.zeros(n_states)
    assert only_pass(room, arm, quick)
    assert sweep(room.lines, arm, thorough) == INDEXABLE
    np.testing.assert_allclose(quick, thorough, atol=CLOSE)
    order = np.argsort(quick, kind="stable")
    for rank in {0, n_states // 3, n_states // 2, n_states - 1}:
        active = np.ones(n_states, bool)
        active[order[:rank]] = False
        charge = quick[order[rank]]
        matrix = np.eye(n_states) + 1.0 / n_states - arm.discount * np.where(active[:, None], arm.active, arm.passive)
        values = np.linalg.solve(matrix, np.where(active, arm.busy - charge, arm.idle))
        gaps = arm.busy - arm.idle - charge + arm.discount * (arm.active - arm.passive) @ values
        assert gaps[active].min() > -1e-9 and gaps[~active].max(initial=-1.0) < 1e-9, "the policy is optimal"
        assert gaps[order[rank]] == pytest.approx(0.0, abs=1e-9), "and the state is indifferent"


@pytest.mark.parametrize("n_states", [5, 40, 100])
@pytest.mark.parametrize("amount", [1e-3, 1e-6, 1e-9])
def test_a_pass_gone_wrong_is_noticed(n_states: int, amount: float) -> None:
    """From the start, by the transitions; and on the way, by what combinations of gaps must be."""
    arm, out, room = (
        random_arm(np.random.default_rng(1), n_states, 0.95),
        np.zeros(n_states),
        new_whittle_room(n_states),
    )
    assert spoilt_pass(room, arm, out, 0.0) and spoilt_on_the_way(room, arm, out, 0.0)
    assert not spoilt_pass(room, arm, out, amount)
    assert spoilt_pass(room, arm, out, 0.0) and not spoilt_on_the_way(room, arm, out, amount)


def test_an_arm_that_is_not_indexable() -> None:
    """State 0 turns passive near 0.41, is back at 0.43 and passive for good from 0.46 on: that is its index."""
    index, status = index_of(NOT_INDEXABLE_ARM)
    known, indexable = slow.brute_force(NOT_INDEXABLE_ARM)
    assert status == NOT_INDEXABLE and not indexable
    np.testing.assert_allclose(index, known, atol=CLOSE)
    assert index[0] == pytest.approx(0.46, abs=0.0025)
    with pytest.warns(UserWarning, match="the arm is not indexable: the index of a state is the charge from which on"):
        told = whittle_index(*NOT_INDEXABLE_ARM[:2], np.column_stack(NOT_INDEXABLE_ARM[2:4]), 0.95)
    assert told.indexable is False
    np.testing.assert_array_equal(told.values, index)


def test_a_policy_that_splits_the_states_has_no_average() -> None:
    arm = one_dimensional(4, 0.5, 0.5, 1.0)
    index, status = index_of(arm)
    assert status == UNDEFINED and np.isnan(index).all()
    with pytest.warns(UserWarning, match="the arm is without an index: for the average reward"):
        assert whittle_index(arm.passive, arm.active, arm.busy, None).indexable is False
