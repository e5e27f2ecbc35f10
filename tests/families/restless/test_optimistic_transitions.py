"""Most hopeful transitions: rows against linear programs, values against value iteration, closed forms against both."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from driftwise.core.types import Floats
from driftwise.families.restless.transitions.optimistic import (
    DRIFTING,
    KNOWN,
    STATIONARY,
    VACUOUS,
    TransitionBall,
    ball_size,
    estimate,
    hopeful_in_order,
    hopeful_row,
    hopeful_transitions,
    new_hope_room,
)
from tests.families.restless.twins.whittle import extended_values

CHARGES = (-50.0, 0.0, 1.0, 10.0, 100.0)


def random_ball(luck: np.random.Generator, n_states: int, keep: float) -> TransitionBall:
    """Sparse transitions, radii between nothing and everything, some of them known."""
    allowed = luck.random((2, n_states, n_states)) < keep
    allowed[:, np.arange(n_states), luck.integers(n_states, size=n_states)] = True
    centre = luck.exponential(size=allowed.shape) * allowed
    centre /= centre.sum(axis=2, keepdims=True)
    radii = 2.5 * luck.random((2, n_states)) * (luck.random((2, n_states)) < 0.8)
    return TransitionBall(centre, radii, allowed)


def solved(
    ball: TransitionBall, rewards: Floats, discount: float, charge: float, values: Any = None
) -> tuple[Any, ...]:
    size = rewards.shape[1]
    values, transitions = np.zeros(size) if values is None else values.copy(), np.zeros((2, size, size))
    rounds = hopeful_transitions(new_hope_room(size), ball, rewards, discount, charge, values, transitions)
    return values, transitions, rounds


def test_rows_against_linear_programs() -> None:
    """300 random balls with forbidden moves: max v'p with |p - centre|_1 <= radius, as HiGHS solves it."""
    luck = np.random.default_rng(0)
    for turn in range(300):
        size = int(luck.integers(1, 7))
        ball = random_ball(luck, size, keep=0.6)
        centre, allowed, radius = ball.centre[0, 0], ball.allowed[0, 0], float(ball.radii[0, 0])
        values = np.round(luck.standard_normal(size), turn % 3)  # often tied
        row, order = np.zeros(size), np.argsort(-values, kind="stable")
        hopeful_row(centre, allowed, radius, order, row)
        identity = np.eye(size)
        known = linprog(
            np.append(-values, np.zeros(size)),
            A_ub=np.block([[identity, -identity], [-identity, -identity], [np.zeros((1, size)), np.ones((1, size))]]),
            b_ub=np.concatenate([centre, -centre, [radius]]),
            A_eq=np.append(np.ones(size), np.zeros(size))[None],
            b_eq=[1.0],
            bounds=[(0.0, 1.0 if ok else 0.0) for ok in allowed] + [(0.0, None)] * size,
            method="highs",
        )
        assert values @ row == pytest.approx(-float(known.fun or 0.0), abs=1e-9)
        assert row.sum() == pytest.approx(1.0, abs=1e-12) and (row >= 0.0).all() and not row[~allowed].any()
        assert np.abs(row - centre).sum() <= radius + 1e-12


@pytest.mark.parametrize("charge", CHARGES)
def test_policy_iteration_against_value_iteration(charge: float) -> None:
    luck = np.random.default_rng(1)
    for size in (1, 2, 4, 7):
        ball, rewards = random_ball(luck, size, keep=0.7), luck.random((2, size))
        values, transitions, rounds = solved(ball, rewards, 0.9, charge)
        assert rounds <= 12
        np.testing.assert_allclose(values, extended_values(ball, rewards, 0.9, charge), atol=1e-8)
        both = rewards - charge * np.array([[0.0], [1.0]]) + 0.9 * transitions @ values
        np.testing.assert_allclose(both.max(axis=0), values, atol=1e-9)
        np.testing.assert_allclose(transitions.sum(axis=2), 1.0, atol=1e-12)
        assert not transitions[~ball.allowed].any()


def test_a_warm_start_is_settled_at_once() -> None:
    luck = np.random.default_rng(2)
    ball, rewards = random_ball(luck, 30, keep=0.5), luck.random((2, 30))
    values, transitions, rounds = solved(ball, rewards, 0.99, 0.3)
    again, same, at_once = solved(ball, rewards, 0.99, 0.3, values)
    assert rounds > 1 and at_once == 0
    np.testing.assert_array_equal(transitions, same)
    np.testing.assert_array_equal(values, again)
    moved = ball._replace(radii=ball.radii + 1e-3)
    near, _, fewer = solved(moved, rewards, 0.99, 0.3, values)
    assert fewer <= rounds
    np.testing.assert_allclose(near, solved(moved, rewards, 0.99, 0.3)[0], atol=1e-9)


