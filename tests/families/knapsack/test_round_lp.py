"""The linear program of a round agrees with HiGHS on every kind of program a run can meet, and its prices prove it."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

from driftwise.core.types import Floats
from driftwise.families.knapsack.round_lp import new_step_lp, solve_step

Program = tuple[Floats, Floats, Floats]
CLOSE = 1e-9


def plain(luck: np.random.Generator, m: int, d: int) -> Program:
    return luck.random(m), luck.random((d, m)), 0.6 * luck.random(d)


def negative_costs(luck: np.random.Generator, m: int, d: int) -> Program:
    """Lower bounds on costs before they are clipped."""
    return 1.5 * luck.random(m), luck.random((d, m)) - 1.5 * luck.random((d, m)), 0.6 * luck.random(d)


def tied(luck: np.random.Generator, m: int, d: int) -> Program:
    rewards, costs, budget = plain(luck, m, d)
    return np.round(3 * rewards) / 3, np.round(3 * costs) / 3, np.round(3 * budget) / 3


def all_equal(luck: np.random.Generator, m: int, d: int) -> Program:
    """The first round of a run."""
    return np.ones(m), np.full((d, m), 0.5), np.full(d, 0.25)


def clipped(luck: np.random.Generator, m: int, d: int) -> Program:
    rewards, costs, budget = plain(luck, m, d)
    return np.minimum(2 * rewards, 1.0), np.maximum(costs - 0.5, 0.0), budget


def nothing_left(luck: np.random.Generator, m: int, d: int) -> Program:
    rewards, costs, _ = plain(luck, m, d)
    return rewards, costs, np.zeros(d)


def negative_rewards(luck: np.random.Generator, m: int, d: int) -> Program:
    rewards, costs, budget = plain(luck, m, d)
    return rewards - 0.5, costs - 0.3, budget


KINDS: tuple[Callable[[np.random.Generator, int, int], Program], ...] = (
    plain,
    negative_costs,
    tied,
    all_equal,
    clipped,
    nothing_left,
    negative_rewards,
)


def programs(kind: Callable[[np.random.Generator, int, int], Program], m: int, d: int) -> Iterator[Program]:
    luck = np.random.default_rng([m, d])
    return (kind(luck, m, d) for _ in range(25))


@pytest.mark.parametrize(("m", "d"), [(1, 1), (2, 1), (10, 1), (5, 2), (20, 3), (50, 5), (100, 10)])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_equal_to_highs(kind: Callable[[np.random.Generator, int, int], Program], m: int, d: int) -> None:
    lp = new_step_lp(m, d)
    for rewards, costs, budget in programs(kind, m, d):
        value = solve_step(lp, rewards, costs, budget)
        known = linprog(-rewards, A_ub=np.vstack([costs, np.ones(m)]), b_ub=np.append(budget, 1.0), method="highs")
        assert value == pytest.approx(-float(known.fun or 0.0), abs=CLOSE)
        assert value == pytest.approx(rewards @ lp.mix, abs=CLOSE), "the mix earns what is told"
        assert (lp.mix >= -CLOSE).all() and lp.mix.sum() <= 1.0 + CLOSE
        assert (costs @ lp.mix <= budget + CLOSE).all(), "the mix keeps to the budget"
        assert (lp.prices >= 0.0).all() and lp.alpha[0] >= 0.0
        assert budget @ lp.prices + lp.alpha[0] == pytest.approx(value, abs=CLOSE), "strong duality"
        assert (rewards - costs.T @ lp.prices - lp.alpha[0] <= CLOSE).all(), "no arm is worth more than its price"


def test_a_negative_cost_makes_budget_and_clipping_it_does_not() -> None:
    lp, rewards, budget = new_step_lp(2, 1), np.array([0.9, 0.2]), np.array([0.25])
    assert solve_step(lp, rewards, np.array([[0.8, -2.0]]), budget) == pytest.approx(0.7625)
    np.testing.assert_allclose(lp.mix, [0.803571, 0.196429], atol=1e-6)
    assert solve_step(lp, rewards, np.array([[0.8, 0.0]]), budget) == pytest.approx(0.41875)
    np.testing.assert_allclose(lp.mix, [0.3125, 0.6875])


def test_one_resource_is_the_simplex_with_the_same_resource_twice() -> None:
    one, two = new_step_lp(10, 1), new_step_lp(10, 2)
    for kind in KINDS:
        for rewards, costs, budget in programs(kind, 10, 1):
            doubled = solve_step(two, rewards, np.vstack([costs, costs]), np.append(budget, budget))
            assert solve_step(one, rewards, costs, budget) == pytest.approx(doubled, abs=CLOSE)