def one_dimensional_ball(luck: np.random.Generator, size: int) -> TransitionBall:
    here, last = np.arange(size), size - 1
    allowed = np.zeros((2, size, size), bool)
    allowed[:, here, here] = True
    allowed[0, here[1:], here[:-1]] = allowed[1, here[:-1], here[1:]] = True
    centre = np.zeros((2, size, size))
    down, up = luck.random(size), luck.random(size)
    down[0] = up[last] = 0.0
    centre[0, here, here], centre[1, here, here] = 1.0 - down, 1.0 - up
    centre[0, here[1:], here[:-1]], centre[1, here[:-1], here[1:]] = down[1:], up[:-1]
    return TransitionBall(centre, 0.6 * luck.random((2, size)), allowed)


@pytest.mark.parametrize("charge", CHARGES)
def test_the_closed_form_of_the_one_dimensional_arm(charge: float) -> None:
    """Down with p - d/2, up with q + d/2, whatever the charge; rewards that grow with the state."""
    ball = one_dimensional_ball(np.random.default_rng(3), 10)
    rewards = np.tile(np.arange(10.0), (2, 1))
    _, transitions, _ = solved(ball, rewards, 0.99, charge)
    closed, here = np.zeros_like(transitions), np.arange(10)
    down = np.maximum(0.0, np.diagonal(ball.centre[0], -1) - ball.radii[0, 1:] / 2)
    up = np.minimum(1.0, np.diagonal(ball.centre[1], 1) + ball.radii[1, :-1] / 2)
    closed[0, here[1:], here[:-1]], closed[1, here[:-1], here[1:]] = down, up
    closed[:, here, here] = 1.0 - closed.sum(axis=2)
    np.testing.assert_allclose(transitions, closed, atol=1e-15)
    in_order = np.zeros_like(transitions)
    hopeful_in_order(ball, here[::-1].copy(), in_order)
    np.testing.assert_array_equal(transitions, in_order)


@pytest.mark.parametrize("charge", CHARGES)
def test_the_closed_form_of_age(charge: float) -> None:
    """Success with q + d/2, whatever the charge; rewards that fall with age."""
    luck, size = np.random.default_rng(4), 30
    here, older = np.arange(size), np.minimum(np.arange(size) + 1, size - 1)
    chance, radii = luck.random(size), np.vstack([np.zeros(size), luck.random(size)])
    centre, allowed = np.zeros((2, size, size)), np.zeros((2, size, size), bool)
    centre[0, here, older], centre[1, here, older] = 1.0, 1.0 - chance
    centre[1, :, 0] += chance
    allowed[:, here, older] = allowed[1, :, 0] = True
    ball = TransitionBall(centre, radii, allowed)
    rewards = np.tile(-0.5 * np.log2(1.0 - 0.9 ** np.arange(1, size + 1)), (2, 1))
    _, transitions, _ = solved(ball, rewards, 0.99, charge)
    np.testing.assert_allclose(transitions[1, :, 0], np.minimum(1.0, chance + radii[1] / 2), atol=1e-15)
    np.testing.assert_array_equal(transitions[0], centre[0])
    in_order = np.zeros_like(transitions)
    hopeful_in_order(ball, here, in_order)
    np.testing.assert_array_equal(transitions, in_order)


def test_the_ball_of_what_was_counted() -> None:
    """Radii by kind; known pairs keep their transitions; what was never seen may go anywhere it is allowed to."""
    allowed = np.ones((2, 3, 3), bool)
    allowed[1, 2, 0] = False
    centre = np.full((2, 3, 3), 1.0 / 3.0)
    counts = np.zeros((2, 3, 3), np.int32)
    counts[0, 1], counts[1, 0] = [1, 0, 3], [0, 4, 5]
    kinds = np.array([[KNOWN, STATIONARY, STATIONARY], [DRIFTING, KNOWN, DRIFTING]])
    stationary, drifting = (ball_size(3, pairs, 10, 50, 0.1) for pairs in (2, 2))
    assert stationary == pytest.approx(6.0 * math.log(2 * 2 * 10 * 50 / 0.1))
    ball = TransitionBall(centre, np.zeros((2, 3)), allowed)
    sizes, slacks = np.array([0.0, stationary, drifting]), np.array([0.0, 0.0, 7 * 0.05])
    estimate(ball, counts, kinds, sizes, slacks, VACUOUS)
    np.testing.assert_allclose(ball.centre[0], [[1 / 3] * 3, [0.25, 0.0, 0.75], [1 / 3] * 3])
    np.testing.assert_allclose(ball.centre[1], [[0.0, 4 / 9, 5 / 9], [1 / 3] * 3, [0.0, 0.5, 0.5]])
    known = [[0.0, math.sqrt(stationary / 4), 2.0], [math.sqrt(drifting / 9) + 0.35, 0.0, 2.0]]
    np.testing.assert_allclose(ball.radii, known)


def test_a_vacuous_ball_makes_both_actions_alike() -> None:
    """Every row goes to the best state: nothing is gained by activating."""
    luck = np.random.default_rng(5)
    ball = random_ball(luck, 6, keep=1.0)._replace(radii=np.full((2, 6), VACUOUS))
    _, transitions, _ = solved(ball, np.tile(np.arange(6.0), (2, 1)), 0.99, 0.0)
    np.testing.assert_array_equal(transitions, np.broadcast_to(np.eye(6)[5], (2, 6, 6)))
